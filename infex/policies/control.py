"""Exploration under control: schedules that look at what is known before they let a round explore.

`Infex` follows them. What they remember (cost so far, rounds owed) is part of its note, so it is
kept at the decision, not at the reward: no limit is exceeded however many rewards are pending.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex.checks import one_of, real
from infex.errors import InvalidSetting
from infex.linear import Evidence
from infex.policies.confidence import Confidence
from infex.policies.greedy import GREEDY
from infex.policies.protocol import Choice, noted, probability
from infex.schedules.budget import Budget
from infex.schedules.protocol import Schedule, checked, is_drawn

SCHEDULED, GREEDILY, MADE_UP = "scheduled", "greedy", "made up for a skipped round"
SKIPPED = "skipped: "
NO_ARM_ALLOWED, BUDGET_SPENT = f"{SKIPPED}no arm is allowed", "budget spent"
COST_REACHED, CERTAIN, PAUSED = f"{SKIPPED}cost limit", f"{SKIPPED}certain", f"{SKIPPED}paused"

State = tuple[float, ...]


class Control(ABC):
    """A schedule around another, which may keep a round that is due from exploring.

    Its rounds depend on the run, so it has no `count` and `when` of its own; `planned` has.
    """

    __slots__ = ()

    schedule: Any  # a Schedule, or a Control of one
    begin: State = ()

    def __post_init__(self) -> None:
        if not isinstance(self.schedule, Control):
            checked(self.schedule)

    @property
    def planned(self) -> Schedule:
        """The schedule inside, without any control."""
        inner: Any = self.schedule
        return inner.planned if isinstance(inner, Control) else inner

    @property
    def grows(self) -> bool | None:
        """Nothing is known: the paper's threshold speaks of schedules that do not look at data."""
        return None

    @property
    def layers(self) -> tuple[Control, ...]:
        """All controls, the inner ones first."""
        inner = self.schedule.layers if isinstance(self.schedule, Control) else ()
        return (*inner, self)

    def explores(self, t: int) -> bool:
        """Is exploration due in round t, as planned? What is known decides on top of it."""
        return self.planned.explores(t)

    def owes(self, state: State) -> bool:
        """Is an exploration still to be made up for?"""
        return False

    def ends(self, state: State) -> bool:
        """Has exploration stopped for good?"""
        return False

    @abstractmethod
    def objection(self, t: int, evidence: Evidence, state: State) -> str | None:
        """Why round t may not explore, if it may not."""

    def refusal(self, loss: float, state: State) -> str | None:
        """Why an arm with that estimated loss may not be tried, if it may not."""
        return None

    def after(self, state: State, outcome: str, loss: float, evidence: Evidence) -> State:
        """The state after a round in which exploration was due or owed, by its reason."""
        return state


