"""Decisions that wait for their reward, as exploring sees them: what they will add to V is in it already.

Exploring that looks at rewards alone would try the same arm again and again until its first reward comes. So
it reads the evidence as if every pending decision had been told its estimate: estimates stay as they are,
and widths, samples and the volume are those of V + sum x x' over all that is pending.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable
from sys import getrefcount
from typing import Literal, Protocol, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.checks import one_of
from infex.linear.awaited_sums import Awaiting, Row, awaiting_of
from infex.linear.estimating import Statistics
from infex.linear.grounds import Grounds
from infex.linear.holders import ALONE
from infex.linear.knowledge import Knowledge
from infex.linear.offers import Layout, On, Separate

NARROW, IGNORE = "narrow", "ignore"
PendingWay = Literal["narrow", "ignore"]
MOST_BATCHES = 64  # that come or go before their sums are brought up to date
MOST_GONE = 1024  # decisions that are gone before their sums are brought up to date


def narrows(pending: object) -> bool:
    """Do pending decisions narrow what exploring reads?"""
    return one_of("pending", pending, (NARROW, IGNORE)) == NARROW


class Pended(Protocol):
    """A decision that waits for its reward: its round, whether it explored, and its arm's estimate then."""

    @property
    def t(self) -> int: ...

    @property
    def explored(self) -> bool: ...

    @property
    def estimate(self) -> float: ...


Expected = tuple[Pended, On]
"""A decision, and what its reward will be learnt on."""


@final
class Share:
    """Pending decisions that one of a bandit's statistics will learn from: how many, and their sums."""

    __slots__ = ("columns", "count", "squares", "sums")

    def __init__(self, columns: Floats, squares: bool, sums: Awaiting, count: int = 0) -> None:
        self.columns, self.squares, self.sums, self.count = columns, squares, sums, count

    @staticmethod
    def of(statistics: Statistics) -> Share:
        """That of no decisions."""
        return Share(statistics.columns, statistics.squares, awaiting_of(statistics))

    def over(self, layout: Layout, places: Integers) -> Share:
        """A copy, over other arms."""
        columns = self.columns if isinstance(layout, Separate) else layout
        return Share(columns, self.squares, self.sums.over(layout, places), self.count)

    def none(self) -> Share:
        """That of no decisions."""
        return Share(self.columns, self.squares, self.sums.none())

    def copy(self) -> Share:
        """The same, for another to change."""
        return Share(self.columns, self.squares, copy.deepcopy(self.sums), self.count)

    def take(self, came: Iterable[Expected], went: Iterable[Expected]) -> None:
        """Decisions that came, and others that went."""
        arms: Counter[int] = Counter()
        rows: list[Row] = []
        weights: list[float] = []
        for sign, some in ((1, came), (-1, went)):
            for decision, on in some:
                self.count += sign
                if isinstance(on, int) and self.squares:
                    arms[on] += sign
                elif (weight := self._weight(decision.estimate)) > 0.0:
                    rows.append(self._x(on))
                    weights.append(sign * weight)
        for place, times in arms.items():
            if times:
                self.sums.arm(place, times)
        if rows:
            self.sums.rows(rows, weights)

    def take_many(self, grounds: Grounds, estimates: Floats, sign: int) -> None:
        """Many decisions at once that came, or went (-1)."""
        self.count += sign * grounds.size
        fixed = (grounds.place >= 0) & (not grounds.apart)
        weights = sign * (np.ones(grounds.size) if self.squares else estimates * (1.0 - estimates))
        if self.squares:
            arms, times = np.unique(grounds.place[fixed], return_counts=True)
            for place, count in zip(arms.tolist(), times.tolist(), strict=True):
                self.sums.arm(place, sign * count)
        else:
            self._rows(Grounds.on_rows(self.columns.T[grounds.place[fixed]]), weights[fixed])
        self._rows(grounds.at(~fixed), weights[~fixed])

    def _rows(self, grounds: Grounds, weights: Floats) -> None:
        counts = weights != 0.0
        if counts.any():
            self.sums.many(grounds.at(counts), np.ascontiguousarray(weights[counts]))

    def _x(self, on: On) -> Row:
        return self.columns[:, on] if isinstance(on, int) else on

    def _weight(self, estimate: float) -> float:
        """How much a reward will tell of theta along its x: a chance p of 1 as much as p(1 - p)."""
        return 1.0 if self.squares else estimate * (1.0 - estimate)


