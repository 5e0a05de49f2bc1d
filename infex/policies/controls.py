"""Which rounds explore: a schedule and the controls around it, which may keep a round from exploring."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, final, overload

from infex.checks import one_of, optional, real, safe_repr, set_fields, whole
from infex.core.controls import ControlKind
from infex.errors import InvalidChoice, InvalidSetting, OutOfReach
from infex.models.posterior import Posterior
from infex.policies.base import no_arm_allowed
from infex.policies.choice import Reason, ScheduleStatus
from infex.policies.compiled import ControlSpec, ControlsSpec
from infex.schedules.base import BuiltinSchedule, Schedule, checked, explore_probability, has, is_random
from infex.schedules.combined import Budget, Union
from infex.schedules.periodic import Listed, never

State = tuple[Any, ...]  # of numbers and texts
Missed = Literal["drop", "make up"]


class Control:
    """A schedule around another, which may keep a round that is due from exploring.

    A control of your own is a frozen dataclass that inherits from this one and has a `schedule`. It says in
    `objects` or `refuses` when a round may not explore: the text they give is the `reason` of the decision.
    What it must remember is its `state`, a NamedTuple of numbers and texts, which `initial_state`,
    `after_skip` and `after_exploring` return; leave them out, and it is empty. No method changes anything.
    Its rounds depend on the run, so it has no `count` and `when` of its own; `planned` has.

    >>> from dataclasses import dataclass
    >>> from infex import Infex, LinUCB, every
    >>> @dataclass(frozen=True)
    ... class NotOnSundays(Control):
    ...     schedule: Schedule
    ...     def objects(self, t, posterior, state):
    ...         return "a Sunday" if t % 7 == 0 else None
    >>> policy = Infex(LinUCB(), NotOnSundays(every(2)))
    """

    __slots__ = ()

    schedule: Schedule | Control
    missed: Missed = "drop"
    """What becomes of an exploration that it keeps from happening."""
    plans: ClassVar[bool] = False
    """Does it say which rounds are planned? Then one that it keeps from exploring was never due."""
    stays_due: ClassVar[bool] = False
    """Is what it plans due until it happens? Then there is nothing that could be made up for."""

    def __post_init__(self) -> None:
        if not isinstance(self.schedule, Control):
            checked(self.schedule)
            return
        controls: list[Control] = [self]
        while isinstance(inner := controls[-1].schedule, Control):
            controls.append(inner)
        staying = next((control for control in controls if control.stays_due), None)
        if staying is not None and any(control.missed == "make up" for control in controls):
            raise InvalidSetting(
                f"{safe_repr(staying)} explores in the next round that may, so there is nothing to make up "
                'for: leave catching_up out, or say missed="drop"'
            )

    @property
    def planned(self) -> Schedule:
        """The schedule inside, without any control."""
        inner = self.schedule
        return inner.planned if isinstance(inner, Control) else inner

    @property
    def grows(self) -> bool | None:
        """Nothing is known: the paper's threshold speaks of schedules that do not look at data."""
        return None

    @property
    def window(self) -> int | None:
        """Over how many rounds it counts what was spent; None if it does not, or over all of them."""
        return None

    @property
    def spacing(self) -> int:
        """How many rounds after an exploration the next one may be made up for, at the earliest."""
        return 1

    @property
    def drawn(self) -> bool:
        """Are the rounds it objects to drawn at random? Then the chance of exploring is not known."""
        return False

    def explores(self, t: int) -> bool:
        """Is exploration planned in round t? What is known decides on top of it."""
        return self.planned.explores(t)

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        """Why round t may not explore; None if it may."""
        return None

    def refuses(self, t: int, arm: int, posterior: Posterior, state: State) -> str | None:
        """Why an arm may not be tried, such as for its `posterior.loss(arm)`; None if it may."""
        return None

    def ends(self, posterior: Posterior, state: State) -> bool:
        """Has exploration stopped for good, as far as is known now?"""
        return False

    def earliest(self, t: int, posterior: Posterior) -> int:
        """The first round after t to which it will not object for what was spent, as far as is known now."""
        return t + 1

    def initial_state(self) -> State:
        """Its state before the first round."""
        return ()

    def after_skip(self, posterior: Posterior, state: State) -> State:
        """Its state after it has kept a round from exploring that was due, or owed.

        One that `plans` is asked in rounds of the schedule inside alone, whatever kept them from exploring.
        """
        return state

    def after_exploring(self, arm: int, posterior: Posterior, state: State) -> State:
        """Its state after a round that explored by an arm."""
        return state

    def compiled(self) -> ControlSpec | None:
        """How a compiled loop plays a built-in control; None if only Python can."""
        return None


