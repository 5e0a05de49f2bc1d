"""Schedules given as a list of rounds."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from infex.errors import InvalidSetting
from infex.schedules.protocol import Family, a_horizon, a_round, an_order


@final
@dataclass(frozen=True, slots=True, repr=False)
class Listed(Family):
    """Explores in the rounds given, which rise strictly."""

    rounds: tuple[int, ...]

    @property
    def grows(self) -> bool:
        return False

    def explores(self, t: int) -> bool:
        place = bisect_left(self.rounds, a_round(t))
        return place < len(self.rounds) and self.rounds[place] == t

    def count(self, t: int) -> int:
        return bisect_right(self.rounds, a_horizon(t))

    def when(self, n: int) -> int | float:
        return self.rounds[n - 1] if an_order(n) <= len(self.rounds) else math.inf

    def __repr__(self) -> str:
        if not self.rounds:
            return "never()"
        if len(self.rounds) <= 8:
            return f"listed({list(self.rounds)})"
        shown = ", ".join(str(t) for t in self.rounds[:3])
        return f"listed([{shown}, ..., {self.rounds[-1]}]: {len(self.rounds)} rounds)"


def listed(rounds: Iterable[int]) -> Listed:
    """Explores in the rounds given, in any order; a round named twice explores once.

    >>> schedule = listed([30, 10, 20])
    >>> schedule.explores(20), schedule.count(25), schedule.when(3), schedule.when(4)
    (True, 2, 30, inf)
    """
    try:
        found = sorted({a_round(t) for t in rounds})
    except TypeError:
        raise InvalidSetting(f"rounds must be a collection of whole numbers, got {rounds!r}") from None
    return Listed(tuple(found))
