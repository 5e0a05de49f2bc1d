"""Sums over pending decisions, as suits the statistics: of one regression, of one for each arm, of both."""

from __future__ import annotations

from typing import Protocol, Self, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels import awaiting
from infex.linear.estimating import Statistics
from infex.linear.fitted_blocks import FittedBlocks
from infex.linear.grounds import Grounds
from infex.linear.hybrid import HybridRidge, HybridSums
from infex.linear.knowledge import Knowledge
from infex.linear.known import Known
from infex.linear.learnable import refuse_separate
from infex.linear.offers import InBlock, Layout
from infex.linear.ridge_bank import BlockRidge, BlockSums

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


def awaiting_of(statistics: Statistics) -> Awaiting:
    """Sums over no pending decision, as suits the statistics."""
    if isinstance(statistics, HybridRidge):
        return HybridSums.of(statistics.layout)
    if isinstance(statistics, BlockRidge | FittedBlocks):
        return BlockSums.of(statistics.layout)
    return DenseSums(statistics.columns)
