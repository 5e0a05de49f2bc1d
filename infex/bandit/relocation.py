"""Removed arms and added features, for rewards that are corrected after them.

A reward is learnt on an arm's place or on features. Both may have changed since its decision: each change is
kept as a `Relocation`, which brings what a reward was learnt on to where it is now.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.arms import Fixed, Mapped
from infex.linear import InBlock, On
from infex.linear.hybrid import HybridWidening
from infex.linear.offers import GONE
from infex.linear.widening import Widening

Wider = Widening | HybridWidening


class Relocation(Protocol):
    """A change of arms or features."""

    def place(self, arm: int) -> int:
        """The place of an arm afterwards; GONE if it was removed."""

    def on(self, on: On) -> On:
        """What a reward is learnt on afterwards."""

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""


class ArmsRemoved(NamedTuple):
    """Arms were removed: their places, in rising order, and their features where arms are fixed."""

    gone: tuple[int, ...]
    features: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, kept: Integers, before: Fixed | Mapped, columns: Floats) -> Self:
        """Of the arms `before`, those at the places `kept` stay; `columns` are the fixed ones, (d, K)."""
        count = before.features.count if isinstance(before, Mapped) else columns.shape[1]
        gone = np.setdiff1d(np.arange(count), kept)
        rows = columns[:, gone].T.tolist() if isinstance(before, Fixed) else []
        return cls(tuple(gone.tolist()), tuple(map(tuple, rows)))

    def place(self, arm: int) -> int:
        """The place of an arm afterwards; GONE if it was removed."""
        before = bisect_left(self.gone, arm)
        return GONE if arm == GONE or self.gone[before : before + 1] == (arm,) else arm - before

    def on(self, on: On) -> On:
        """A fixed arm that was removed is learnt on its features; one with its own regression not at all."""
        if isinstance(on, InBlock):
            return InBlock(self.place(on.arm), on.context)
        if not isinstance(on, int):
            return on
        place = self.place(on)
        return np.array(self.features[self.gone.index(on)]) if place == GONE else place

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {"gone": list(self.gone), "features": [list(row) for row in self.features]}


class FeaturesAdded(NamedTuple):
    """Contexts or arms got further features."""

    widening: Wider

    def place(self, arm: int) -> int:
        """Arms stay where they are."""
        return arm

    def on(self, on: On) -> On:
        """Features are 0 where they were added; a fixed arm stays one."""
        if isinstance(on, InBlock):
            return on._replace(context=self.widening.rows(on.context))
        return on if isinstance(on, int) else self.widening.rows(on)

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        if isinstance(self.widening, Widening):
            return {"wider": _plain(self.widening)}
        own, common, shared = self.widening
        return {"own": _plain(own), "common": _plain(common), "shared": shared}


def relocation_of(kept: dict[str, Any]) -> Relocation:
    """The relocation that `plain` gave."""
    if "gone" in kept:
        return ArmsRemoved(tuple(kept["gone"]), tuple(map(tuple, kept["features"])))
    if "wider" in kept:
        return FeaturesAdded(_widening(kept["wider"]))
    return FeaturesAdded(HybridWidening(_widening(kept["own"]), _widening(kept["common"]), kept["shared"]))


def _plain(widening: Widening) -> list[Any]:
    return [widening.dim, widening.places.tolist(), widening.scale]


def _widening(kept: list[Any]) -> Widening:
    dim, places, scale = kept
    return Widening(dim, np.array(places, dtype=np.int64), scale)
