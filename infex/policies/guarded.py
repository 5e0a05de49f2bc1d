"""Exploration until it has cost enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

from infex.checks import real, told, whole
from infex.core.general import ControlKind
from infex.linear import Posterior
from infex.policies.choice import Reason
from infex.policies.form import ControlForm
from infex.policies.gate import Control, State
from infex.schedules.protocol import Schedule


class GuardedState(NamedTuple):
    """Has it stopped for good?"""

    stopped: bool = False


@final
@dataclass(frozen=True, slots=True, repr=False)
class Guarded(Control):
    """`schedule` until the estimated loss of exploring adds up to `cost_limit`."""

    schedule: Schedule | Control
    cost_limit: float
    window: int | None = None

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        object.__setattr__(self, "cost_limit", real("cost_limit", self.cost_limit, least=0))
        if self.window is not None:
            object.__setattr__(self, "window", whole("window", self.window, least=1))

    def begin(self) -> State:
        return GuardedState()

    def ends(self, posterior: Posterior, state: State) -> bool:
        return GuardedState(*state).stopped

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        return Reason.COST_LIMIT if GuardedState(*state).stopped else None

    def refuses(self, t: int, loss: float, posterior: Posterior, state: State) -> str | None:
        spent = posterior.spent
        cost = spent.cost if self.window is None else spent.since(t - self.window + 1)[1]
        return Reason.COST_LIMIT if cost + loss > self.cost_limit else None

    def skipped(self, posterior: Posterior, state: State) -> State:
        return GuardedState(stopped=self.window is None)

    def compiled(self) -> ControlForm:
        return ControlForm(ControlKind.GUARDS, limit=self.cost_limit, over=self.window or 0)

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window={self.window}"
        return f"guarded({told(self.schedule)}, {self.cost_limit!r}{window})"


def guarded(schedule: Schedule | Control, cost_limit: float, window: int | None = None) -> Guarded:
    """`schedule`, stopped for good when the summed estimated loss of exploring would pass `cost_limit`.

    The loss of an exploring round is the estimate of the greedy arm, the best on offer, minus that of the
    arm it plays, as known at the decision, in the unit of the rewards. The round that would pass the
    limit does not explore, and none after it does: the sum never exceeds the limit, also with
    many rewards pending. It is that of all that the bandit has explored, under this policy or
    others. With a `window` the limit is for any so many rounds in a row, and nothing stops for good.

    >>> from infex import every
    >>> guarded(every(20), cost_limit=5.0)
    guarded(every(20), 5.0)
    """
    return Guarded(schedule, cost_limit, window)
