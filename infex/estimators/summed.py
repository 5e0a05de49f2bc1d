"""What estimators share that keep one sum of rewards."""

from __future__ import annotations

from typing import Self

import numpy as np

from infex.arrays import Floats
from infex.estimators.fit import Fit
from infex.estimators.sums import Sums
from infex.linear.estimating import Arrays, Estimator
from infex.linear.gained import Gained, added
from infex.linear.offers import Offer
from infex.linear.revising import Revision, revise_sums
from infex.linear.scatter import Scatter, Scattered, scatter_of, scattered


class SummedFit(Fit):
    """One sum of rewards, which adds up with another's; a subclass says how it solves."""

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        super().__init__(columns, penalty, estimator)
        self._sums = Sums(self.dim, self.penalty)
        self._scatter = Scatter()

    def take(self, x: Floats, reward: float, weight: float) -> None:
        self._sums.add(x, reward, weight)
        self._scatter.squares += weight * reward * reward

    def kept(self) -> Arrays:
        return {"truth": self._sums.truth.copy(), "scatter": np.array(self._scatter.figures)}

    def recall(self, arrays: Arrays, told: int) -> None:
        sums = Sums.kept("truth", arrays, self.dim, told, self.penalty)
        self._scatter = scatter_of(arrays, sums.truth, self.penalty, told)
        self._sums = sums

    def put_right(self, x: Floats, revision: Revision) -> None:
        revise_sums(self._sums.truth, self.penalty, x, revision)
        self._scatter.revise(revision, self._sums.truth, self.penalty, self.told + revision.pulls)

    def join(self, other: Self) -> None:
        self._sums.merge(other._sums)
        self._scatter.join(other._scatter, self._sums.truth, self.penalty, self.told + other.told)

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says, by the weights of rewards: 1/variance, but for a factor."""
        return scattered(
            self._sums.truth, self.penalty, self._scatter, self.told, self.asked_about(offer), most
        )

    def growth(self) -> Gained:
        return Gained(self._sums.truth.copy(), self.counts.copy(), self.told)

    def grow(self, growth: Gained) -> None:
        self._sums.truth = added(self._sums.truth, growth.truth)
        self.told += growth.told
        self.counts += growth.counts
        self._scatter.begin(self._sums.truth, self.penalty, self.told)
        self._renew()

    def sums(self) -> tuple[Floats | None, int]:
        """The sums, by their weights, and how many rewards are in them."""
        return self._sums.truth.copy(), self.told
