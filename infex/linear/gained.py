"""What was learnt as sums, which add up and can be taken apart without loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers


class Gained(NamedTuple):
    """Sums of x x' and y x, each with its carry, (2, d + 1, d), or those of each arm, (K, 2, c + 1, c).

    `counts` are pulls and summed rewards of the arms, (2, K), and `told` is how many rewards are in them.
    Where arms share features z, their sums have rows of z x' below, (K, 2, c + 1 + s, c), and `common` are
    sums of z z' and y z, (2, s + 1, s).
    """

    truth: Floats
    counts: Floats
    told: int
    common: Floats | None = None

    def plus(self, other: Gained) -> Gained:
        """Both together."""
        truth = added(self.truth, other.truth)
        common = None
        if self.common is not None and other.common is not None:
            common = added(self.common, other.common)
        return Gained(truth, self.counts + other.counts, self.told + other.told, common)

    def minus(self, other: Gained) -> Gained:
        """What came since."""
        common = None if other.common is None else -other.common
        return self.plus(Gained(-other.truth, -other.counts, -other.told, common))

    def of_no_arms(self) -> Gained:
        """The same where one regression is for all arms of a map, which does not tell them apart."""
        return self._replace(counts=np.zeros((2, 0)))

    def brought(self, places: Integers, count: int) -> Gained:
        """The same of an owner with so many arms: each of these is at a place there, or nowhere (-1)."""
        known = places >= 0
        counts = np.zeros((2, count))
        counts[:, places[known]] = self.counts[:, known]
        if self.truth.ndim == 3:
            return self._replace(counts=counts)
        truth = np.zeros((count, *self.truth.shape[1:]))
        truth[places[known]] = self.truth[known]
        lost = 0 if self.common is not None else int(self.counts[0].sum() - counts[0].sum())
        return Gained(truth, counts, self.told - lost, self.common)


def added(one: Floats, two: Floats) -> Floats:
    """Sums with carries, added with what rounding takes (Knuth's two-sum)."""
    first, second = (np.moveaxis(each, -3, 0) for each in (one, two))
    total = first[0] + second[0]
    part = total - first[0]
    lost = (first[0] - (total - part)) + (second[0] - part)
    return np.ascontiguousarray(np.moveaxis(np.array([total, first[1] + second[1] + lost]), 0, -3))
