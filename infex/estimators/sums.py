"""Sums of rewards, without loss."""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Floats
from infex.core.estimators import add_reward
from infex.estimators.solution import Solution
from infex.linear.estimating import Arrays
from infex.linear.gained import added
from infex.linear.moments import fitting_sums


@final
class Sums:
    """sum w x x' and sum w y x, each with a carry, so that what is added and taken away leaves nothing.

    `truth` is laid out as `core/ridge.pxd` says, (2, d + 1, d); how exact it must be, the `penalty` says.
    """

    __slots__ = ("penalty", "truth")

    def __init__(self, dim: int, penalty: float) -> None:
        self.truth: Floats = np.zeros((2, dim + 1, dim))
        self.penalty = penalty

    def add(self, x: Floats, reward: float, weight: float) -> None:
        """One reward more; one less, if its weight is below 0."""
        add_reward(self.truth, self.penalty, np.ascontiguousarray(x), reward, weight)

    def fade(self, rate: float) -> None:
        """All weights become `rate` times what they were."""
        self.truth *= rate

    def merge(self, other: Sums) -> None:
        """Adds another's sums."""
        self.truth = added(self.truth, other.truth)

    def solve(self) -> Solution:
        """Ridge regression."""
        return Solution.of(self.truth, self.penalty)

    @staticmethod
    def kept(name: str, arrays: Arrays, dim: int, told: int, penalty: float) -> Sums:
        """Those of `told` rewards that were kept under a name."""
        sums = Sums(dim, penalty)
        sums.truth = fitting_sums(name, arrays[name], dim, told, penalty)
        return sums
