"""Exploration under control: schedules that look at what is known before they let a round explore.

`Infex` follows them. What they remember (cost so far, rounds owed) is part of its note, so it is
kept at the decision, not at the reward: no limit is exceeded however many rewards are pending.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.errors import InvalidSetting
from infex.linear import Evidence
from infex.policies.confidence import Confidence
from infex.policies.greedy import GREEDY
from infex.policies.protocol import NO_ARM_ALLOWED, SKIPPED, Choice, none_allowed, noted
from infex.schedules.budget import Budget
from infex.schedules.protocol import Schedule, checked, is_drawn

SCHEDULED, GREEDILY, MADE_UP = "scheduled", "greedy", "made up for a skipped round"
BUDGET_SPENT = "budget spent"
COST_REACHED, CERTAIN, PAUSED = f"{SKIPPED}cost limit", f"{SKIPPED}certain", f"{SKIPPED}paused"

State = tuple[float, ...]


class Control:
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

    def ends(self, arms: Floats | None, state: State) -> bool:
        """Has exploration stopped for good? `arms` are the fixed ones, if they are fixed."""
        return False

    def objection(self, t: int, evidence: Evidence, state: State) -> str | None:
        """Why round t may not explore, if it may not."""
        raise NotImplementedError

    def refusal(self, loss: float, state: State) -> str | None:
        """Why an arm with that estimated loss may not be tried, if it may not."""
        return None

    def skipped(self, state: State, evidence: Evidence, due: bool) -> State:
        """The state after this control has kept a round from exploring that was due, or owed."""
        return state

    def explored(self, state: State, loss: float) -> State:
        """The state after a round that explored, with its estimated loss."""
        return state

    def repaid(self, state: State) -> State:
        """The state after an exploration that this control owed."""
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

    def ends(self, arms: Floats | None, state: State) -> bool:
        return state[1] > 0.0

    def objection(self, t: int, evidence: Evidence, state: State) -> str | None:
        return COST_REACHED if self.ends(None, state) else None

    def refusal(self, loss: float, state: State) -> str | None:
        return COST_REACHED if state[0] + loss > self.cost_limit else None

    def skipped(self, state: State, evidence: Evidence, due: bool) -> State:
        return state[0], 1.0

    def explored(self, state: State, loss: float) -> State:
        return state[0] + loss, state[1]

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

    begin = (-1.0,)  # a checksum of the fixed arms among which it stopped; -1 before

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        self._confidence()

    def ends(self, arms: Floats | None, state: State) -> bool:
        return arms is not None and state[0] == _checksum(arms)

    def objection(self, t: int, evidence: Evidence, state: State) -> str | None:
        arms = evidence.arms if evidence.lasting else None
        return CERTAIN if self.ends(arms, state) or self._is_certain(evidence) else None

    def skipped(self, state: State, evidence: Evidence, due: bool) -> State:
        return (_checksum(evidence.arms),) if evidence.lasting else state

    def _is_certain(self, evidence: Evidence) -> bool:
        beta = self._confidence().radius(evidence)
        uppers = np.array(evidence.upper(beta))
        best = evidence.greedy
        uppers[best] = -math.inf
        return bool(evidence.upper(-beta)[best] > uppers.max())

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

    def skipped(self, state: State, evidence: Evidence, due: bool) -> State:
        return (state[0] + 1.0,) if due and self.missed == "make up" else state

    def repaid(self, state: State) -> State:
        return (state[0] - 1.0,)

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
    (`bandit.exploration()`). `when` may be asked more than once in a round: it must say the same.

    >>> from infex import every
    >>> schedule = paused(every(2), when=lambda t: t <= 10, missed="make up")
    >>> schedule.explores(4)
    True
    """
    return Paused(schedule, when, missed)


