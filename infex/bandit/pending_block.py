"""Pending decisions that were taken at once, or long ago, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from infex.arrays import Bools, Integers
from infex.bandit.decision import Decision
from infex.bandit.decisions import Decisions
from infex.linear.grounds import Grounds
from infex.linear.offers import On

Pending = tuple[Decision, On]
"""A decision, and what its reward is learnt on: a fixed arm by its index, features, an arm in a context."""
SPARSE = 4  # times as many places as decisions that wait: then the others are given up


@final
class Block:
    """Decisions by their rounds, which go up: those that still wait, and what they are learnt on."""

    __slots__ = ("_rounds", "alive", "decisions", "first", "grounds", "left")

    def __init__(self, decisions: Decisions, grounds: Grounds) -> None:
        self._take(decisions, grounds)

    def _take(self, decisions: Decisions, grounds: Grounds) -> None:
        self.decisions, self.grounds, self._rounds = decisions, grounds, decisions.t
        self.alive: Bools = np.ones(len(decisions), dtype=bool)
        self.left, self.first = len(decisions), int(self._rounds[0])

    def __iter__(self) -> Iterator[Pending]:
        places = np.flatnonzero(self.alive)
        singles = zip(self.decisions.at(places), places.tolist(), strict=True)
        return ((decision, self.grounds.on(place)) for decision, place in singles)

    def find(self, t: int, key: str) -> int | None:
        """Where the decision of round t stands, if it still waits under this id."""
        place = t - self.first
        if not 0 <= place < self._rounds.size or self._rounds[place] != t:
            place = int(self._rounds.searchsorted(t))
        if place >= self._rounds.size or self._rounds[place] != t or not self.alive[place]:
            return None
        return place if self.decisions.id_at(place) == key else None

    @property
    def oldest(self) -> int:
        """The first round of which a decision still waits."""
        return int(self._rounds[self.alive.argmax()])

    def after(self, t: int) -> Integers:
        """Where decisions of rounds after t stand that still wait."""
        first = int(self._rounds.searchsorted(t, side="right"))
        return first + np.flatnonzero(self.alive[first:])

    def remove(self, places: Integers) -> None:
        """Decisions at these places wait no more."""
        self.alive[places] = False
        self.left -= places.size
        if 0 < self.left * SPARSE < self.alive.size:
            self._take(self.decisions.at(self.alive), self.grounds.at(self.alive))

    def waiting(self) -> tuple[Decisions, Grounds]:
        """Those that still wait."""
        if self.left == self.alive.size:
            return self.decisions, self.grounds
        return self.decisions.at(self.alive), self.grounds.at(self.alive)


def own_ids(decisions: Decisions) -> list[tuple[int, str]]:
    """The ids of the caller's own, each with its round."""
    (rounds, *_, life), texts = decisions.parts[0], decisions.parts[3].texts
    if not texts:
        return []
    own = life < 0
    return [(t, texts[-1 - code]) for t, code in zip(rounds[own].tolist(), life[own].tolist(), strict=True)]
