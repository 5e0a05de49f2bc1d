"""Regressors of scikit-learn that learn bit by bit."""

from __future__ import annotations

from typing import Any, Protocol, final

import numpy as np

from infex.adapters.scoring import ScoringPolicy
from infex.arrays import Floats


class PartialRegressor(Protocol):
    """What scikit-learn calls a regressor with `partial_fit`."""

    def partial_fit(self, rows: Floats, rewards: Floats, /) -> Any:
        """Learns from some rewards more."""

    def predict(self, rows: Floats, /) -> Any:
        """What it expects of each row."""


@final
class BitByBit:
    """A regressor that expects nothing of any arm before its first reward: it cannot predict until then."""

    def __init__(self, model: PartialRegressor) -> None:
        self.model, self._fitted = model, False

    def scores(self, rows: Floats) -> Floats:
        """What it expects of each row."""
        return np.asarray(self.model.predict(rows), dtype=np.float64) if self._fitted else np.zeros(len(rows))

    def take(self, row: Floats, reward: float) -> None:
        """Learns a reward."""
        self.model.partial_fit(row[None], np.array([reward]))
        self._fitted = True


def from_sklearn(model: PartialRegressor) -> ScoringPolicy:
    """A policy that plays the arm of which a regressor (`partial_fit` and `predict`) expects most.

    `model` is such a regressor, fresh: what it learns stays in it.

    >>> class Last:
    ...     def partial_fit(self, rows, rewards):
    ...         self.reward = rewards[-1]
    ...     def predict(self, rows):
    ...         return np.full(len(rows), self.reward)
    >>> import infex
    >>> policy = infex.Infex(infex.LinUCB(), infex.every(20), greedy=from_sklearn(Last()))
    >>> infex.play(infex.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
    5
    """
    return ScoringPolicy(BitByBit(model), f"from_sklearn({type(model).__name__})")
