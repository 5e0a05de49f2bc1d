"""Contexts or arms that get further features: what was learnt stays, as if these had been 0 before."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import NotKept
from infex.models.base import Arrays

# names of saved arrays, by what becomes of them
SUMS = ("truth", "faded", "faded twice")
PARAMETERS = ("start", "next start")
UNCHANGED = (
    *("told", "counts", "plays", "rewards", "weights", "dropped", "tolds", "late"),
    *("scatter", "faded squares", "pulled", "gone", "squares"),
)
DERIVED = (
    *("closed", "solved", "vectors", "run", "board"),  # by a ridge
    *("factors", "runs"),  # by one for each arm
    *("tied", "shared truth", "shared factors", "shared runs"),  # by a hybrid
    *("fitted", "fit figures"),  # by logistic regression
)
HALF_OF_DIGITS = 134217729.0  # 2^27 + 1: a float times this falls into two halves of 26 bits


class FeatureExtension(NamedTuple):
    """Rows of `dim` features: each old feature comes to one of these `places`, times `scale`.

    What was learnt is in blocks of the old features, one or many; all arrays have them on their last axes.
    """

    dim: int
    places: Integers
    scale: float = 1.0

    def size(self, before: int) -> int:
        """How many features whole blocks of `before` features have now."""
        return before // len(self.places) * self.dim

    def positions(self, before: int) -> Integers:
        """The new index of each of `before` features of whole blocks."""
        blocks = np.arange(before // len(self.places)) * self.dim
        positions: Integers = (blocks[:, None] + self.places).ravel()
        return positions

    def rows(self, rows: Floats) -> Floats:
        """Rows of features, (..., d), with the further features."""
        wide = np.zeros((*rows.shape[:-1], self.size(rows.shape[-1])))
        wide[..., self.positions(rows.shape[-1])] = rows * self.scale
        return wide

    def parameter(self, theta: Floats) -> Floats:
        """A parameter, (..., d), that gives the same scores."""
        wide = np.zeros((*theta.shape[:-1], self.size(theta.shape[-1])))
        wide[..., self.positions(theta.shape[-1])] = theta / self.scale
        return wide

    def sums(self, pairs: Floats) -> Floats:
        """Sums of x x' and y x as `infex.core.ridge` lays them out, (..., 2, d + 1, d), pairs of floats."""
        before = pairs.shape[-1]
        positions, wide = self.positions(before), self.size(before)
        gram, moment = pairs[..., :-1, :], pairs[..., -1, :]
        lower = np.tril(gram) + np.swapaxes(np.tril(gram, -1), -1, -2)
        found = np.zeros((*pairs.shape[:-2], wide + 1, wide))
        found[..., positions[:, None], positions] = times_pairs(lower, self.scale**2, axis=-3)
        found[..., :-1, :] = np.tril(found[..., :-1, :])
        found[..., -1, positions] = times_pairs(moment, self.scale, axis=-2)
        return found

    def arrays(self, kept: Arrays) -> Arrays:
        """The state of models, as `ModelState.arrays` gives it, without what is computed anew from it."""
        return _extended(kept, self.array)

    def array(self, part: str, array: Floats) -> Floats:
        """An array of a model's state, by its name."""
        if part in SUMS:
            return self.sums(array)
        if part == "rows":
            return self.rows(array)
        if part in PARAMETERS:
            return self.parameter(array)
        if part in UNCHANGED or part.endswith(" lengths"):
            return array
        raise NotKept(f"the estimator keeps {part!r}, which cannot be brought to more features")


class HybridExtension(NamedTuple):
    """The same where arms have features of their `own`, and `shared` ones that have one parameter for all."""

    own: FeatureExtension
    common: FeatureExtension
    shared: int

    @property
    def scale(self) -> float:
        """The factor of old features."""
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
        """The state of models, as `ModelState.arrays` gives it, without what is computed anew from it."""
        return _extended(kept, self.array)

    def array(self, part: str, array: Floats) -> Floats:
        """An array of a model's state, by its name."""
        if part == "cross":
            return self._cross(array)
        return self.common.sums(array) if part == "common" else self.own.array(part, array)

    def _cross(self, cross: Floats) -> Floats:
        """Sums of x z' of each arm, (K, 2, c, s), pairs of floats."""
        arms, _, dim, shared = cross.shape
        found = np.zeros((arms, 2, self.own.size(dim), self.common.size(shared)))
        rows, columns = self.own.positions(dim), self.common.positions(shared)
        found[..., rows[:, None], columns] = times_pairs(cross, self.scale**2, axis=1)
        return found


def _extended(kept: Arrays, extend: Callable[[str, Floats], Floats]) -> Arrays:
    parts = {name: name.partition(" ")[2] for name in kept}  # behind "all" and "explored"
    return {name: extend(part, kept[name]) for name, part in parts.items() if part not in DERIVED}


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
