"""How much was explored, what it cost, and what is owed: limits belong to the bandit, not to its policy."""

from __future__ import annotations

import math
import warnings
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any, NamedTuple, final

from infex.checks import callers_level, real, safe_repr, whole
from infex.errors import DamagedFile, FewExplorations, NotKept, OutOfReach
from infex.models.layout import Layout, PerArm
from infex.models.posterior import Spent
from infex.policies.base import Policy, policy_info
from infex.policies.choice import ScheduleStatus
from infex.policies.controls import Control, ControlledSchedule, Limited
from infex.schedules.base import BuiltinSchedule

REMEMBERED = 100_000  # rounds whose explorations are kept at least, for the windows of later policies
COUNTS = ("t", "planned", "done", "made_up", "owed", "dropped", "forgotten", "different", "changes")
MOST_ROUNDS = 10**15


class Exploration(NamedTuple):
    """How much was explored, and what it cost.

    `planned`: rounds so far in which exploration was due, by the schedules in force at the time; None
    if there was none. `done`: decisions that explored; `different` of them played another arm than
    the greedy one. `skipped`: rounds in which exploration was due and did not happen; of them `made_up`
    later did, `owed` still will, and `dropped` never will. `next_due`: the next round that is due, as far as
    is known. `cost`: the summed estimated loss of exploring (estimate of the greedy arm minus that of the
    arm played).

    Where a schedule was in force from the start, planned = done - made_up + skipped and skipped =
    made_up + owed + dropped.
    """

    planned: int | None
    done: int
    skipped: int
    made_up: int
    owed: int
    dropped: int
    different: int
    next_due: int | None
    cost: float


