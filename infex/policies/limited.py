"""So many explorations, and no more: for good, or in any so many rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final, overload

from infex.checks import told, whole
from infex.core.general import ControlKind
from infex.linear import Posterior
from infex.policies.choice import Reason
from infex.policies.form import ControlForm
from infex.policies.gate import Control, State
from infex.schedules.budgeting import Budget
from infex.schedules.protocol import Schedule


@final
@dataclass(frozen=True, slots=True, repr=False)
class Limited(Control):
    """`schedule`, but at most `limit` explorations in any `window` rounds, or in all without one."""

    schedule: Schedule | Control
    limit: int
    window: int | None = None

    plans = True

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        object.__setattr__(self, "limit", whole("limit", self.limit, least=0))
        if self.window is not None:
            object.__setattr__(self, "window", whole("window", self.window, least=1))

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        spent = posterior.spent
        done = spent.done if self.window is None else spent.since(t - self.window + 1)[0]
        return Reason.BUDGET_SPENT if done >= self.limit else None

    def earliest(self, t: int, posterior: Posterior) -> int:
        rounds = [at for at, _ in posterior.spent.recent]
        if self.window is None or self.limit == 0 or len(rounds) < self.limit:
            return t + 1
        return max(t + 1, rounds[-self.limit] + self.window)

    def ends(self, posterior: Posterior, state: State) -> bool:
        return self.limit == 0 or (self.window is None and posterior.spent.done >= self.limit)

    def compiled(self) -> ControlForm:
        return ControlForm(ControlKind.LIMITS, limit=self.limit, over=self.window or 0)

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window={self.window}"
        return f"budget({told(self.schedule)}, {self.limit}{window})"


@overload
def budget(schedule: Schedule, limit: int, window: None = None) -> Budget: ...


@overload
def budget(schedule: Schedule | Control, limit: int, window: int | None = None) -> Budget | Limited: ...


def budget(schedule: Schedule | Control, limit: int, window: int | None = None) -> Budget | Limited:
    """The first `limit` explorations of `schedule`, and none after them.

    In a bandit all its explorations count, under this policy or others. With a `window`, at most
    `limit` in any so many rounds in a row. Rounds that the limit leaves out were never due: they are
    neither planned nor skipped.

    >>> from infex import every
    >>> schedule = budget(every(20), limit=3)
    >>> schedule.when(3), schedule.when(4), schedule.count(10**12)
    (60, inf, 3)
    >>> budget(every(2), limit=5, window=100)
    budget(every(2), 5, window=100)
    """
    if window is None and not isinstance(schedule, Control):
        return Budget(schedule, limit)
    return Limited(schedule, limit, window)
