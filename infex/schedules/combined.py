"""Schedules made of schedules: unions and budgets."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from infex.checks import safe_repr, whole
from infex.errors import OutOfReach
from infex.schedules.base import (
    BuiltinSchedule,
    Schedule,
    a_horizon,
    a_round,
    an_order,
    checked,
    explore_probability,
    first_round_with,
    is_random,
)
from infex.schedules.periodic import Every, Jittered, intersection

ROUNDS_LISTED = 200_000  # rounds that are listed one by one


def periodic_count(members: tuple[Every, ...], t: int) -> int:
    """How many rounds up to t are in at least one periodic schedule, by inclusion and exclusion."""
    if not members:
        return 0
    first, rest = members[0], members[1:]
    shared = [meet for member in rest if (meet := intersection(first, member)) is not None]
    if first in shared:  # a later one covers it
        return periodic_count(rest, t)
    return first.count(t) + periodic_count(rest, t) - periodic_count(tuple(dict.fromkeys(shared)), t)


@final
class Extras:
    """The rounds of some schedules that periodic ones do not cover, listed as far as was asked."""

    __slots__ = ("_found", "_periodic", "_schedules")

    def __init__(self, schedules: tuple[Schedule, ...], periodic: tuple[Every, ...]) -> None:
        self._schedules = schedules
        self._periodic = periodic
        self._found: tuple[int, list[int]] = (0, [])  # up to which round, and what was found

    def count(self, t: int) -> int:
        """How many there are up to t."""
        known, rounds = self._found
        if t > known:
            reach = max(t, known + known // 8)  # else each step would copy the list
            rounds = rounds + sorted(set(self._between(known, reach)))
            self._found = (reach, rounds)
        return bisect_right(rounds, t)

    def _between(self, start: int, stop: int) -> Iterator[int]:
        for schedule in self._schedules:
            first, last = schedule.count(start) + 1, schedule.count(stop)
            if last > ROUNDS_LISTED:
                raise OutOfReach(
                    f"{safe_repr(schedule)} explores {last:,} times up to round {stop:,}: too many to join"
                )
            for n in range(first, last + 1):
                t = int(schedule.when(n))
                if not any(member.explores(t) for member in self._periodic):
                    yield t


def last_round(schedule: Schedule, n: int) -> int:
    """The round of the last exploration before the n-th, of which there is none."""
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if schedule.when(middle) < math.inf else (low, middle)
    return int(schedule.when(low)) if low else 0


@final
@dataclass(frozen=True, slots=True, repr=False)
class Union(BuiltinSchedule):
    """Explores when any of its members does.

    `explores` is as quick as theirs. `count` and `when` are exact; they are quick for periodic
    members, while the rounds that others add are listed one by one, once, as far as they are
    asked for. Past 200,000 of these they are refused by name (`OutOfReach`).
    """

    members: tuple[Schedule, ...]
    _periodic: tuple[Every, ...] = field(init=False, compare=False)
    _extras: Extras = field(init=False, compare=False)

    def __post_init__(self) -> None:
        periodic = tuple(member for member in self.members if isinstance(member, Every))
        others = tuple(member for member in self.members if not isinstance(member, Every))
        object.__setattr__(self, "_periodic", periodic)
        object.__setattr__(self, "_extras", Extras(others, periodic))

    @property
    def grows(self) -> bool | None:
        answers = {member.grows for member in self.members}
        return True if True in answers else None if None in answers else False

    def explores(self, t: int) -> bool:
        return any(member.explores(a_round(t)) for member in self.members)

    def count(self, t: int) -> int:
        return periodic_count(self._periodic, a_horizon(t)) + self._extras.count(t)

    def when(self, n: int) -> int | float:
        soonest = min(member.when(an_order(n)) for member in self.members)
        if soonest < math.inf:
            return first_round_with(self, n, int(soonest))
        last = max(last_round(member, n) for member in self.members)
        return first_round_with(self, n, last) if self.count(last) >= n else math.inf

    @property
    def is_random(self) -> bool:
        return any(is_random(member) for member in self.members)

    def explore_probability(self, t: int) -> float | None:
        drawn = [member for member in self.members if is_random(member)]
        if len(drawn) > 1 and not all(isinstance(member, Jittered) for member in drawn):
            return None  # draws of the same seed depend on each other
        shares = [explore_probability(member, t) for member in self.members]
        if 1.0 in shares:
            return 1.0
        total = 0.0
        for share in shares:
            if share is None:
                return None
            total += (1.0 - total) * share
        return total

    def __repr__(self) -> str:
        return " | ".join(safe_repr(member) for member in self.members)


def union(*schedules: Schedule) -> Schedule:
    """The schedule that explores when any of `schedules` does; `a | b` is the same.

    >>> from infex import every, listed
    >>> from infex.schedules import union
    >>> schedule = union(every(6), every(4), listed([5]))
    >>> schedule == every(6) | every(4) | listed([5])
    True
    >>> [schedule.when(n) for n in range(1, 7)]
    [4, 5, 6, 8, 12, 16]
    """
    members: list[Schedule] = []
    for schedule in schedules:
        for member in schedule.members if isinstance(schedule, Union) else (checked(schedule),):
            if member not in members:
                members.append(member)
    return members[0] if len(members) == 1 else Union(tuple(members))


@final
@dataclass(frozen=True, slots=True, repr=False)
class Budget(BuiltinSchedule):
    """The first `limit` explorations of `schedule`."""

    schedule: Schedule
    limit: int

    def __post_init__(self) -> None:
        checked(self.schedule)
        object.__setattr__(self, "limit", whole("limit", self.limit, least=0))

    @property
    def grows(self) -> bool:
        return False

    def explores(self, t: int) -> bool:
        return self.schedule.explores(a_round(t)) and self.schedule.count(t) <= self.limit

    def count(self, t: int) -> int:
        return min(self.schedule.count(a_horizon(t)), self.limit)

    def when(self, n: int) -> int | float:
        return self.schedule.when(n) if an_order(n) <= self.limit else math.inf

    @property
    def is_random(self) -> bool:
        return is_random(self.schedule)

    def explore_probability(self, t: int) -> float | None:
        return (
            explore_probability(self.schedule, t) if self.schedule.count(a_round(t) - 1) < self.limit else 0.0
        )

    def __repr__(self) -> str:
        return f"budget({safe_repr(self.schedule)}, {self.limit})"
