"""The log of a fixed softmax policy of which Vowpal Wabbit's library has told values: clicks in contexts."""

from typing import NamedTuple

import numpy as np

VW_VALUES = {"soft": 0.578919551888303, "best": 0.590572346419778}  # IPS by vw-estimators 0.2.2


class SoftLog(NamedTuple):
    """Contexts (n, c), arms played, clicks, chances of all arms (n, K), and two targets (n, K)."""

    context: np.ndarray
    arm: np.ndarray
    reward: np.ndarray
    chances: np.ndarray
    targets: dict[str, np.ndarray]

    @property
    def propensity(self) -> np.ndarray:
        return np.asarray(self.chances[np.arange(self.arm.size), self.arm])


def softmax(scores: np.ndarray) -> np.ndarray:
    risen = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(risen / risen.sum(axis=1, keepdims=True))


def soft_log(n: int = 1500, arms: int = 6, dim: int = 4, seed: int = 20261116) -> SoftLog:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, dim))
    theta = rng.normal(size=(dim, arms))
    means = 1 / (1 + np.exp(-(0.6 * x @ theta + 0.3 * np.sin(3 * x[:, :1]) - 1.0)))
    chances = softmax(0.7 * x @ rng.normal(size=(dim, arms)))
    arm = (chances.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    reward = (rng.random(n) < means[np.arange(n), arm]).astype(float)
    best = np.eye(arms)[means.argmax(axis=1)]
    return SoftLog(x, arm, reward, chances, {"soft": softmax(1.5 * x @ theta), "best": best})
