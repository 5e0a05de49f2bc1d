"""Rows that get further features: what was learnt stays, as if these had been 0 before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import NotKept
from infex.models.base import Arrays
from infex.models.hybrid import OF_THE_SHARED

SUMMED = ("truth", "faded", "faded twice")
ROWED = ("rows",)
SEARCHED = ("start", "next start")
AS_THEY_ARE = (
    *("told", "counts", "plays", "rewards", "weights", "dropped", "tolds", "late"),
    *("scatter", "faded squares"),
)
COMPUTED_ANEW = (
    *("closed", "solved", "vectors", "run", "board"),  # by a ridge
    *("factors", "runs"),  # by one for each arm
    *("fitted", "fit figures"),  # by logistic regression
)
HALF_OF_DIGITS = 134217729.0  # 2^27 + 1: a float times this falls into two halves of 26 bits


class FeatureExtension(NamedTuple):
    """Contexts of more features: each old one comes to a place of `dim`, and is `scale` times what it was.

    What was learnt is in blocks of the old features, one or many; all arrays have them on their last axes.
    """

    dim: int
    places: Integers
    scale: float = 1.0

    def size(self, before: int) -> int:
        """How many features the same blocks have now."""
        return before // len(self.places) * self.dim

    def positions(self, before: int) -> Integers:
        """Where each of so many features of whole blocks comes to stand."""
        blocks = np.arange(before // len(self.places)) * self.dim
        positions: Integers = (blocks[:, None] + self.places).ravel()
        return positions

    def rows(self, rows: Floats) -> Floats:
        """Rows of features, (..., d)."""
        wide = np.zeros((*rows.shape[:-1], self.size(rows.shape[-1])))
        wide[..., self.positions(rows.shape[-1])] = rows * self.scale
        return wide

    def parameter(self, theta: Floats) -> Floats:
        """A parameter, (..., d), that gives the same scores."""
        wide = np.zeros((*theta.shape[:-1], self.size(theta.shape[-1])))
        wide[..., self.positions(theta.shape[-1])] = theta / self.scale
        return wide

    def sums(self, truth: Floats) -> Floats:
        """Sums of x x' and y x as `infex.core.ridge` lays them out, (..., 2, d + 1, d), pairs of floats."""
        before = truth.shape[-1]
        positions, wide = self.positions(before), self.size(before)
        gram, moment = truth[..., :-1, :], truth[..., -1, :]
        lower = np.tril(gram) + np.swapaxes(np.tril(gram, -1), -1, -2)
        found = np.zeros((*truth.shape[:-2], wide + 1, wide))
        found[..., positions[:, None], positions] = times_pairs(lower, self.scale**2, axis=-3)
        found[..., :-1, :] = np.tril(found[..., :-1, :])
        found[..., -1, positions] = times_pairs(moment, self.scale, axis=-2)
        return found

    def arrays(self, kept: Arrays) -> Arrays:
        """All that statistics keep; what they derive from it is left out, and computed anew."""
        return {name: array for name in kept if (array := self._array(name, kept[name])) is not None}

    def _array(self, name: str, array: Floats) -> Floats | None:
        _, _, part = name.partition(" ")
        if part in COMPUTED_ANEW:
            return None
        if part in SUMMED:
            return self.sums(array)
        if part in ROWED:
            return self.rows(array)
        if part in SEARCHED:
            return self.parameter(array)
        if part in AS_THEY_ARE or part.endswith(" lengths"):
            return array
        raise NotKept(f"the estimator keeps {part!r}, which cannot be brought to more features")


class HybridExtension(NamedTuple):
    """How features of each arm's own come to their new places, and the so many `shared` ones to theirs."""

    own: FeatureExtension
    common: FeatureExtension
    shared: int

    @property
    def scale(self) -> float:
        """What rows become of what they were."""
        return self.own.scale

    def rows(self, rows: Floats) -> Floats:
        """Rows of one arm's features each, (..., c + s)."""
        own, common = rows[..., : -self.shared], rows[..., -self.shared :]
        return np.concatenate([self.own.rows(own), self.common.rows(common)], axis=-1)

    def parameter(self, theta: Floats) -> Floats:
        """A parameter, (K c + s,), that gives the same scores."""
        own, common = theta[: -self.shared], theta[-self.shared :]
        return np.concatenate([self.own.parameter(own), self.common.parameter(common)])

    def arrays(self, kept: Arrays) -> Arrays:
        """All that statistics keep; what they derive from it is left out, and computed anew."""
        return {name: array for name in kept if (array := self._array(name, kept[name])) is not None}

    def _array(self, name: str, array: Floats) -> Floats | None:
        _, _, part = name.partition(" ")
        if part == "truth":
            return self.own.sums(array)
        if part == "common":
            return self.common.sums(array)
        if part == "cross":
            return self._cross(array)
        if part in (*AS_THEY_ARE, "pulled", "gone", "squares"):
            return array
        assert part in ("tied", "factors", "runs") or part.startswith(OF_THE_SHARED), part
        return None

    def _cross(self, cross: Floats) -> Floats:
        """Sums of x z' of each arm, (K, 2, c, s), pairs of floats."""
        arms, _, dim, shared = cross.shape
        found = np.zeros((arms, 2, self.own.size(dim), self.common.size(shared)))
        rows, columns = self.own.positions(dim), self.common.positions(shared)
        found[..., rows[:, None], columns] = times_pairs(cross, self.scale**2, axis=1)
        return found


def times_pairs(pairs: Floats, factor: float, axis: int) -> Floats:
    """Pairs of floats along an axis, a value and its rest, times a factor; exact to 32 digits."""
    value, rest = np.moveaxis(pairs, axis, 0)
    product = value * factor
    left, right = HALF_OF_DIGITS * value, HALF_OF_DIGITS * factor
    value_0, factor_0 = left - (left - value), right - (right - factor)
    value_1, factor_1 = value - value_0, factor - factor_0
    lost = ((value_0 * factor_0 - product) + value_0 * factor_1 + value_1 * factor_0) + value_1 * factor_1
    rest = lost + rest * factor
    whole = product + rest
    return np.moveaxis(np.array([whole, rest - (whole - product)]), 0, axis)
