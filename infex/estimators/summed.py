"""What estimators share that keep one sum of rewards."""

from __future__ import annotations

from typing import Any

from infex.arrays import Floats
from infex.estimators.fit import Fit
from infex.estimators.sums import Sums
from infex.linear.moments import Moments
from infex.linear.statistics import Estimator


class SummedFit(Fit):
    """One sum of rewards, which adds up with another's; a subclass says how it takes one in and solves."""

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        super().__init__(columns, penalty, estimator)
        self._sums = Sums(self.dim, self.penalty)

    def kept(self) -> dict[str, Any]:
        return {"truth": self._sums.truth.copy()}

    def recall(self, arrays: dict[str, Any]) -> None:
        self._sums.truth[:] = arrays["truth"]

    def join(self, other: Any) -> None:
        self._sums.merge(other._sums)

    def moments(self) -> Moments:
        """The sums, by their weights, and how many rewards are in them."""
        return self._sums.moments(self.told)