class Held:
    """What is pending at one moment, for whoever reads evidence of that moment; it stays as it is."""

    __slots__ = ("_all", "_explored")

    def __init__(self, everything: Share, explored: Share | None) -> None:
        self._all, self._explored = everything, explored

    def narrowed(self, known: Knowledge, own: bool) -> Knowledge:
        """What is known of all rounds, or of exploring ones (`own`), with what is pending in V."""
        share = self._explored if own else self._all
        return known if share is None or share.count == 0 else share.sums.narrowed(known)


@final
class Foresight:
    """All pending decisions of a bandit or a run: added when they are taken, removed when told or dropped.

    Both cost next to nothing; sums follow in O(d^2) a decision when evidence is read, and not at all for
    a decision that is told before that. `came` are single ones that are not in the sums yet, and `summed` is
    how many others came.
    """

    __slots__ = ("_all", "_batches", "_explored", "_held", "_went", "came", "summed")

    def __init__(self, everything: Share, explored: Share | None) -> None:
        self._all, self._explored = everything, explored
        self.summed = everything.count
        self.came: list[Expected] = []
        self._went: list[Expected] = []
        self._batches: list[tuple[Grounds, Bools, Floats, int]] = []  # that came, or went (-1)
        self._held: Held | None = None

    @staticmethod
    def of(everything: Statistics, explored: Statistics | None) -> Foresight:
        """That of no decisions."""
        return Foresight(Share.of(everything), None if explored is None else Share.of(explored))

    def __len__(self) -> int:
        """How many decisions are pending."""
        return self.summed + len(self.came) - len(self._went)

    def take_many(self, grounds: Grounds, explored: Bools, estimates: Floats, sign: int) -> None:
        """Many more, or less (-1), of which some explored."""
        self._batches.append((grounds, explored, estimates, sign))
        self.summed += sign * grounds.size
        if len(self) == 0:
            self._forget()
        elif len(self._batches) >= MOST_BATCHES:
            self._settle()

    def remove(self, decision: Pended, on: On) -> None:
        """One less."""
        came = self.came
        if came and came[-1][0].t == decision.t:
            came.pop()
            return
        self._went.append((decision, on))
        if len(self._went) >= MOST_GONE:
            self._settle()

    def held(self) -> Held | None:
        """What is pending now; None if nothing is."""
        if len(self) == 0:
            return None
        if self.came or self._went or self._batches:
            self._settle()
        if self._held is None:
            self._held = Held(self._all, self._explored)
        return self._held

    def over(self, layout: Layout, places: Integers) -> Foresight:
        """A copy, over other arms; what is removed from now on is learnt on one of these."""
        self._settle()
        explored = None if self._explored is None else self._explored.over(layout, places)
        return Foresight(self._all.over(layout, places), explored)

    def _settle(self) -> None:
        """Brings sums up to date; whoever reads those there were keeps them."""
        held, self._held = self._held, None
        if held is not None and getrefcount(held) > ALONE:
            self._part()
        self._all.take(self.came, self._went)
        if self._explored is not None:
            self._explored.take(_explored(self.came), _explored(self._went))
        for grounds, explored, estimates, sign in self._batches:
            self._all.take_many(grounds, estimates, sign)
            if self._explored is not None:
                self._explored.take_many(grounds.at(explored), estimates[explored], sign)
        self.summed, self.came, self._went, self._batches = self._all.count, [], [], []

    def _forget(self) -> None:
        """Nothing is pending any more, and no sum needs to be brought up to date."""
        explored = None if self._explored is None else self._explored.none()
        self._all, self._explored, self._held = self._all.none(), explored, None
        self.summed, self.came, self._went, self._batches = 0, [], [], []

    def _part(self) -> None:
        self._all = self._all.copy()
        self._explored = None if self._explored is None else self._explored.copy()


def _explored(some: list[Expected]) -> list[Expected]:
    return [each for each in some if each[0].explored]
