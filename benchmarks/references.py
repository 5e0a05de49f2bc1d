"""Yardsticks for whole runs: textbook loops in NumPy."""

import math

import numpy as np
from numpy.typing import NDArray

from infex.lab.environments import ChangingInstance

Floats = NDArray[np.float64]


def numpy_run(arms: Floats, means: Floats, uniforms: Floats, delta: float, sampling: bool) -> float:
    """Regret of LinUCB, or LinTS with `sampling`, as a textbook has them.

    Sherman-Morrison, one matrix product for all widths, a Cholesky factor for each sample.
    """
    d = arms.shape[1]
    inverse, moment, log_det_ratio, regret = np.eye(d), np.zeros(d), 0.0, 0.0
    rng = np.random.default_rng(1)
    for uniform in uniforms:
        theta = inverse @ moment
        beta = math.sqrt(log_det_ratio + 2 * math.log(1 / delta)) + 1
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
        log_det_ratio += math.log1p(q)
        regret += means.max() - means[arm]
    return float(regret)


def changing_run(instance: ChangingInstance, horizon: int, delta: float) -> float:
    """Regret of LinUCB over changing arms as a textbook has it: one matrix product for all widths."""
    d, theta = instance.dim, np.array(instance.theta)
    inverse, moment, log_det_ratio, regret = np.eye(d), np.zeros(d), 0.0, 0.0
    rng = instance.draws(0)
    for _, block in instance.blocks(0, horizon):
        for columns in block:
            arms = columns.T
            beta = math.sqrt(log_det_ratio + 2 * math.log(1 / delta)) + 1
            widths = np.sqrt(np.sum((arms @ inverse) * arms, axis=1))
            means = arms @ theta
            arm = int(np.argmax(arms @ (inverse @ moment) + beta * widths))
            x = arms[arm]
            u = inverse @ x
            q = float(x @ u)
            inverse -= np.outer(u, u) / (1 + q)
            moment += instance.reward(means[arm], rng) * x
            log_det_ratio += math.log1p(q)
            regret += means.max() - means[arm]
    return float(regret)
