"""Sums over pending decisions of arms that have a regression each, and may share features."""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import UnknownArm
from infex.kernels import awaited_batches, awaiting_tied
from infex.linear.block_known import BlockKnown
from infex.linear.grounds import Grounds, order_of_arms
from infex.linear.hybrid_known import AwaitedSums, HybridKnown
from infex.linear.knowledge import Knowledge
from infex.linear.offers import GONE, Layout, Separate


def separate(layout: Layout) -> Separate:
    """A layout with a regression for each arm."""
    assert isinstance(layout, Separate), layout
    return layout


def refuse_plain(grounds: Grounds) -> None:
    """Refuses arms without a context."""
    if grounds.size and not grounds.apart:
        raise UnknownArm("arms that have a regression each are known in a context alone")


@final
class BlockSums:
    """A sum of w x x' for each arm, where each has a regression of its own, (K, 2, c, c)."""

    __slots__ = ("_sums",)

    def __init__(self, sums: Integers) -> None:
        self._sums = sums

    @staticmethod
    def of(layout: Separate) -> BlockSums:
        """Those of no decisions."""
        return BlockSums(np.zeros((layout.arms, 2, layout.dim, layout.dim), dtype=np.int64))

    @property
    def awaited(self) -> Integers:
        """The sums, for a kernel that reads them at once."""
        return self._sums

    def add(self, grounds: Grounds, weights: Floats, times: int) -> None:
        refuse_plain(grounds)
        order = order_of_arms(grounds.place, len(self._sums))
        for _ in range(abs(times)):
            awaited_batches.expect_blocks(
                self._sums, grounds.place, grounds.row, grounds.rows, np.sign(times) * weights, order
            )

    def none(self) -> BlockSums:
        return BlockSums(np.zeros_like(self._sums))

    def copy(self) -> BlockSums:
        return BlockSums(self._sums.copy())

    def over(self, layout: Layout, places: Integers) -> BlockSums:
        other, known = BlockSums.of(separate(layout)), places >= 0
        other._sums[known] = self._sums[places[known]]
        return other

    def narrowed(self, known: Knowledge) -> Knowledge:
        assert isinstance(known, BlockKnown)
        return known.narrowed(self._sums)


@final
class HybridSums:
    """The same for each arm, and sums over features that all arms share."""

    __slots__ = ("_sums",)

    def __init__(self, sums: AwaitedSums) -> None:
        self._sums = sums

    @staticmethod
    def of(layout: Separate) -> HybridSums:
        """Those of no decisions."""
        arms, dim, shared = layout
        shapes = (arms, 2, dim, dim), (arms, 2, dim, shared), (2, shared, shared)
        return HybridSums(AwaitedSums(*(np.zeros(shape, dtype=np.int64) for shape in shapes)))

    def add(self, grounds: Grounds, weights: Floats, times: int) -> None:
        refuse_plain(grounds)
        there = grounds.place != GONE
        rows = np.ascontiguousarray(grounds.rows[grounds.row[there]])
        for _ in range(abs(times)):
            awaiting_tied.expect_tied(
                *self._sums, grounds.place[there], rows, np.sign(times) * weights[there]
            )

    def none(self) -> HybridSums:
        return HybridSums(AwaitedSums(*(np.zeros_like(part) for part in self._sums)))

    def copy(self) -> HybridSums:
        return HybridSums(AwaitedSums(*(part.copy() for part in self._sums)))

    def over(self, layout: Layout, places: Integers) -> HybridSums:
        """A copy; what is pending of arms that go stays in what is shared, until it is summed anew."""
        other, known = HybridSums.of(separate(layout)), places >= 0
        for part, old in zip(other._sums[:2], self._sums[:2], strict=True):
            part[known] = old[places[known]]
        other._sums.common[:] = self._sums.common
        return other

    def narrowed(self, known: Knowledge) -> Knowledge:
        assert isinstance(known, HybridKnown)
        return known.narrowed(self._sums)