class RoundVerdict(NamedTuple):
    """Does a round explore, what becomes of its exploration, why, and which control objects, by its index?"""

    explores: bool
    schedule_status: ScheduleStatus
    reason: str
    control: int | None = None

    @property
    def due(self) -> bool:
        """Was exploration due?"""
        return self.schedule_status not in (ScheduleStatus.REST, ScheduleStatus.MADE_UP)


DUE = RoundVerdict(True, ScheduleStatus.DUE, Reason.SCHEDULED)
MADE_UP = RoundVerdict(True, ScheduleStatus.MADE_UP, Reason.MADE_UP)
REST = RoundVerdict(False, ScheduleStatus.REST, Reason.GREEDY)

States = tuple[State, ...]


@final
class ControlledSchedule:
    """A schedule with the controls around it, the inner ones first: which rounds explore, and why not.

    `plan` is the schedule inside. `drawn`: are rounds drawn at random? `refuses_arms`: can a control refuse
    an arm for its cost? `lookback`: over how many rounds do controls count what was spent?
    """

    __slots__ = (
        "_empty", "_hides_chance", "_order", "controls", "drawn", "lookback", "plan", "refuses_arms",
        "spacing",
    )  # fmt: skip

    def __init__(self, schedule: Schedule | Control) -> None:
        controls: list[Control] = []
        while isinstance(schedule, Control | Budget):
            if isinstance(schedule, Budget):  # in a bandit all its explorations count, under any policy
                schedule = Limited(schedule.schedule, schedule.limit)
            controls.append(schedule)
            schedule = schedule.schedule
        self.plan, self.controls = schedule, tuple(reversed(controls))
        self._hides_chance = any(control.drawn for control in self.controls)
        self.drawn = is_random(self.plan) or self._hides_chance
        self.refuses_arms = any(type(control).refuses is not Control.refuses for control in self.controls)
        self.spacing = max((control.spacing for control in self.controls), default=1)
        # first of all those that say which rounds are due
        self._order = sorted(range(len(self.controls)), key=lambda place: not self.controls[place].plans)
        self._empty = isinstance(self.plan, BuiltinSchedule) and math.isinf(self.plan.when(1))
        windows = [control.window for control in self.controls if control.window is not None]
        self.lookback = max([self.spacing if self.spacing > 1 else 0, *windows])

    def parts(self) -> Iterator[object]:
        """The schedule and the controls, and all schedules that these hold."""
        held: list[object] = [self.plan, *self.controls]
        while held:
            part = held.pop()
            yield part
            if isinstance(part, Union):
                held += part.members
            elif isinstance(part, Budget):
                held.append(part.schedule)

    def initial_states(self) -> States:
        """The states of all controls before the first round."""
        return tuple(control.initial_state() for control in self.controls)

    def judge(self, t: int, posterior: Posterior, states: States) -> RoundVerdict:
        """Does round t explore, and why, or why not?"""
        due = self.plan.explores(t)
        if not due and not (posterior.spent.owed and self._may_make_up(t, posterior)):
            return REST
        for place in self._order:
            control = self.controls[place]
            if reason := control.objects(t, posterior, states[place]):
                _check_reason(control, "objects", reason)
                if control.plans:  # then it was never due
                    told = (reason, place) if due else (Reason.GREEDY, None)
                    return RoundVerdict(False, ScheduleStatus.REST, *told)
                return self._skipped(due, reason, place)
        if not posterior.may_explore:
            return self._skipped(due, Reason.FORBIDDEN)
        if no_arm_allowed(posterior):
            return self._skipped(due, Reason.NO_ARM_ALLOWED)
        return DUE if due else MADE_UP

    def judge_arm(
        self, verdict: RoundVerdict, t: int, arm: int, posterior: Posterior, states: States
    ) -> RoundVerdict:
        """The verdict on a round that explores once its arm is known."""
        if self.refuses_arms:
            for place, control in enumerate(self.controls):
                if reason := control.refuses(t, arm, posterior, states[place]):
                    _check_reason(control, "refuses", reason)
                    return self._skipped(verdict.due, reason, place)
        return verdict

    def _skipped(self, due: bool, reason: str, control: int | None = None) -> RoundVerdict:
        """A round that does not explore: if it was due, it is owed from now on, or dropped."""
        if not due:
            return RoundVerdict(False, ScheduleStatus.REST, Reason.GREEDY, control)
        asked = self.controls if control is None else (self.controls[control],)
        owed = any(each.missed == "make up" for each in asked)
        return RoundVerdict(False, ScheduleStatus.OWED if owed else ScheduleStatus.DROPPED, reason, control)

    def explore_probability(
        self, verdict: RoundVerdict, t: int, posterior: Posterior, states: States
    ) -> float | None:
        """The probability that round t explores, given all before it and that no arm is refused."""
        if not posterior.may_explore:
            return 0.0
        if self._hides_chance:
            resting = verdict.schedule_status is ScheduleStatus.REST and not is_random(self.plan)
            return 0.0 if resting else None
        if not self.drawn or verdict.explores != verdict.due:
            return 1.0 if verdict.explores else 0.0
        if verdict.explores and posterior.spent.owed and self._may_make_up(t, posterior):
            return 1.0  # due or not, this round would explore
        if no_arm_allowed(posterior) or any(
            control.objects(t, posterior, state) for control, state in zip(self.controls, states, strict=True)
        ):
            return 0.0
        return explore_probability(self.plan, t)

    def after_skip(self, verdict: RoundVerdict, posterior: Posterior, states: States) -> States:
        """The states after a round that did not explore, by a control that objects or for another reason."""
        found = list(states)
        for place, control in enumerate(self.controls):
            if place == verdict.control or (control.plans and verdict.due):
                found[place] = control.after_skip(posterior, states[place])
        return states if all(map(operator.is_, found, states)) else tuple(found)

    def after_exploring(self, arm: int, posterior: Posterior, states: States) -> States:
        """The states after a round that explored."""
        pairs = zip(self.controls, states, strict=True)
        return tuple(control.after_exploring(arm, posterior, state) for control, state in pairs)

    def rests_after(self, t: int) -> float:
        """How many rounds after t surely do not explore; 0 where draws or controls decide."""
        if self.controls or self.drawn or not isinstance(self.plan, BuiltinSchedule):
            return 0
        try:
            return self.plan.when(self.plan.count(t) + 1) - t - 1
        except OutOfReach:  # a union that is too dense to be counted
            return 0

    def next_due(self, t: int, posterior: Posterior, states: States) -> int | None:
        """The first round after t in which exploration is due, as far as is known now."""
        pairs = zip(self.controls, states, strict=True)
        if any(control.ends(posterior, state) for control, state in pairs):
            return None
        if posterior.spent.owed and self._may_make_up(t + 1, posterior):
            return t + 1
        first = max([t + 1, *(control.earliest(t, posterior) for control in self.controls)])
        due = min(self._planned_from(first), self._made_up_from(posterior))
        return None if math.isinf(due) else int(due)

    def compiled(self) -> ControlsSpec | None:
        """How a compiled loop plays the controls; None if one of them needs Python."""
        found: list[ControlSpec] = []
        for control in self.controls:  # a subclass of a built-in one may judge otherwise
            row = control.compiled() if "compiled" in vars(type(control)) else None
            if row is None:
                return None
            found.append(row)
        return ControlsSpec(tuple(found), self.spacing, self.lookback)

    def _planned_from(self, first: int) -> float:
        """The first round of the plan from `first` on; inf if there is none, or it cannot be told."""
        if not (has(self.plan, "count") and has(self.plan, "when")):
            return math.inf
        try:
            return self.plan.when(self.plan.count(first - 1) + 1)
        except OutOfReach:  # of a union that is too dense to be counted: the bandit plays on all the same
            return math.inf

    def _made_up_from(self, posterior: Posterior) -> float:
        """The first round that may make up for what is owed, if none explores before; inf if none may."""
        spent = posterior.spent
        waits = spent.owed and spent.recent and not self._empty
        return spent.recent[-1][0] + self.spacing if waits else math.inf

    def _may_make_up(self, t: int, posterior: Posterior) -> bool:
        if self._empty:  # as `never` has no rounds at all
            return False
        return self.spacing == 1 or posterior.spent.since(t - self.spacing + 1)[0] == 0