class Bar(NamedTuple):
    """Why a round does not explore, and the place of the control that says so, if one does."""

    reason: str
    place: int | None


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

    def ends(self, control: Control, arms: Floats | None) -> bool:
        """Has exploration stopped for good?"""
        return any(layer.ends(arms, state) for layer, state in self._pairs(control))

    def objection(self, control: Control, t: int, evidence: Evidence) -> Bar | None:
        """What keeps round t from exploring, if anything does; the inner controls are asked first."""
        for place, (layer, state) in enumerate(self._pairs(control)):
            if word := layer.objection(t, evidence, state):
                return Bar(word, place)
        return Bar(NO_ARM_ALLOWED, None) if none_allowed(evidence) else None

    def refusal(self, control: Control, loss: float) -> Bar | None:
        """What keeps an arm with that estimated loss from being tried, if anything does."""
        for place, (layer, state) in enumerate(self._pairs(control)):
            if word := layer.refusal(loss, state):
                return Bar(word, place)
        return None

    def skipped(self, control: Control, bar: Bar, evidence: Evidence, due: bool) -> Note:
        """The note after a round that was kept from exploring."""
        return self._replace(
            states=tuple(
                layer.skipped(state, evidence, due) if place == bar.place else state
                for place, (layer, state) in enumerate(self._pairs(control))
            )
        )

    def explored(self, control: Control, loss: float, inner: Any, made_up: bool) -> Note:
        """The note after a round that explored; one that was owed is owed by one control alone."""
        states = [layer.explored(state, loss) for layer, state in self._pairs(control)]
        if made_up:
            pairs = enumerate(zip(control.layers, states, strict=True))
            place, (layer, state) = next(pair for pair in pairs if pair[1][0].owes(pair[1][1]))
            states[place] = layer.repaid(state)
        return Note(tuple(states), inner, self.done + 1)

    def _pairs(self, control: Control) -> Iterator[tuple[Control, State]]:
        return zip(control.layers, self.states, strict=True)


def controlled(infex: Any, control: Control, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
    """The choice of an `Infex` under a control."""
    note = Note.of(control, evidence.note)
    due = control.planned.explores(t)
    if not due and not note.owes(control):
        return infex.exploit(t, evidence, rng, why_not(control.planned, t))  # type: ignore[no-any-return]
    bar = note.objection(control, t, evidence)
    if bar is None:
        reason = SCHEDULED if due else MADE_UP
        choice: Choice = infex.explore(t, evidence.noted(note.inner), rng, reason, note.done + 1)
        if not choice.explored:  # by a base that tells: nothing was tried
            return choice._replace(note=tuple(note._replace(inner=noted(choice, note.inner))))
        loss = loss_of(evidence, choice.arm)
        bar = note.refusal(control, loss)
        if bar is None:
            after = note.explored(control, loss, noted(choice, note.inner), made_up=not due)
            return choice._replace(note=tuple(after))
    greedy: Choice = infex.exploit(t, evidence, rng, bar.reason if due else GREEDILY)
    return greedy._replace(note=tuple(note.skipped(control, bar, evidence, due)))


def loss_of(evidence: Evidence, arm: int) -> float:
    """The estimated loss of an arm: the estimate of the greedy arm minus its own, but for rounding."""
    return max(evidence.estimate(evidence.greedy) - evidence.estimate(arm), 0.0)


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
    return infex.inner_probability(clock, seen, arm)  # type: ignore[no-any-return]


def why_not(schedule: Any, t: int) -> str:
    """Why a round explores not, by a schedule that does not let it."""
    return BUDGET_SPENT if type(schedule) is Budget and schedule.is_spent(t) else GREEDILY


def outlook(policy: Any, t: int, note: Any, arms: Floats | None) -> tuple[int | None, int | None]:
    """How many rounds up to t a policy's schedule names, and the next one that is due."""
    schedule: Any = getattr(policy, "schedule", None)
    over = owed = False
    if isinstance(schedule, Control):
        now = Note.of(schedule, note)
        over, owed = now.ends(schedule, arms), now.owes(schedule)
        schedule = schedule.planned
    if not (callable(getattr(schedule, "count", None)) and callable(getattr(schedule, "when", None))):
        return None, None
    planned = schedule.count(t)
    due = t + 1 if owed else schedule.when(planned + 1)
    return planned, None if over or math.isinf(due) else int(due)


def _checksum(arms: Floats) -> float:
    return float(zlib.crc32(arms.tobytes()))
