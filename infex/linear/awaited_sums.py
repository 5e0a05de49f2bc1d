"""Sums over pending decisions, as suits the statistics: of one regression, of one for each arm, of both."""

from __future__ import annotations

from typing import Protocol, Self, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import UnknownArm
from infex.kernels import awaited_batches, awaiting, awaiting_tied
from infex.linear.block_known import BlockKnown
from infex.linear.block_ridge import BlockRidge, in_block, separate
from infex.linear.estimating import Statistics
from infex.linear.fitted_blocks import FittedBlocks
from infex.linear.grounds import Grounds, order_of_arms
from infex.linear.hybrid_known import AwaitedSums, HybridKnown
from infex.linear.hybrid_ridge import HybridRidge
from infex.linear.knowledge import Knowledge
from infex.linear.known import Known
from infex.linear.learnable import refuse_separate
from infex.linear.offers import GONE, InBlock, Layout, Separate

FEW = 5  # arms for which a call each takes less time than two arrays
Row = Floats | InBlock
"""An x, or an arm in a context."""


class Awaiting(Protocol):
    """Sums over pending decisions; statistics with a structure of their own may have sums of their own.

    They depend on what is pending alone, to the last bit, and not on the order in which it came and went.
    """

    def arms(self, changes: dict[int, int]) -> None:
        """So many decisions on each of some fixed arms more, or less (below 0)."""

    def rows(self, rows: list[Row], weights: list[float]) -> None:
        """Decisions on any x, each with its weight, which is below 0 for those that are gone."""

    def many(self, grounds: Grounds, weights: Floats) -> None:
        """The same for many at once, none of them on a fixed arm."""

    def none(self) -> Self:
        """Sums over no decisions."""

    def over(self, layout: Layout, places: Integers) -> Self:
        """A copy, over other arms: each at its old place, or new (-1)."""

    def narrowed(self, known: Knowledge) -> Knowledge:
        """What is known, with these sums in V; estimates stay."""


@final
class DenseSums:
    """One sum of w x x' for all arms, in whole numbers: see `infex.kernels.awaiting`."""

    __slots__ = ("_columns", "_room", "_sums")

    def __init__(self, columns: Floats, sums: Integers | None = None) -> None:
        dim = columns.shape[0]
        self._columns, self._room = columns, np.empty(dim)
        self._sums: Integers = np.zeros((2, dim, dim), dtype=np.int64) if sums is None else sums

    @property
    def awaited(self) -> Integers:
        """The sums, for a kernel that reads them at once."""
        return self._sums

    def arms(self, changes: dict[int, int]) -> None:
        if len(changes) < FEW:
            for place, times in changes.items():
                awaiting.expect_arm(self._sums, self._columns, place, times, self._room)
            return
        places, counts = (np.array(list(each)) for each in (changes, changes.values()))
        awaiting.expect_arms(self._sums, self._columns, places, counts, self._room)

    def rows(self, rows: list[Row], weights: list[float]) -> None:
        awaiting.expect_rows(self._sums, np.array(rows, dtype=np.float64), np.array(weights))

    def many(self, grounds: Grounds, weights: Floats) -> None:
        awaiting.expect_rows(self._sums, grounds.rows[grounds.row], weights)

    def none(self) -> DenseSums:
        return DenseSums(self._columns)

    def over(self, layout: Layout, places: Integers) -> DenseSums:
        return DenseSums(refuse_separate(layout), self._sums.copy())

    def narrowed(self, known: Knowledge) -> Knowledge:
        assert isinstance(known, Known)
        return known.narrowed(self._sums)


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

    def arms(self, changes: dict[int, int]) -> None:
        refuse_arms(changes)

    def rows(self, rows: list[Row], weights: list[float]) -> None:
        if there := _standing(rows, weights):
            arms, contexts, counts = there
            self.many(Grounds.in_blocks(arms, contexts), counts)

    def many(self, grounds: Grounds, weights: Floats) -> None:
        order = order_of_arms(grounds.place, len(self._sums))
        awaited_batches.expect_blocks(
            self._sums, grounds.place, grounds.row, grounds.rows, weights, order
        )  # fmt: skip

    def none(self) -> BlockSums:
        return BlockSums(np.zeros_like(self._sums))

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

    def arms(self, changes: dict[int, int]) -> None:
        refuse_arms(changes)

    def rows(self, rows: list[Row], weights: list[float]) -> None:
        if there := _standing(rows, weights):
            awaiting_tied.expect_tied(*self._sums, *there)

    def many(self, grounds: Grounds, weights: Floats) -> None:
        there = grounds.place != GONE
        rows = np.ascontiguousarray(grounds.rows[grounds.row[there]])
        awaiting_tied.expect_tied(*self._sums, grounds.place[there], rows, weights[there])

    def none(self) -> HybridSums:
        return HybridSums(AwaitedSums(*(np.zeros_like(part) for part in self._sums)))

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


def refuse_arms(changes: dict[int, int]) -> None:
    """Refuses arms without a context."""
    raise UnknownArm(f"arms {list(changes)} have a regression each, and are known in a context alone")


def _standing(rows: list[Row], weights: list[float]) -> tuple[Integers, Floats, Floats] | None:
    """Arms, contexts and weights of decisions whose arm is not gone; None if there are none."""
    pairs = [(in_block(row), weight) for row, weight in zip(rows, weights, strict=True)]
    there = [(arm, context, weight) for (arm, context), weight in pairs if arm != GONE]
    if not there:
        return None
    arms, contexts, counts = zip(*there, strict=True)
    return np.array(arms), np.array(contexts), np.array(counts)


def awaiting_of(statistics: Statistics) -> Awaiting:
    """Sums over no pending decision, as suits the statistics."""
    if isinstance(statistics, HybridRidge):
        return HybridSums.of(statistics.layout)
    if isinstance(statistics, BlockRidge | FittedBlocks):
        return BlockSums.of(statistics.layout)
    return DenseSums(statistics.columns)
