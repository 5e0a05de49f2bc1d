"""Yardsticks for whole runs: a textbook NumPy loop and a plain compiled loop with one dense product."""

import math

import numpy as np
from numpy.typing import NDArray

from infex.environments import ChangingInstance
from infex.kernels.compiling import compiled

Floats = NDArray[np.float64]


def numpy_run(arms: Floats, means: Floats, uniforms: Floats, delta: float, sampling: bool) -> float:
    """Regret of LinUCB, or LinTS with `sampling`, as a textbook has them.

    Sherman-Morrison, one matrix product for all widths, a Cholesky factor for each sample.
    """
    d = arms.shape[1]
    inverse, moment, volume, regret = np.eye(d), np.zeros(d), 0.0, 0.0
    rng = np.random.default_rng(1)
    for uniform in uniforms:
        theta = inverse @ moment
        beta = math.sqrt(volume + 2 * math.log(1 / delta)) + 1
        if sampling:
            scores = arms @ (theta + beta * np.linalg.cholesky(inverse) @ rng.standard_normal(d))
        else:
            scores = arms @ theta + beta * np.sqrt(np.sum((arms @ inverse) * arms, axis=1))
        arm = int(np.argmax(scores))
        reward = 1.0 if uniform < (1 + means[arm]) / 2 else -1.0
        x = arms[arm]
        u = inverse @ x
        q = float(x @ u)
        inverse -= np.outer(u, u) / (1 + q)
        moment += reward * x
        volume += math.log1p(q)
        regret += means.max() - means[arm]
    return float(regret)


@compiled
def dense_run(columns: Floats, means: Floats, uniforms: Floats) -> float:
    """Regret of greedy in a plain compiled loop: in each round one dense product and an argmax."""
    d, count = columns.shape
    inverse, theta, u = np.eye(d), np.zeros(d), np.zeros(d)
    scores = np.zeros(count)
    best = means.max()
    regret = 0.0
    for t in range(uniforms.size):
        scores[:] = 0.0
        for i in range(d):
            for k in range(count):
                scores[k] += columns[i, k] * theta[i]
        arm = 0
        for k in range(1, count):
            if scores[k] > scores[arm]:
                arm = k
        reward = 1.0 if uniforms[t] < (1.0 + means[arm]) / 2.0 else -1.0
        q, error = 0.0, reward - scores[arm]
        for i in range(d):
            u[i] = 0.0
            for j in range(d):
                u[i] += inverse[i, j] * columns[j, arm]
            q += u[i] * columns[i, arm]
        for i in range(d):
            theta[i] += u[i] * error / (1.0 + q)
            for j in range(d):
                inverse[i, j] -= u[i] * u[j] / (1.0 + q)
        regret += best - means[arm]
    return regret


def changing_run(instance: ChangingInstance, horizon: int, delta: float) -> float:
    """Regret of LinUCB over changing arms as a textbook has it: one matrix product for all widths."""
    d, theta = instance.dim, np.array(instance.theta)
    inverse, moment, volume, regret = np.eye(d), np.zeros(d), 0.0, 0.0
    rng = instance.draws(0)
    for _, block in instance.blocks(0, horizon):
        for columns in block:
            arms = columns.T
            beta = math.sqrt(volume + 2 * math.log(1 / delta)) + 1
            widths = np.sqrt(np.sum((arms @ inverse) * arms, axis=1))
            means = arms @ theta
            arm = int(np.argmax(arms @ (inverse @ moment) + beta * widths))
            x = arms[arm]
            u = inverse @ x
            q = float(x @ u)
            inverse -= np.outer(u, u) / (1 + q)
            moment += instance.reward(means[arm], rng) * x
            volume += math.log1p(q)
            regret += means.max() - means[arm]
    return float(regret)
