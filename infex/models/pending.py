"""Decisions that wait for their reward, as exploring sees them: what they will add to V is in it already.

Exploring that looks at rewards alone would try the same arm again and again until its first reward comes. So
it reads the posterior as if every pending decision had been told its estimate: estimates stay as they are,
and widths and samples are those of V + sum x x' over all that is pending. The radius stays that of rewards.
"""

from __future__ import annotations

from typing import Literal, Protocol, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.checks import one_of
from infex.models.base import Model, ModelPosterior, PendingSums
from infex.models.layout import DesignRow, DesignRows, Layout

NARROW, IGNORE = "narrow", "ignore"
PendingWay = Literal["narrow", "ignore"]
MOST_BATCHES = 64  # that come or go before their sums are brought up to date
MOST_SINGLES = 1024  # decisions, the same
AT_ONCE = 1 << 16  # decisions of a batch whose rows are copied to be summed


def narrows(pending: object) -> bool:
    """Do pending decisions narrow what exploring reads?"""
    return one_of("pending", pending, (NARROW, IGNORE)) == NARROW


class PendingDecision(Protocol):
    """A decision that waits for its reward: its round, whether it explored, and its arm's estimate then."""

    @property
    def t(self) -> int: ...

    @property
    def explored(self) -> bool: ...

    @property
    def estimate(self) -> float: ...


Expected = tuple[PendingDecision, DesignRow]
"""A decision, and what its reward will be learnt on."""
Batch = tuple[DesignRows, Bools, Floats]
"""Many of them: what they will be learnt on, which of them explored, and their estimates."""


@final
class PendingDesign:
    """All pending decisions of a bandit or a run: added when they are taken, removed when told or dropped.

    Both cost next to nothing: sums over all decisions, and over those that explored where these are kept
    apart, are brought up to date when somebody explores and reads them. A decision that is told before that
    is in none. They depend on what is pending alone, to the last bit, and not on the order in which it came
    and went. `version` is raised by every change.
    """

    __slots__ = (
        "_all", "_batches", "_count", "_explored", "_explored_count", "_gone", "_new", "_squares", "version",
    )  # fmt: skip

    def __init__(self, everything: PendingSums, explored: PendingSums | None, squares: bool) -> None:
        self._all, self._explored, self._squares = everything, explored, squares
        self._count = self._explored_count = self.version = 0
        self._new: dict[int, Expected] = {}  # by their round; not in the sums yet, as the next two
        self._gone: list[Expected] = []
        self._batches: list[tuple[DesignRows, Bools, Floats, int]] = []  # that came, or went (-1)

    @staticmethod
    def of(everything: Model, explored: Model | None) -> PendingDesign:
        """That of no decisions, for statistics of all rounds and of exploring ones."""
        own = None if explored is None else explored.pending()
        return PendingDesign(everything.pending(), own, everything.is_least_squares)

    def __len__(self) -> int:
        """How many decisions are pending."""
        return self._count

    def add(self, pending: Expected) -> None:
        """One more."""
        self._change(1, int(pending[0].explored))
        self._new[pending[0].t] = pending
        if len(self._new) >= MOST_SINGLES:
            self._settle()

    def remove(self, decision: PendingDecision, on: DesignRow) -> None:
        """One less."""
        self._change(-1, -int(decision.explored))
        if self._new.pop(decision.t, None) is None:
            self._gone.append((decision, on))
            if len(self._gone) >= MOST_SINGLES:
                self._settle()

    def take_many(self, design: DesignRows, explored: Bools, estimates: Floats, sign: int) -> None:
        """Many more, or less (-1), of which some explored."""
        self._change(sign * design.size, sign * int(explored.sum()))
        self._batches.append((design, explored, estimates, sign))
        if self._count == 0:
            self._forget()
        elif len(self._batches) >= MOST_BATCHES:
            self._settle()

    def narrowed(self, known: ModelPosterior, own: bool) -> ModelPosterior:
        """What is known from all rounds, or from exploring ones (`own`), with what is pending in V."""
        self._settle()
        if own:
            return self._explored.narrowed(known) if self._explored and self._explored_count else known
        return self._all.narrowed(known) if self._count else known

    def copy(self) -> PendingDesign:
        """The same, which stays as it is."""
        self._settle()
        return self._with(self._all.copy(), None if self._explored is None else self._explored.copy())

    def rearranged(self, layout: Layout, places: Integers) -> PendingDesign:
        """A copy, over other arms; what is removed from now on is learnt on one of these."""
        self._settle()
        explored = None if self._explored is None else self._explored.rearranged(layout, places)
        return self._with(self._all.rearranged(layout, places), explored)

    def _with(self, everything: PendingSums, explored: PendingSums | None) -> PendingDesign:
        other = PendingDesign(everything, explored, self._squares)
        other._count, other._explored_count, other.version = self._count, self._explored_count, self.version
        return other

    def _change(self, more: int, explored: int) -> None:
        self.version += 1
        self._count += more
        self._explored_count += explored

    def _settle(self) -> None:
        """Brings sums up to date."""
        batches, self._batches = self._batches, []
        for singles, sign in (list(self._new.values()), 1), (self._gone, -1):
            if singles:
                design = DesignRows.of(on for _, on in singles)
                figures = [(decision.explored, decision.estimate) for decision, _ in singles]
                explored, estimates = (np.array(each) for each in zip(*figures, strict=True))
                batches.append((design, explored.astype(bool), estimates.astype(np.float64), sign))
        self._new, self._gone = {}, []
        for design, explored, estimates, sign in batches:
            for first in range(0, design.size, AT_ONCE):
                last = min(first + AT_ONCE, design.size)
                self._sum(design.span(first, last), explored[first:last], estimates[first:last], sign)

    def _sum(self, design: DesignRows, explored: Bools, estimates: Floats, sign: int) -> None:
        weights = np.ones(estimates.size) if self._squares else _information(estimates)
        if not self._squares:
            tells = weights > 0.0
            design, explored, weights = design.at(tells), explored[tells], weights[tells]
        self._all.add(design, weights, sign)
        if self._explored is not None and explored.any():
            self._explored.add(design.at(explored), weights[explored], sign)

    def _forget(self) -> None:
        """Nothing is pending any more, and no sum needs to be brought up to date."""
        self._all = self._all.none()
        self._explored = None if self._explored is None else self._explored.none()
        self._new, self._gone, self._batches = {}, [], []


def _information(estimates: Floats) -> Floats:
    """How much a reward of 0 or 1 will tell of theta along its x: p(1 - p); a file may say any chance p."""
    chances = np.clip(estimates, 0.0, 1.0)
    return chances * (1.0 - chances)