@final
class ExplorationAccount:
    """The totals of all rounds that were applied, whatever policy was in force.

    `changes` counts changes of arms or of the policy. Decisions up to round `stale_through` were taken before
    the last change of what is known. `noticed` counts decisions by the rules that it took to read their
    contexts. `recent` are the rounds and losses of the last explorations; up to round `forgotten` they are
    not kept one by one. Limits look `span` rounds back.
    """

    __slots__ = (
        "_spent",
        "changes",
        "cost",
        "different",
        "done",
        "dropped",
        "forgotten",
        "made_up",
        "noticed",
        "owed",
        "planned",
        "recent",
        "scheduled",
        "span",
        "stale_through",
        "t",
    )  # fmt: skip

    def __init__(self) -> None:
        self.t = self.changes = self.stale_through = self.planned = self.done = 0
        self.made_up = self.owed = self.dropped = self.different = self.forgotten = self.span = 0
        self.scheduled = False  # was a schedule ever in force?
        self.cost = 0.0
        self.noticed: Counter[str] = Counter()
        self.recent: deque[tuple[int, float]] = deque()
        self._spent: Spent | None = Spent()  # None since something changed

    def copy(self) -> ExplorationAccount:
        """The same, for another to change."""
        other = ExplorationAccount()
        for name in ExplorationAccount.__slots__:
            setattr(other, name, getattr(self, name))
        other.noticed, other.recent = self.noticed.copy(), self.recent.copy()
        return other

    def mark_stale(self) -> None:
        """Something was learnt or has changed: what is known now is not what earlier decisions rested on."""
        self.stale_through = self.t

    @property
    def spent(self) -> Spent:
        """What limits look at."""
        found = self._spent
        if found is None or found.whole_from <= self.t - self.span:  # rounds have gone by with nothing due
            whole_from = max(self.t - self.span, self.forgotten) + 1
            found = self._spent = Spent(
                self.done, self.cost, self.owed, self._window() if self.span else (), whole_from
            )
        return found

    def look_back(self, span: int) -> None:
        """From now on limits look so many rounds back."""
        if span > 0 and self.forgotten >= max(self.t - span + 2, 1):  # the first round of the next window
            raise NotKept(
                f"a window of {span} rounds reaches back beyond round {self.forgotten}, up to which "
                "explorations were not kept one by one"
            )
        self.span = span
        self._spent = None

    def apply(
        self, t: int, explored: bool, schedule_status: ScheduleStatus | None, loss: float, different: bool
    ) -> None:
        """One round, with the estimated loss of its exploration."""
        self.t = t
        if schedule_status is ScheduleStatus.REST:
            return
        if schedule_status is not None:
            self.scheduled = True
            self.planned += schedule_status is not ScheduleStatus.MADE_UP
        if schedule_status is ScheduleStatus.OWED:
            self.owed += 1
        elif schedule_status is ScheduleStatus.DROPPED:
            self.dropped += 1
        elif explored:
            self.done += 1
            self.cost += loss
            self.different += different
            if schedule_status is ScheduleStatus.MADE_UP:
                self.made_up += 1
                self.owed -= 1
            self.recent.append((t, loss))
            self._forget_old(t)
        self._spent = None

    def resume(
        self, last: int, explorations: list[tuple[int, float]], cost: float, different: int, scheduled: bool
    ) -> None:
        """Counts the rounds of a log up to its last: its explorations, with the loss of each."""
        changes = self.changes
        self.__init__()
        self.t = self.stale_through = last
        self.changes, self.scheduled, self.different = changes, scheduled, different
        self.done = len(explorations)
        self.planned = self.done if scheduled else 0
        self.cost = cost
        self.recent = deque(explorations)
        self._spent = None

    def exploration(self, next_due: int | None) -> Exploration:
        """All figures."""
        skipped = self.made_up + self.owed + self.dropped
        return Exploration(
            self.planned if self.scheduled else None, self.done, skipped, self.made_up, self.owed,
            self.dropped, self.different, next_due, self.cost,
        )  # fmt: skip

    def record(self) -> dict[str, Any]:
        """All of it as plain data."""
        counts = {name: getattr(self, name) for name in COUNTS}
        return counts | {
            "scheduled": self.scheduled,
            "cost": self.cost,
            "recent": [list(exploration) for exploration in self.recent],
            "noticed": dict(sorted(self.noticed.items())),
        }

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Takes the totals of a record, which must fit together."""
        counts = {name: whole(name, kept[name], least=0, error=DamagedFile) for name in COUNTS}
        recent = [
            (_count("round", t), real("loss", loss, least=0, error=DamagedFile)) for t, loss in kept["recent"]
        ]
        noticed = {str(rule): _count(rule, times) for rule, times in kept["noticed"].items()}
        rounds, t, done = [t for t, _ in recent], counts["t"], counts["done"]
        of_rounds = [counts[name] for name in COUNTS if name != "changes"]
        fits = (
            max(of_rounds) == t <= MOST_ROUNDS
            and done + counts["dropped"] + counts["owed"] <= t
            and max(counts["made_up"], counts["different"], len(rounds)) <= done
            and counts["planned"] <= done + counts["owed"] + counts["dropped"]
            and rounds == sorted(set(rounds))
            and all(counts["forgotten"] < each <= t for each in rounds)
            and all(0 < times <= MOST_ROUNDS for times in noticed.values())  # rows of logs count as well
            and isinstance(kept["scheduled"], bool)
        )
        if not fits:
            raise DamagedFile("the totals of its rounds do not fit together")
        for name, count in counts.items():
            setattr(self, name, count)
        self.stale_through, self.scheduled, self.recent = t, kept["scheduled"], deque(recent)
        self.cost, self.noticed = real("cost", kept["cost"], least=0, error=DamagedFile), Counter(noticed)
        self._spent = None

    def _forget_old(self, t: int) -> None:
        """Explorations that no window may look back at are not kept one by one."""
        recent = self.recent
        while recent[0][0] <= t - REMEMBERED and recent[0][0] <= t - self.span:
            self.forgotten = recent.popleft()[0]

    def _window(self) -> tuple[tuple[int, float], ...]:
        """The explorations that limits look back at."""
        first, window = self.t - self.span + 1, []
        for exploration in reversed(self.recent):
            if exploration[0] < first:
                break
            window.append(exploration)
        return tuple(reversed(window))


def _count(name: str, number: object) -> int:
    return whole(name, number, least=0, error=DamagedFile)


def warn_if_underexplored(policy: Policy, layout: Layout, horizon: object) -> None:
    """Warns of a schedule that stops, in `horizon` rounds or for good, before it has seen every parameter.

    An exploration tells of one direction, so that fewer than there are parameters leave some of them to what
    greedy rounds happen to play. A schedule that never explores is a decision, and not warned of.
    """
    most = None if horizon is None else whole("horizon", horizon, least=1)
    controlled_schedule, parameters = policy_info(policy).controlled_schedule, parameters_of(layout)
    if controlled_schedule is None or not isinstance(controlled_schedule.plan, BuiltinSchedule):
        return
    try:
        count = _explorations(controlled_schedule, parameters, most)
    except OutOfReach:
        return
    if 0 < count < parameters:
        rounds = "" if most is None else f" in {most} rounds"
        warnings.warn(
            f"{safe_repr(policy)} explores {count} times{rounds}, and {parameters} parameters are to be "
            "learnt: explore more often, or use fewer features, or features that arms share "
            "(infex.features.interactions).",
            FewExplorations,
            stacklevel=callers_level(),
        )


def parameters_of(layout: Layout) -> int:
    """How many parameters there are to learn; fixed arms that are fewer than their features span no more."""
    if isinstance(layout, PerArm):
        return layout.arms * layout.dim
    dim, count = layout.shape
    return int(min(dim, count) if count else dim)


def _explorations(controlled_schedule: ControlledSchedule, enough: int, horizon: int | None) -> int:
    """How many explorations there can be, up to `enough`."""
    last = math.inf if horizon is None else horizon
    limits = [limit for layer in controlled_schedule.controls if (limit := _limit(layer)) is not None]
    low, high = 0, min([enough, *limits])
    while low < high:
        middle = (low + high + 1) // 2
        when = controlled_schedule.plan.when(middle)
        low, high = (middle, high) if when < math.inf and when <= last else (low, middle - 1)
    return low


def _limit(layer: Control) -> int | None:
    """How many explorations a control lets happen in all, if it limits them."""
    return layer.limit if isinstance(layer, Limited) and layer.window is None else None