def _check_reason(control: Control, method: str, reason: object) -> None:
    if not isinstance(reason, str):
        raise InvalidChoice(
            f"{type(control).__name__}.{method} must give the reason as a text, or None; got {reason!r}"
        )


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
        set_fields(self, cost_limit=real("cost_limit", self.cost_limit, least=0))
        set_fields(self, window=optional(whole, "window", self.window, least=1))

    def initial_state(self) -> State:
        return GuardedState()

    def ends(self, posterior: Posterior, state: State) -> bool:
        return GuardedState(*state).stopped

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        return Reason.COST_LIMIT if GuardedState(*state).stopped else None

    def refuses(self, t: int, arm: int, posterior: Posterior, state: State) -> str | None:
        spent = posterior.spent
        cost = spent.cost if self.window is None else spent.since(t - self.window + 1)[1]
        return Reason.COST_LIMIT if cost + posterior.loss(arm) > self.cost_limit else None

    def after_skip(self, posterior: Posterior, state: State) -> State:
        return GuardedState(stopped=self.window is None)

    def compiled(self) -> ControlSpec:
        return ControlSpec(ControlKind.GUARDS, limit=self.cost_limit, over=self.window or 0)

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window={self.window}"
        return f"guarded({safe_repr(self.schedule)}, {self.cost_limit!r}{window})"


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
        set_fields(self, limit=whole("limit", self.limit, least=0))
        set_fields(self, window=optional(whole, "window", self.window, least=1))

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

    def compiled(self) -> ControlSpec:
        return ControlSpec(ControlKind.LIMITS, limit=self.limit, over=self.window or 0)

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window={self.window}"
        return f"budget({safe_repr(self.schedule)}, {self.limit}{window})"


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


