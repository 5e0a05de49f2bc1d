"""Schedules that stop for good."""

import math
from dataclasses import dataclass
from typing import final

from infex.checks import told, whole
from infex.schedules.protocol import Family, Schedule, a_horizon, a_round, an_order, chance, checked, is_drawn


@final
@dataclass(frozen=True, slots=True, repr=False)
class Budget(Family):
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

    def is_spent(self, t: int) -> bool:
        """Would round t explore, were the limit not reached?"""
        inner = self.schedule
        return (inner.explores(t) and inner.count(t) > self.limit) or (
            isinstance(inner, Budget) and inner.is_spent(t)
        )

    def count(self, t: int) -> int:
        return min(self.schedule.count(a_horizon(t)), self.limit)

    def when(self, n: int) -> int | float:
        return self.schedule.when(n) if an_order(n) <= self.limit else math.inf

    @property
    def drawn(self) -> bool:
        return is_drawn(self.schedule)

    def chance(self, t: int) -> float | None:
        return chance(self.schedule, t) if self.schedule.count(a_round(t) - 1) < self.limit else 0.0

    def __repr__(self) -> str:
        return f"budget({told(self.schedule)}, {self.limit})"
