"""Pulls and rewards by arm, for policies that look at no features."""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Floats, Integers


@final
class Tally:
    """How many rewards every fixed arm was told, and their sums."""

    __slots__ = ("pulls", "sums")

    def __init__(self, arms: int) -> None:
        self.pulls: Integers = np.zeros(arms, dtype=np.int64)
        self.sums: Floats = np.zeros(arms)

    def add(self, arm: int, reward: float) -> None:
        """One reward of an arm."""
        self.pulls[arm] += 1
        self.sums[arm] += reward

    def at(self, places: Integers) -> Tally:
        """The same for arms at these old places; -1 is a new arm."""
        found = Tally(places.size)
        old = places >= 0
        found.pulls[old] = self.pulls[places[old]]
        found.sums[old] = self.sums[places[old]]
        return found

    def merge(self, other: Tally, places: Integers) -> None:
        """Adds another's, whose arms are at these places here; -1 is nowhere."""
        known = places >= 0
        self.pulls[places[known]] += other.pulls[known]
        self.sums[places[known]] += other.sums[known]