@final
@dataclass(frozen=True, slots=True, repr=False)
class Guarded(Control):
    """`schedule` until the estimated loss of exploring adds up to `cost_limit`."""

    schedule: Any
    cost_limit: float

    begin = (0.0, 0.0)  # spent, and 1 once it has stopped

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        object.__setattr__(self, "cost_limit", real("cost_limit", self.cost_limit, least=0))

    def ends(self, state: State) -> bool:
        return state[1] > 0.0

    def objection(self, t: int, evidence: Evidence, state: State) -> str | None:
        return COST_REACHED if self.ends(state) else None

    def refusal(self, loss: float, state: State) -> str | None:
        return COST_REACHED if state[0] + loss > self.cost_limit else None

    def after(self, state: State, outcome: str, loss: float, evidence: Evidence) -> State:
        if outcome == COST_REACHED:
            return state[0], 1.0
        return state if outcome.startswith(SKIPPED) else (state[0] + loss, state[1])

    def __repr__(self) -> str:
        return f"guarded({self.schedule!r}, {self.cost_limit!r})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class UntilCertain(Control):
    """`schedule` until the greedy arm's lower bound exceeds every other arm's upper bound."""

    schedule: Any
    delta: float = 0.01
    noise: float = 1.0
    bound: float = 1.0
    scale: float = 1.0

    begin = (0.0,)  # how many fixed arms there were when it stopped; 0 before

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        self._confidence()

    def ends(self, state: State) -> bool:
        return state[0] > 0.0

    def objection(self, t: int, evidence: Evidence, state: State) -> str | None:
        stopped = evidence.lasting and state[0] == len(evidence)
        return CERTAIN if stopped or self._is_certain(evidence) else None

    def after(self, state: State, outcome: str, loss: float, evidence: Evidence) -> State:
        return (float(len(evidence)),) if outcome == CERTAIN and evidence.lasting else state

    def _is_certain(self, evidence: Evidence) -> bool:
        beta = self._confidence().radius(evidence)
        uppers = np.array(evidence.upper(beta))
        best = evidence.greedy
        uppers[best] = -math.inf
        return bool(evidence.estimate(best) - beta * evidence.width(best) > uppers.max())

    def _confidence(self) -> Confidence:
        return Confidence(delta=self.delta, noise=self.noise, bound=self.bound, scale=self.scale)

    def __repr__(self) -> str:
        plain = UntilCertain(self.schedule)
        names = ("delta", "noise", "bound", "scale")
        given = [
            f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) != getattr(plain, name)
        ]
        return f"until_certain({', '.join([repr(self.schedule), *given])})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class Paused(Control):
    """`schedule`, but not in rounds that `when` forbids."""

    schedule: Any
    when: Callable[[int], bool]
    missed: Literal["drop", "make up"] = "drop"

    begin = (0.0,)  # rounds owed

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        if not callable(self.when):
            raise InvalidSetting(f"when must be a function of the round, got {self.when!r}")
        one_of("missed", self.missed, ("drop", "make up"))

    def owes(self, state: State) -> bool:
        return state[0] > 0.0

    def objection(self, t: int, evidence: Evidence, state: State) -> str | None:
        return PAUSED if self.when(t) else None

    def after(self, state: State, outcome: str, loss: float, evidence: Evidence) -> State:
        if outcome == PAUSED and self.missed == "make up":
            return (state[0] + 1.0,)
        return (state[0] - 1.0,) if outcome == MADE_UP else state

    def __repr__(self) -> str:
        return f"paused({self.schedule!r}, {self.when!r}, missed={self.missed!r})"


def guarded(schedule: Schedule | Control, cost_limit: float) -> Guarded:
    """`schedule`, stopped for good when the summed estimated loss of exploring would pass `cost_limit`.

    The loss of an exploring round is the estimate of the greedy arm minus that of the arm it
    plays, as known at the decision, in the unit of the rewards. The round that would pass the
    limit does not explore, and none after it does: the sum never exceeds the limit, also with
    many rewards pending.

    >>> from infex import every
    >>> guarded(every(20), cost_limit=5.0)
    guarded(every(20), 5.0)
    """
    return Guarded(schedule, cost_limit)


def until_certain(
    schedule: Schedule | Control,
    delta: float = 0.01,
    *,
    noise: float = 1.0,
    bound: float = 1.0,
    scale: float = 1.0,
) -> UntilCertain:
    """`schedule` until the greedy arm's lower bound exceeds every other arm's upper bound.

    The bounds are those of `LinUCB` with these settings: with probability 1 - `delta` the greedy
    arm then is the best. Among fixed arms exploring has stopped for good, unless arms come or go;
    arms that change every round are judged in each round that is due.

    Such a schedule depends on the data, so it is outside the threshold of the paper: the regret
    bound of INFEX and its omega(log t) speak of schedules fixed beforehand (Lee and Oh, 2025).

    >>> from infex import every
    >>> until_certain(every(20), delta=0.001)
    until_certain(every(20), delta=0.001)
    """
    return UntilCertain(schedule, delta, noise, bound, scale)


def paused(
    schedule: Schedule | Control, when: Callable[[int], bool], missed: Literal["drop", "make up"] = "drop"
) -> Paused:
    """`schedule`, but no exploring in rounds for which `when(t)` is true.

    Explorations that fall into a pause are dropped, or with `missed="make up"` made up for, one
    a round, in the first rounds after it that are not due themselves. Both are counted
    (`bandit.exploration()`).

    >>> from infex import every
    >>> schedule = paused(every(2), when=lambda t: t <= 10, missed="make up")
    >>> schedule.explores(4)
    True
    """
    return Paused(schedule, when, missed)


