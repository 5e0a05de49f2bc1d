"""What a schedule is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, cast, runtime_checkable

from infex.checks import real, safe_repr, whole
from infex.errors import InvalidRound, InvalidSetting


@runtime_checkable
class Schedule(Protocol):
    """A set T_e of rounds 1, 2, ..., with f(t) = |T_e up to t| and its inverse.

    A schedule of your own needs `explores` alone to steer `Infex`; `count` too where `Infex`
    keeps the base's data apart, and all four to join built-in ones by `|` or `budget`, or others
    by `union`.
    """

    @property
    def grows(self) -> bool | None:
        """Is f(t) = omega(log t), as the regret bound asks? None where that is not known."""
        return None

    def explores(self, t: int) -> bool:
        """Does the base decide in round t?"""
        raise NotImplementedError

    def count(self, t: int) -> int:
        """f(t): how many rounds of 1, ..., t explore; count(0) is 0."""
        raise NotImplementedError

    def when(self, n: int) -> int | float:
        """The round of the n-th exploration; `math.inf` if there is none, or none before 1e300."""
        raise NotImplementedError


class BuiltinSchedule:
    """What the built-in schedules share: they join by `|`, and know the probability of exploring.

    Not an abstract class, as `isinstance` takes half a microsecond for these.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        if BuiltinSchedule not in cls.__bases__:
            raise TypeError(
                f"{cls.__name__} cannot refine a built-in schedule: loops would not call what it overrides; "
                "write a schedule of your own, which inherits infex.Schedule"
            )

    def explores(self, t: int) -> bool:
        """Does the base decide in round t?"""
        raise NotImplementedError

    @property
    def is_random(self) -> bool:
        """Are its rounds drawn at random?"""
        return False

    def explore_probability(self, t: int) -> float | None:
        """The probability that round t explores, given the rounds before it; None if not known."""
        return 1.0 if self.explores(t) else 0.0

    def __or__(self, other: Schedule) -> Schedule:
        """The schedule that explores when either does."""
        from infex.schedules.combined import union

        return union(self, other)  # type: ignore[arg-type]

    def __ror__(self, other: Schedule) -> Schedule:
        """The same, for a schedule of your own on the left."""
        from infex.schedules.combined import union

        return union(other, self)  # type: ignore[arg-type]


def has(schedule: object, verb: str) -> bool:
    """Does a schedule have this method itself, and not only from `Schedule`?"""
    own = getattr(type(schedule), verb, None)
    return hasattr(schedule, verb) and (verb == "grows" or own is not getattr(Schedule, verb))


def checked(schedule: object) -> Schedule:
    """`schedule`, if it has the four methods of a schedule."""
    missing = [verb for verb in ("explores", "count", "when", "grows") if not has(schedule, verb)]
    if missing and any("objects" in vars(kind) for kind in type(schedule).__mro__):
        raise InvalidSetting(
            f"a control such as {type(schedule).__name__} cannot stand inside a schedule: put it around "
            "the whole"
        )
    if missing:
        raise InvalidSetting(
            f"a schedule needs {', '.join(missing)}, which {safe_repr(schedule)} does not have"
        )
    return cast(Schedule, schedule)


def a_round(t: int) -> int:
    """`t` as the number of a round, from 1."""
    if type(t) is int and t >= 1:  # in every round: no call
        return t
    return whole("round", t, least=1, error=InvalidRound)


def a_horizon(t: int) -> int:
    """`t` as a number of rounds, from 0."""
    return whole("number of rounds", t, least=0, error=InvalidRound)


def an_order(n: int) -> int:
    """`n` as the number of an exploration, from 1."""
    return whole("number of the exploration", n, least=1, error=InvalidRound)


def explore_probability(schedule: Schedule, t: int) -> float | None:
    """The probability that round t explores, also for a user's schedule without a method that tells it."""
    if isinstance(schedule, BuiltinSchedule):
        return schedule.explore_probability(t)
    tells = _own_probability(schedule)
    if tells is not None:
        told = tells(t)
        return None if told is None else real(f"explore_probability of round {t}", told, least=0, most=1)
    return 1.0 if schedule.explores(t) else 0.0


def is_random(schedule: Schedule) -> bool:
    """Are the rounds of a schedule drawn at random, so that `explore_probability` is between 0 and 1?"""
    return (
        schedule.is_random
        if isinstance(schedule, BuiltinSchedule)
        else _own_probability(schedule) is not None
    )


def _own_probability(schedule: Schedule) -> Callable[[int], float | None] | None:
    """The method of a user's schedule that tells probabilities, if it has one."""
    tells = getattr(schedule, "explore_probability", None)
    return tells if callable(tells) else None


def first_round_with(schedule: Schedule, n: int, high: int | None = None) -> int | float:
    """The smallest t with count(t) >= n, by halving; `high`, if given, is known to be late enough.

    Without it the end is found by doubling, and `math.inf` comes out past 1e300 rounds.
    """
    low = n - 1
    if high is None:
        high = n
        while schedule.count(high) < n:
            low, high = high, 2 * high
            if high > 10**300:
                return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if schedule.count(middle) >= n else (middle, high)
    return high
