"""Decisions that wait for their reward, as exploring sees them: what they will add to V is in it already.

Exploring that looks at rewards alone would try the same arm again and again until its first reward comes. So
it reads the evidence as if every pending decision had been told its estimate: estimates stay as they are,
and widths and samples are those of V + sum x x' over all that is pending. The radius stays that of rewards.
"""

from __future__ import annotations

import copy
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
AT_ONCE = 1 << 16  # decisions of a batch whose rows are copied to be summed
MOST_ROWS = 1024  # x that came or went before their sums are brought up to date


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
Batch = tuple[Grounds, Bools, Floats]
"""Many of them: what they will be learnt on, which of them explored, and their estimates."""


@final
class News:
    """Single decisions that came or went since sums were brought up to date: on arms, and on other x."""

    __slots__ = ("arms", "count", "rows", "weights")

    def __init__(self) -> None:
        self.count = 0
        self.arms: dict[int, int] = {}  # how many more there are of each, or less
        self.rows: list[Row] = []
        self.weights: list[float] = []

    def clear(self) -> None:
        """Nothing is new any more."""
        self.count = 0
        self.arms.clear()
        self.rows.clear()
        self.weights.clear()


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

    def note(self, news: News, decision: Pended, on: On, sign: int) -> None:
        """One decision came, or went (-1), which is in the news from now on and not in the sums."""
        news.count += sign
        if type(on) is int and self.squares:
            news.arms[on] = news.arms.get(on, 0) + sign
        elif (weight := self._weight(decision.estimate)) > 0.0:
            news.rows.append(self._x(on))
            news.weights.append(sign * weight)

    def take(self, news: News) -> None:
        """Brings sums up to date."""
        self.count += news.count
        if changes := {place: times for place, times in news.arms.items() if times}:
            self.sums.arms(changes)
        if news.rows:
            self.sums.rows(news.rows, news.weights)

    def take_many(self, grounds: Grounds, estimates: Floats, sign: int) -> None:
        """Many decisions at once that came, or went (-1)."""
        for first in range(0, grounds.size, AT_ONCE):
            last = min(first + AT_ONCE, grounds.size)
            self._take_some(grounds.span(first, last), self._weights(estimates[first:last]), sign)

    def _take_some(self, grounds: Grounds, weights: Floats, sign: int) -> None:
        self.count += sign * grounds.size
        fixed = grounds.place >= 0
        if grounds.apart or not fixed.any():
            self._rows(grounds, weights, sign)
            return
        self._fixed(grounds.place[fixed], weights[fixed], sign)
        self._rows(grounds.at(~fixed), weights[~fixed], sign)

    def _fixed(self, places: Integers, weights: Floats, sign: int) -> None:
        if self.squares:
            arms, times = np.unique(places, return_counts=True)
            self.sums.arms(dict(zip(arms.tolist(), (sign * times).tolist(), strict=True)))
        else:
            self._rows(Grounds.on_rows(self.columns.T[places]), weights, sign)

    def _rows(self, grounds: Grounds, weights: Floats, sign: int) -> None:
        counts = weights > 0.0
        if counts.all():
            self.sums.many(grounds, sign * weights)
        else:
            self.sums.many(grounds.at(counts), sign * weights[counts])

    def _weights(self, estimates: Floats) -> Floats:
        """Those of many; a file may say other chances, which count for nothing."""
        if self.squares:
            return np.ones(estimates.size)
        chances = np.clip(estimates, 0.0, 1.0)
        return chances * (1.0 - chances)

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

    Both cost next to nothing; sums follow in O(d^2) for each arm or x when evidence is read, and not at all
    for a decision that is told before the next is taken: that stands in `last` alone.
    """

    __slots__ = ("_all", "_batched", "_batches", "_explored", "_held", "_news", "_own_news", "last")

    def __init__(self, everything: Share, explored: Share | None) -> None:
        self._all, self._explored = everything, explored
        self.last: Expected | None = None
        self._news, self._own_news = News(), News()
        self._batches: list[tuple[Grounds, Bools, Floats, int]] = []  # that came, or went (-1)
        self._batched = 0  # how many more there are of these
        self._held: Held | None = None

    @staticmethod
    def of(everything: Statistics, explored: Statistics | None) -> Foresight:
        """That of no decisions."""
        return Foresight(Share.of(everything), None if explored is None else Share.of(explored))

    def __len__(self) -> int:
        """How many decisions are pending."""
        return self._all.count + self._news.count + self._batched + (self.last is not None)

    def take_many(self, grounds: Grounds, explored: Bools, estimates: Floats, sign: int) -> None:
        """Many more, or less (-1), of which some explored."""
        self._batches.append((grounds, explored, estimates, sign))
        self._batched += sign * grounds.size
        if len(self) == 0:
            self._forget()
        elif len(self._batches) >= MOST_BATCHES:
            self._settle()

    def add(self, pending: Expected) -> None:
        """One more."""
        last, self.last = self.last, pending
        if last is not None:
            self._note(*last, 1)

    def remove(self, decision: Pended, on: On) -> None:
        """One less."""
        if self.last is not None and self.last[0].t == decision.t:
            self.last = None
        else:
            self._note(decision, on, -1)

    def _note(self, decision: Pended, on: On, sign: int) -> None:
        self._all.note(self._news, decision, on, sign)
        if self._explored is not None and decision.explored:
            self._explored.note(self._own_news, decision, on, sign)
        if len(self._news.rows) >= MOST_ROWS:
            self._settle()

    def sums(self) -> Awaiting:
        """Sums over all that is pending now, for whoever reads them at once."""
        if self.last is not None or self._news.arms or self._news.rows or self._batches:
            self._settle()
        return self._all.sums

    def replace_sums(self, sums: Awaiting, more: int) -> bool:
        """Takes sums that so many more decisions are in already, after `sums`; False if they are not enough.

        Where exploring rounds are kept apart, these need sums of their own.
        """
        if self._explored is not None:
            return False
        self._all, self._held = (
            Share(self._all.columns, self._all.squares, sums, self._all.count + more),
            None,
        )
        return True

    def held(self) -> Held | None:
        """What is pending now; None if nothing is."""
        if len(self) == 0:
            return None
        self.sums()
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
        if self.last is not None:
            last, self.last = self.last, None
            self._note(*last, 1)
        self._all.take(self._news)
        if self._explored is not None:
            self._explored.take(self._own_news)
        for grounds, explored, estimates, sign in self._batches:
            self._all.take_many(grounds, estimates, sign)
            if self._explored is not None:
                self._explored.take_many(grounds.at(explored), estimates[explored], sign)
        self._begin()

    def _begin(self) -> None:
        """Nothing is new to the sums."""
        self._news.clear()
        self._own_news.clear()
        self._batches, self._batched = [], 0

    def _forget(self) -> None:
        """Nothing is pending any more, and no sum needs to be brought up to date."""
        explored = None if self._explored is None else self._explored.none()
        self._all, self._explored, self._held, self.last = self._all.none(), explored, None, None
        self._begin()

    def _part(self) -> None:
        self._all = self._all.copy()
        self._explored = None if self._explored is None else self._explored.copy()