class Note(NamedTuple):
    """What `Infex` notes under a control: the state of each layer, the base's note, explorations done."""

    states: tuple[State, ...]
    inner: Any
    done: int

    @staticmethod
    def of(control: Control, note: Any) -> Note:
        """The note of the last round, or the first one."""
        return Note(tuple(layer.begin for layer in control.layers), None, 0) if note is None else Note(*note)

    def owes(self, control: Control) -> bool:
        """Is an exploration still to be made up for?"""
        return any(layer.owes(state) for layer, state in self._pairs(control))

    def ends(self, control: Control) -> bool:
        """Has exploration stopped for good?"""
        return any(layer.ends(state) for layer, state in self._pairs(control))

    def objection(self, control: Control, t: int, evidence: Evidence) -> str | None:
        """Why round t may not explore, if it may not."""
        for layer, state in self._pairs(control):
            if word := layer.objection(t, evidence, state):
                return word
        return NO_ARM_ALLOWED if none_allowed(evidence) else None

    def refusal(self, control: Control, loss: float) -> str | None:
        """Why an arm with that estimated loss may not be tried, if it may not."""
        words = (layer.refusal(loss, state) for layer, state in self._pairs(control))
        return next((word for word in words if word), None)

    def after(self, control: Control, outcome: str, loss: float, evidence: Evidence) -> Note:
        """The note after a round in which exploration was due or owed, by its reason."""
        states = (layer.after(state, outcome, loss, evidence) for layer, state in self._pairs(control))
        return self._replace(states=tuple(states))

    def _pairs(self, control: Control) -> Iterator[tuple[Control, State]]:
        return zip(control.layers, self.states, strict=True)


def controlled(infex: Any, control: Control, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
    """The choice of an `Infex` under a control."""
    note = Note.of(control, evidence.note)
    due = control.planned.explores(t)
    if not due and not note.owes(control):
        return infex.exploit(t, evidence, rng, why_not(control.planned, t))  # type: ignore[no-any-return]
    reason, choice, loss = SCHEDULED if due else MADE_UP, None, 0.0
    barred = note.objection(control, t, evidence)
    if barred is None:
        choice = infex.explore(t, evidence.noted(note.inner), rng, reason, note.done + 1)
        loss = evidence.estimate(evidence.greedy) - evidence.estimate(choice.arm)
        barred = note.refusal(control, loss)
    if barred is not None and not due:
        return infex.exploit(t, evidence, rng, GREEDILY)  # type: ignore[no-any-return] # it stays owed
    after = note.after(control, barred or reason, loss, evidence)
    if choice is None or barred is not None:
        return infex.exploit(t, evidence, rng, barred)._replace(note=tuple(after))  # type: ignore[no-any-return]
    after = after._replace(inner=noted(choice, note.inner), done=note.done + 1)
    return choice._replace(note=tuple(after))  # type: ignore[no-any-return]


def controlled_probability(
    infex: Any, control: Control, t: int, evidence: Evidence, arm: int
) -> float | None:
    """The chance of `arm`, where it does not hang on the arm that the base would try."""
    if is_drawn(control.planned):
        return None
    note = Note.of(control, evidence.note)
    due = control.planned.explores(t) or note.owes(control)
    if not due or note.objection(control, t, evidence):
        return GREEDY[infex.ties].probability(t, evidence, arm)
    if any(isinstance(layer, Guarded) for layer in control.layers):
        return None
    clock, seen = infex.seen(t, evidence.noted(note.inner), note.done + 1)
    return probability(infex.base, clock, seen, arm)


def none_allowed(evidence: Evidence) -> bool:
    """Is there no arm that exploring may try?"""
    return evidence.allowed is not None and not evidence.allowed.any()


def why_not(schedule: Any, t: int) -> str:
    """Why a round explores not, by a schedule that does not let it."""
    return BUDGET_SPENT if type(schedule) is Budget and schedule.is_spent(t) else GREEDILY


def outlook(policy: Any, t: int, note: Any) -> tuple[int | None, int | None]:
    """How many rounds up to t a policy's schedule names, and the next one that is due."""
    schedule: Any = getattr(policy, "schedule", None)
    over = owed = False
    if isinstance(schedule, Control):
        now = Note.of(schedule, note)
        over, owed = now.ends(schedule), now.owes(schedule)
        schedule = schedule.planned
    if not (callable(getattr(schedule, "count", None)) and callable(getattr(schedule, "when", None))):
        return None, None
    planned = schedule.count(t)
    due = t + 1 if owed else schedule.when(planned + 1)
    return planned, None if over or math.isinf(due) else int(due)
