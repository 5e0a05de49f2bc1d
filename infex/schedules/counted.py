"""Schedules that follow a target for their count: t/(log t)^r, t^r, (log t)^r, or a user's own.

For a target g let G(t) = max over s <= t of floor(g(s) (1 + 1e-12)). The count follows G as
fast as one exploration a round allows: f(t) = min(f(t-1) + 1, G(t)). The slack of 1e-12 keeps
64^(1/3), which is below 4 in floating point, from coming a round late.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, final

from infex.checks import plain, real
from infex.errors import InvalidSetting
from infex.schedules.base import BuiltinSchedule, a_horizon, a_round, an_order, first_round_with

SLACK = 1.0 + 1e-12
BEYOND = 10**400
HEAD = 4096  # rounds of a user's target that are counted one by one


class Target(Protocol):
    """How many explorations are wanted up to round t."""

    def __call__(self, t: int, /) -> float:
        """The target g(t)."""


def floor_target(target: Target, t: int) -> int:
    """floor(g(t) (1 + 1e-12)), from 0 up; an infinite target is a very large one."""
    value = target(t) * SLACK
    if math.isnan(value):
        raise InvalidSetting(f"the target {target!r} gives NaN in round {t}")
    return BEYOND if value == math.inf else math.floor(max(value, 0.0))


@final
@dataclass(frozen=True, slots=True, repr=False)
class Counted(BuiltinSchedule):
    """Explores so that the count follows `target`.

    The first `head` rounds are counted one by one, for any target. Past them the count is
    min(G(t), f(head) + t - head), which is exact for a target that does not fall there and
    goes over from outrunning the clock (more than one exploration a round) to keeping behind
    it at most once; a round in which another target would rise by more is refused. All families
    are exact up to 2^53 rounds, the end of whole floats.
    """

    target: Target
    growth: bool | None
    head: int
    _counts: tuple[int, ...] = field(init=False, compare=False)
    _reached: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        counts = [0]
        reached = 0
        for t in range(1, self.head + 1):
            reached = max(reached, floor_target(self.target, t))
            counts.append(min(counts[-1] + 1, reached))
        object.__setattr__(self, "_counts", tuple(counts))
        object.__setattr__(self, "_reached", reached)

    @property
    def grows(self) -> bool | None:
        return self.growth

    def explores(self, t: int) -> bool:
        rise = self.count(a_round(t)) - self.count(t - 1)
        if rise > 1:
            raise InvalidSetting(
                f"{self!r} grows by {rise} in round {t}: past its start, 1 is the most it may"
            )
        return rise == 1

    def count(self, t: int) -> int:
        if a_horizon(t) <= self.head:
            return self._counts[t]
        wanted = max(self._reached, floor_target(self.target, t))
        return min(wanted, self._counts[-1] + t - self.head)

    def when(self, n: int) -> int | float:
        return first_round_with(self, an_order(n))

    def __repr__(self) -> str:
        return repr(self.target)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Stretched:
    """g(t) = t / max(log t, 1)^r."""

    r: float

    def __call__(self, t: int) -> float:
        try:
            return float(t / max(math.log(t), 1.0) ** self.r)
        except OverflowError:
            return 0.0

    def __repr__(self) -> str:
        return f"stretched({plain(self.r)})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Power:
    """g(t) = t^r."""

    r: float

    def __call__(self, t: int) -> float:
        return float(float(t) ** self.r)

    def __repr__(self) -> str:
        return f"power({plain(self.r)})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Logarithmic:
    """g(t) = (log t)^r."""

    r: float

    def __call__(self, t: int) -> float:
        try:
            return float(math.log(t) ** self.r)
        except OverflowError:
            return math.inf

    def __repr__(self) -> str:
        return f"logarithmic({plain(self.r)})"


NATIVE = 2**63  # past which NumPy's functions take no whole numbers


@final
@dataclass(frozen=True, slots=True, repr=False)
class FromCount:
    """g(t) is what a user's function says; very late rounds reach it as floating numbers."""

    function: Callable[[int], float]

    def __call__(self, t: int) -> float:
        try:
            return float(self.function(t if t < NATIVE else float(t)))  # type: ignore[arg-type]
        except (TypeError, ValueError, ArithmeticError) as error:
            raise InvalidSetting(f"{self!r} must give a number, but in round {t}: {error}") from error

    def __repr__(self) -> str:
        return f"from_count({getattr(self.function, '__name__', repr(self.function))})"


def stretched(r: float) -> Counted:
    """Explores t/(log t)^r times up to round t: periods that grow like (log t)^r, r >= 0.

    >>> schedule = stretched(1)
    >>> [schedule.when(n) for n in (1, 2, 3, 4)]
    [1, 2, 5, 9]
    >>> schedule.count(10_000)
    1085
    """
    return Counted(Stretched(real("r", r, least=0)), growth=True, head=16)


def power(r: float) -> Counted:
    """Explores t^r times up to round t, 0 < r <= 1.

    >>> power(0.5).count(10_000), power(1 / 3).when(4)
    (100, 64)
    """
    return Counted(Power(real("r", r, above=0, most=1)), growth=True, head=16)


def logarithmic(r: float) -> Counted:
    """Explores (log t)^r times up to round t, r > 0; enough for the regret bound only if r > 1.

    >>> logarithmic(3).count(10_000), logarithmic(3).grows, logarithmic(1).grows
    (781, True, False)
    """
    r = real("r", r, above=0)
    return Counted(Logarithmic(r), growth=r > 1, head=16)


def from_count(g: Callable[[int], float], *, grows: bool | None = None) -> Counted:
    """Explores so often that the count up to round t follows g(t), at most once a round.

    g may do anything in the first 4,096 rounds; after them it must not fall, and may go over
    from growing faster than the clock to growing slower at most once. Say `grows=True` if you
    know that g(t) is omega(log t), `False` if you know it is not.

    >>> schedule = from_count(lambda t: t ** 0.5 / 2)
    >>> [schedule.when(n) for n in (1, 2, 3)]
    [4, 16, 36]
    """
    if not callable(g):
        raise InvalidSetting(f"g must be a function of the round, got {g!r}")
    if grows is not None and not isinstance(grows, bool):
        raise InvalidSetting(f"grows must be True, False or None, got {grows!r}")
    target: Any = FromCount(g)
    return Counted(target, growth=grows, head=HEAD)
