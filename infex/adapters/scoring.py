"""A model that expects a reward of each row of features, as a policy."""

from __future__ import annotations

from typing import Protocol, final

import numpy as np

from infex.arrays import Floats
from infex.models.posterior import Posterior
from infex.policies.choice import Choice, best


class Scorer(Protocol):
    """What scores rows and learns rewards."""

    def scores(self, rows: Floats) -> Floats:
        """What it expects of each row, (K,)."""

    def take(self, row: Floats, reward: float) -> None:
        """Learns a reward."""


@final
class ScoringPolicy:
    """Plays the arm of which a model expects most, the lowest index among ties."""

    def __init__(self, scorer: Scorer, name: str) -> None:
        self._scorer, self._name = scorer, name

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the largest score."""
        return Choice(best(self._scorer.scores(np.array(posterior.arms))))

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Tells it the reward."""
        self._scorer.take(features, reward)

    def __repr__(self) -> str:
        return self._name
