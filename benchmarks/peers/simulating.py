"""Whole simulations of LinUCB over fixed arms: 10 features, 100 arms."""

from collections.abc import Callable

import numpy as np
from coba import LinUCBLearner
from numpy.typing import NDArray

import infex
from benchmarks.peers.timing import in_turns

Floats = NDArray[np.float64]
LONG, SHORT = 10_000, 300


def simulation_table() -> dict[str, float]:
    """Microseconds of a simulated round, with regret."""
    instance = infex.lab.environments.gaussian(dim=10, arms=100, seed=1)
    base = infex.policies.FixedBonusUCB(bonus=1.0)
    return in_turns(
        {
            "infex": _infex(instance, base),
            "infex, Infex(..., every(20))": _infex(instance, infex.Infex(base, infex.every(20))),
            "NumPy loop": _numpy(instance.arms, instance.means),
            "coba": _coba(instance.arms, instance.means),
        }
    )


def _infex(instance: infex.lab.environments.LinearInstance, policy: infex.Policy) -> Callable[[], int]:
    def work() -> int:
        for seed in range(20):
            infex.lab.play(instance, policy, LONG, seed=seed)
        return 20 * LONG

    return work


def _numpy(rows: Floats, means: Floats) -> Callable[[], int]:
    def work() -> int:
        rng, inverse, moment, regret = np.random.default_rng(1), np.eye(10), np.zeros(10), 0.0
        for _ in range(SHORT):
            scores = rows @ (inverse @ moment) + np.sqrt(np.einsum("kd,kd->k", rows @ inverse, rows))
            arm = int(np.argmax(scores))
            u = inverse @ rows[arm]
            inverse -= np.outer(u, u) / (1.0 + rows[arm] @ u)
            moment += (1.0 if rng.random() < (1 + means[arm]) / 2 else -1.0) * rows[arm]
            regret += means.max() - means[arm]
        return SHORT

    return work


def _coba(rows: Floats, means: Floats) -> Callable[[], int]:
    actions = [tuple(row) for row in rows.tolist()]
    places = {action: place for place, action in enumerate(actions)}

    def work() -> int:
        rng, learner, regret = np.random.default_rng(1), LinUCBLearner(alpha=1.0, features=["a"]), 0.0
        for _ in range(SHORT):
            action, chance = learner.predict(None, actions)[:2]
            mean = means[places[action]]
            learner.learn(None, action, 1.0 if rng.random() < (1 + mean) / 2 else -1.0, chance)
            regret += means.max() - mean
        return SHORT

    return work