LEAST_SHARE = 1e-12  # of rounds that make up: more rounds between them than anybody plays


@final
@dataclass(frozen=True, slots=True, repr=False)
class Paused(Control):
    """`schedule`, but not in rounds that `when` forbids."""

    schedule: Schedule | Control
    when: Callable[[int], bool] | Schedule
    missed: Missed = "drop"
    at_most: float = 1.0

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        if not self.by_rounds and not callable(self.when):
            raise InvalidSetting(
                f"when must be a function of the round, or a schedule, got {safe_repr(self.when)}"
            )
        one_of("missed", self.missed, ("drop", "make up"))
        set_fields(self, at_most=_share(self.at_most))

    @property
    def by_rounds(self) -> bool:
        """Are the pauses the rounds of a schedule, which a file can hold?"""
        return isinstance(self.when, Schedule)

    @property
    def catches_up(self) -> bool:
        """Does it never pause, and make up for what requests forbid?"""
        return isinstance(self.when, Listed) and not self.when.rounds and self.missed == "make up"

    @property
    def drawn(self) -> bool:
        return isinstance(self.when, Schedule) and is_random(self.when)

    @property
    def spacing(self) -> int:
        return math.ceil(1.0 / self.at_most) if self.missed == "make up" else 1

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        pauses = self.when.explores(t) if isinstance(self.when, Schedule) else self.when(t)
        return Reason.PAUSED if pauses else None

    def compiled(self) -> ControlSpec | None:
        if not isinstance(self.when, Schedule):
            return None
        return ControlSpec(ControlKind.PAUSES, makes_up=self.missed == "make up", pauses=self.when)

    def __repr__(self) -> str:
        spread = "" if self.at_most == 1.0 else f", at_most={self.at_most!r}"
        if self.catches_up:
            return f"catching_up({safe_repr(self.schedule)}{spread})"
        return f"paused({safe_repr(self.schedule)}, {safe_repr(self.when)}, missed={self.missed!r}{spread})"


def _share(at_most: object) -> float:
    return real("at_most", real("at_most", at_most, above=0, most=1), least=LEAST_SHARE)


def paused(
    schedule: Schedule | Control,
    when: Callable[[int], bool] | Schedule,
    missed: Missed = "drop",
    at_most: float = 1.0,
) -> Paused:
    """`schedule`, but no exploring in rounds for which `when(t)` is true.

    Explorations that fall into a pause are dropped, or with `missed="make up"` made up for in the
    first rounds after it that are not due themselves; so are those for which no arm is allowed, and those
    that a request forbids (`ask(explore=False)`).
    `at_most` is the share of rounds that may make up: with 0.1, one is made up for ten rounds after
    the exploration before it, at the earliest. All are counted (`bandit.exploration()`). `when` may
    be asked more than once in a round: it must say the same. It may also be a schedule, whose rounds
    are the pauses: `paused(every(20), when=listed(range(100, 200)))`, which a file can hold.

    >>> from infex import every
    >>> schedule = paused(every(2), when=lambda t: t <= 10, missed="make up")
    >>> schedule.explores(4)
    True
    """
    return Paused(schedule, when, missed, at_most)


def catching_up(schedule: Schedule | Control, at_most: float = 1.0) -> Paused:
    """`schedule`, whose explorations are made up for where a request forbids them: 2 % stays 2 %.

    An exploration that is due in a round with `ask(explore=False)`, or in which no arm is allowed, takes
    place in the first round after it that is not due itself and may explore. What a limit or a pause keeps
    from happening is not made up for. `at_most` is the share of rounds that may make up, as in `paused`. It
    is `paused(schedule, when=never(), missed="make up")` by a short name. A `ledger` is refused: it explores
    in the next round that may by itself.

    >>> from infex import Bandit, Infex, LinUCB, every
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Infex(LinUCB(), catching_up(every(2))))
    >>> [bandit.ask(explore=t != 2).explored for t in range(1, 5)]
    [False, False, True, True]
    """
    return Paused(schedule, never(), "make up", at_most)
