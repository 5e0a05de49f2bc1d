"""Further features where arms have some of their own and share others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.linear.estimating import Arrays
from infex.linear.hybrid_ridge import OF_THE_SHARED
from infex.linear.widening import AS_THEY_ARE, Widening, times_pairs

KEPT_BY_HYBRIDS = (*AS_THEY_ARE, "pulled", "gone", "squares")


class HybridWidening(NamedTuple):
    """How features of each arm's own come to their new places, and the so many `shared` ones to theirs."""

    own: Widening
    common: Widening
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
        if part in KEPT_BY_HYBRIDS:
            return array
        assert part in ("tied", "factors", "runs") or part.startswith(OF_THE_SHARED), part
        return None

    def _cross(self, cross: Floats) -> Floats:
        """Sums of x z' of each arm, (K, 2, c, s), pairs of floats."""
        arms, _, dim, shared = cross.shape
        found = np.zeros((arms, 2, self.own.size(dim), self.common.size(shared)))
        rows, columns = self.own.spots(dim), self.common.spots(shared)
        found[..., rows[:, None], columns] = times_pairs(cross, self.scale**2, axis=1)
        return found
