"""Whose rewards a bandit has learnt: its own of this life, of earlier ones, and others' that it was given.

Every life numbers the rewards it learns by itself. What others are given is a span of these numbers, so that
nothing is counted twice, and nothing is left out, without a word.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Integers
from infex.bandit.changes import Portion, Spans
from infex.errors import CannotMerge
from infex.linear import Memory
from infex.linear.memory import Growths


class Heritage(NamedTuple):
    """What a new life begins with: of whose rewards up to which is known, and what was not passed on yet.

    `exchanged`: was anything ever passed on, or taken in? If not, all that was learnt was not.
    """

    known: dict[str, int]
    portions: tuple[Portion, ...] = ()
    exchanged: bool = False


@final
class Lineage:
    """What this life has learnt by itself, and what it begins with."""

    __slots__ = ("_exchanged", "_lost", "_mark", "_sent", "_unsent", "known")

    def __init__(self, heritage: Heritage | None = None, mark: Growths | None = None) -> None:
        held = Heritage({}) if heritage is None else heritage
        self.known, self._unsent, self._exchanged = dict(held.known), held.portions, held.exchanged
        self._mark = mark  # all that this life has not learnt by itself, or has passed on
        self._sent = 0  # how many of this life's rewards were passed on
        self._lost = 0  # and how many were forgotten with their arms

    def position(self, memory: Memory) -> int:
        """How many rewards this life has learnt by itself."""
        before = 0 if self._mark is None else self._mark[0].told
        return self._sent + self._lost + memory.all.told - before

    def heritage(self, life: str, memory: Memory) -> Heritage:
        """What another life begins with that goes on from here."""
        position, now = self.position(memory), sums_of(memory)
        if now is None:
            return Heritage({})
        known = self.known | ({life: position} if position else {})
        if self._exchanged:
            return Heritage(known, (*self._unsent, *self._own(life, memory)), True)
        spans: Spans = {}
        for portion in self._unsent:
            spans |= portion.spans
        spans |= {life: (0, position)} if position else {}
        return Heritage(known, (Portion(spans, now),) if spans else ())

    def reborn(self, life: str, memory: Memory) -> Lineage:
        """That of another life that goes on from here."""
        return Lineage(self.heritage(life, memory), sums_of(memory))

    def extended(self, before: Memory, after: Memory) -> Lineage:
        """The same with more features: what was not passed on yet cannot be any more, and will be missed."""
        found = Lineage(Heritage(self.known, (), True), sums_of(after))
        found._sent = self.position(before)
        return found

    def take(self, life: str, memory: Memory) -> tuple[Portion, ...]:
        """All that was not passed on yet, which from now on is."""
        portions = (*self._unsent, *self._own(life, memory))
        self._sent, self._lost, self._mark = self.position(memory), 0, memory.growths()
        self._unsent, self._exchanged = (), True
        return portions

    def _own(self, life: str, memory: Memory) -> tuple[Portion, ...]:
        position, now = self.position(memory), memory.growths()
        if position == self._sent:
            return ()
        since = now if self._mark is None else _minus(now, self._mark)
        return (Portion({life: (self._sent, position)}, since),)

    def revised(self, pulls: int) -> None:
        """A reward got another value, or was taken out (-1): one more change that others are to learn of."""
        self._lost += 1 - pulls

    def knows(self, spans: Spans, life: str, memory: Memory) -> bool:
        """Are all of these rewards known? If none is, they can be added; anything else is refused."""
        states = {self._state(name, *span, life, memory) for name, span in spans.items()}
        if len(states) > 1:
            raise CannotMerge(
                f"of these changes some were learnt here already, and some not: of the lives {sorted(spans)}"
            )
        return states.pop()

    def _state(self, name: str, first: int, last: int, life: str, memory: Memory) -> bool:
        have = self.position(memory) if name == life else self.known.get(name, 0)
        if last <= have:
            return True
        if name == life:
            raise CannotMerge(f"rewards {first} to {last} of this bandit's own life come back, it has {have}")
        if first != have:
            what = "missing" if first > have else "here already"
            raise CannotMerge(
                f"changes must come in order: these are rewards {first} to {last} of the life {name!r}, "
                f"and those {min(first, have)} to {max(first, have)} are {what}"
            )
        return False

    def add(self, portion: Portion, memory: Memory) -> None:
        """Others' rewards, which memory is about to learn."""
        self._take_in(portion.growths, memory)
        self.known |= {name: last for name, (_, last) in portion.spans.items()}

    def merged(self, other: Heritage, growths: Growths | None, life: str, memory: Memory) -> None:
        """All that another knows was merged in: it is not added once more, nor passed on as one's own."""
        if growths is not None:
            self._take_in(growths, memory)
        lives = (name for name in other.known if name != life)
        self.known |= {name: max(other.known[name], self.known.get(name, 0)) for name in lives}

    def _take_in(self, growths: Growths, memory: Memory) -> None:
        """Sums that this life has not learnt by itself."""
        mark = self._mark
        if mark is None:
            empty = memory.growths()
            mark = _minus(empty, empty)
        self._mark, self._exchanged = _plus(mark, growths), True

    def after_turnover(self, before: Memory, after: Memory, places: Integers) -> Lineage:
        """The same over other arms, `places` being their old ones.

        Where arms share features, what one that goes has told of these cannot be taken out of sums that
        were passed on, or not: what was not yet cannot be any more, and will be missed.
        """
        now = sums_of(after)
        if now is not None and now[0].common is not None and (_new_places(places, before) < 0).any():
            return self.extended(before, after)
        self.move(before, after, places)
        return self

    def move(self, before: Memory, after: Memory, places: Integers) -> None:
        """Arms have come to new places, `places` being their old ones."""
        position = self.position(before)
        now = sums_of(after)
        if now is not None:
            there = _new_places(places, before)
            count = now[0].counts.shape[1]
            portions = [Portion(each.spans, brought(each.growths, there, count)) for each in self._unsent]
            self._unsent = tuple(portions)
            self._mark = None if self._mark is None else brought(self._mark, there, count)
        self._lost += position - self.position(after)


def sums_of(memory: Memory) -> Growths | None:
    """All that was learnt, as sums; None where an estimator keeps none."""
    with contextlib.suppress(CannotMerge):
        return memory.growths()
    return None


def _new_places(places: Integers, before: Memory) -> Integers:
    """The new place of every arm there was, -1 for one that is gone."""
    found = np.full(before.growths()[0].counts.shape[1], -1)
    found[places[places >= 0]] = np.flatnonzero(places >= 0)
    return found


def _plus(one: Growths, two: Growths) -> Growths:
    apart = one[1] if one[1] is None or two[1] is None else one[1].plus(two[1])
    return one[0].plus(two[0]), apart


def _minus(one: Growths, two: Growths) -> Growths:
    apart = one[1] if one[1] is None or two[1] is None else one[1].minus(two[1])
    return one[0].minus(two[0]), apart


def brought(growths: Growths, there: Integers, count: int) -> Growths:
    """The same over so many arms, each of these at a place there, or nowhere (-1)."""
    everything, apart = growths
    return everything.brought(there, count), None if apart is None else apart.brought(there, count)
