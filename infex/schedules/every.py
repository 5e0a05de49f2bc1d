"""Periodic schedules: every m-th round, all of them, none."""

from dataclasses import dataclass
from math import gcd
from typing import final

from infex.checks import whole
from infex.errors import InvalidSetting
from infex.schedules.listed import Listed
from infex.schedules.protocol import Family, a_horizon, a_round, an_order


@final
@dataclass(frozen=True, slots=True, repr=False)
class Every(Family):
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


def meeting(a: Every, b: Every) -> Every | None:
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
