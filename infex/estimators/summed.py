"""What estimators share that keep one sum of rewards."""

from __future__ import annotations

from typing import Self

from infex import kernels
from infex.arrays import Floats
from infex.estimators.fit import Fit
from infex.estimators.sums import Sums
from infex.linear.estimating import Arrays, Estimator
from infex.linear.gained import Gained
from infex.linear.revising import Revision, revise_sums


class SummedFit(Fit):
    """One sum of rewards, which adds up with another's; a subclass says how it takes one in and solves."""

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        super().__init__(columns, penalty, estimator)
        self._sums = Sums(self.dim, self.penalty)

    def kept(self) -> Arrays:
        return {"truth": self._sums.truth.copy()}

    def recall(self, arrays: Arrays, told: int) -> None:
        self._sums = Sums.kept("truth", arrays, self.dim, told, self.penalty)

    def put_right(self, x: Floats, revision: Revision) -> None:
        revise_sums(self._sums.truth, self.penalty, x, revision)

    def join(self, other: Self) -> None:
        self._sums.merge(other._sums)

    def growth(self) -> Gained:
        return Gained(self._sums.truth.copy(), self.counts.copy(), self.told)

    def grow(self, growth: Gained) -> None:
        kernels.add_truth(self._sums.truth, growth.truth)
        self.told += growth.told
        self.counts += growth.counts
        self._renew()

    def sums(self) -> tuple[Floats | None, int]:
        """The sums, by their weights, and how many rewards are in them."""
        return self._sums.truth.copy(), self.told
