"""Rounds at equal distances, jittered, or listed."""

import contextlib
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import final

import numpy as np

from infex.arrays import Integers
from infex.checks import whole
from infex.errors import InvalidSetting, OutOfReach
from infex.schedules.base import BuiltinSchedule, Schedule, a_horizon, a_round, an_order
from infex.streams import place


@final
@dataclass(frozen=True, slots=True, repr=False)
class Listed(BuiltinSchedule):
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


@final
@dataclass(frozen=True, slots=True, repr=False)
class Every(BuiltinSchedule):
    """Explores in the rounds t with t mod period = offset; with offset 0: period, 2 period, ..."""

    period: int
    offset: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", whole("period", self.period, least=1))
        object.__setattr__(self, "offset", whole("offset", self.offset))
        if not 0 <= self.offset < self.period:
            raise InvalidSetting(
                f"offset must be from 0 to {self.period - 1} for period {self.period}, got {self.offset}"
            )

    @property
    def first(self) -> int:
        """The first round that explores."""
        return self.offset or self.period

    @property
    def grows(self) -> bool:
        return True

    def explores(self, t: int) -> bool:
        return a_round(t) % self.period == self.offset

    def count(self, t: int) -> int:
        return max((a_horizon(t) - self.first) // self.period + 1, 0)

    def when(self, n: int) -> int:
        return self.first + (an_order(n) - 1) * self.period

    def __repr__(self) -> str:
        if self.period == 1:
            return "always()"
        return f"every({self.period}, offset={self.offset})" if self.offset else f"every({self.period})"


def intersection(a: Every, b: Every) -> Every | None:
    """The rounds that two periodic schedules share (again periodic), or None if they never meet."""
    step = gcd(a.period, b.period)
    apart = b.offset - a.offset
    if apart % step:
        return None
    period = a.period // step * b.period
    turns = apart // step * pow(a.period // step, -1, b.period // step) % (b.period // step)
    return Every(period, (a.offset + turns * a.period) % period)


def every(m: int, offset: int = 0) -> Every:
    """Explores in rounds m, 2m, 3m, ...; with an offset in rounds offset, offset + m, ...

    >>> [t for t in range(1, 13) if every(4).explores(t)]
    [4, 8, 12]
    >>> every(4, offset=1).when(3)
    9
    >>> every(20).count(10**12)
    50000000000
    """
    return Every(m, offset)


def always() -> Every:
    """Explores in every round: `Infex(base, always())` is the base itself.

    >>> always().count(7)
    7
    """
    return Every(1)


def never() -> Listed:
    """Explores in no round: `Infex(base, never())` is greedy.

    >>> never().count(10**12), never().when(1)
    (0, inf)
    """
    return Listed(())


@final
@dataclass(frozen=True, slots=True, repr=False)
class Jittered(BuiltinSchedule):
    """Explores in one round of each block of `period`, drawn uniformly."""

    period: int
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "period", whole("period", self.period, least=1))
        object.__setattr__(self, "seed", whole("seed", self.seed))

    @property
    def grows(self) -> bool:
        return True

    def explores(self, t: int) -> bool:
        return a_round(t) == self.when((t - 1) // self.period + 1)

    def count(self, t: int) -> int:
        blocks, rest = divmod(a_horizon(t), self.period)
        return blocks + (rest > 0 and self.when(blocks + 1) <= t)

    def when(self, n: int) -> int:
        block = an_order(n) - 1
        return block * self.period + 1 + place(self.seed, "jittered", self.period, block, size=self.period)

    @property
    def is_random(self) -> bool:
        return True

    def explore_probability(self, t: int) -> float:
        block, place = divmod(a_round(t) - 1, self.period)
        return 1.0 / (self.period - place) if self.when(block + 1) >= t else 0.0

    def __repr__(self) -> str:
        return f"jittered({self.period}, seed={self.seed})"


def jittered(m: int, seed: int = 0) -> Jittered:
    """Explores in one round of every m, drawn uniformly from each block of m.

    As many explorations as `every(m)`, but not in step with any season, and with known
    probabilities, for off-policy evaluation: each round explores with probability 1/m seen by
    itself; given the rounds before it, with 1/(rounds left in its block), and 0 once the block
    has explored. `Decision.propensity` is given the rounds before.

    >>> schedule = jittered(5, seed=1)
    >>> [sum(schedule.explores(t) for t in range(b, b + 5)) for b in (1, 6, 11)]
    [1, 1, 1]
    """
    return Jittered(m, seed)


SPARSE_ROUNDS = 8  # times as many rounds as are named: then these are found by their numbers


def rounds_between(schedule: Schedule, start: int, stop: int) -> Integers:
    """The exploring rounds from start to stop: by number where they are few, else one by one."""
    if isinstance(schedule, Every):
        first = schedule.when(schedule.count(start - 1) + 1)
        return np.arange(first, stop + 1, schedule.period, dtype=np.int64)
    found = _by_number(schedule, start, stop) if isinstance(schedule, BuiltinSchedule) else None
    return _one_by_one(schedule, start, stop) if found is None else found


def _by_number(schedule: Schedule, start: int, stop: int) -> Integers | None:
    with contextlib.suppress(OutOfReach):
        first, last = schedule.count(start - 1) + 1, schedule.count(stop)
        if SPARSE_ROUNDS * (last - first) < stop - start:
            found = np.array([schedule.when(n) for n in range(first, last + 1)], dtype=np.int64)
            if np.all(np.diff(found) > 0):  # else `explores` says what is wrong
                return found
    return None


def _one_by_one(schedule: Schedule, start: int, stop: int) -> Integers:
    return np.array([t for t in range(start, stop + 1) if schedule.explores(t)], dtype=np.int64)
