"""Every built-in policy, and a user's own, keeps the contract."""

from collections.abc import Callable

import numpy as np
import pytest

from infex import (
    Choice,
    EpsilonGreedy,
    Evidence,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Policy,
    Uniform,
    every,
    jittered,
    stretched,
)
from infex.linear.kernels import Floats
from infex.testing import PolicyContract


class SecondBest:
    """A user's policy of five lines."""

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        order = np.argsort(-evidence.estimates, kind="stable")
        return Choice(int(order[min(1, len(order) - 1)]))


class Means:
    """A user's learner with a state of its own: the arm of the best mean, each tried first."""

    def __init__(self) -> None:
        self.rewards: dict[int, list[float]] = {}

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        untried = [arm for arm in range(len(evidence)) if arm not in self.rewards]
        return Choice(
            untried[0] if untried else max(self.rewards, key=lambda arm: np.mean(self.rewards[arm]))
        )

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        self.rewards.setdefault(arm, []).append(reward)


MAKERS: dict[str, Callable[[], Policy]] = {
    "Greedy": Greedy,
    "Greedy random": lambda: Greedy(ties="random"),
    "Uniform": Uniform,
    "EpsilonGreedy": EpsilonGreedy,
    "EpsilonGreedy constant": lambda: EpsilonGreedy(rate=0.3, ties="random"),
    "EpsilonGreedy function": lambda: EpsilonGreedy(rate=lambda t: 1 / t),
    "LinUCB": LinUCB,
    "LinUCB shrunk": lambda: LinUCB(noise=0.5, bound=2.0, delta=1e-3, scale=0.1, ties="random"),
    "LinTS": LinTS,
    "LinTS spherical": lambda: LinTS(sampling="spherical", scale=0.3, ties="random"),
    "Infex": lambda: Infex(LinUCB(), every(4)),
    "Infex own": lambda: Infex(LinTS(), stretched(1), data="own"),
    "Infex jittered": lambda: Infex(Uniform(), jittered(4, seed=2), ties="random"),
    "Infex of Infex": lambda: Infex(Infex(LinUCB(), every(2)), every(3)),
    "SecondBest": SecondBest,
    "Means": Means,
}


class TestPolicies(PolicyContract):
    @pytest.fixture(autouse=True, params=MAKERS)
    def _use(self, request: pytest.FixtureRequest) -> None:
        self.maker = MAKERS[request.param]

    def make(self) -> Policy:
        return self.maker()
