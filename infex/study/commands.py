"""What changes a study: a command decides on the state as it is, and gives the event that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, final

import msgspec

from infex.bandit import Decision
from infex.bandit.bandit import Correction
from infex.checks import HEAVIEST_WEIGHT, LARGEST_REWARD, real, safe_repr
from infex.errors import (
    AlreadyTold,
    AnotherRequest,
    InfexError,
    InvalidReward,
    InvalidSetting,
    OtherSettings,
    UnknownArm,
    UnknownDecision,
)
from infex.study.assigned import Offer, held_out_arm, is_held_out
from infex.study.events import (
    ASSIGNED,
    CONTENT_VERSION,
    LOG_KEY,
    Amended,
    Assigned,
    Decided,
    Event,
    EventKind,
    LearntLog,
    Observation,
    Rewarded,
)
from infex.study.requests import Request, check_text, checked_key, checked_unit, digest_of
from infex.study.state import RewardState, StudyState, TrackedDecision
from infex.version import __version__

Answer = TypeVar("Answer", covariant=True)
Row = TypeVar("Row")
Record = Callable[[Event], None]
"""Applies an event to the state, and has it written."""


class Result(NamedTuple, Generic[Answer]):
    """What a command answers, and the last entry that the answer rests on."""

    answer: Answer
    number: int


class Command(Protocol[Answer]):
    """Something to be done in a study."""

    @property
    def keys(self) -> Sequence[str]:
        """The keys of the decisions that it is about."""

    def run(self, state: StudyState, now: int, record: Record) -> Result[Answer]:
        """Does it; what is refused raises an error."""


class KeyedCommand(Command[Answer], Protocol[Answer]):
    """A command about one decision, which may be a row of a batch."""

    @property
    def key(self) -> str:
        """The key of the decision."""

    def decide(self, state: StudyState, now: int) -> Event | None:
        """What happens, None if it has happened before; nothing is changed, and what is wrong is refused."""

    def refuse_conflict(self, earlier: dict[Any, Any], state: StudyState) -> None:
        """Refuses what contradicts a row before, and adds itself to the `earlier` ones."""


@final
@dataclass(frozen=True, slots=True)
class Ask:
    """Wants the decision of a key."""

    key: str
    unit: str
    request: Request

    @staticmethod
    def of(key: object, unit: object, options: Mapping[str, object]) -> Ask:
        """What was asked, checked; an option that is None was omitted."""
        about = checked_unit(unit)
        return Ask(checked_key(key), about, Request.of(options, about))

    @property
    def keys(self) -> Sequence[str]:
        return (self.key,)

    def decide(self, state: StudyState, now: int) -> Event | None:
        tracked = state.find(self.key)
        if tracked is None:
            return decision_event(state, self.key, self.unit, now, self.request.options, self.request.encoded)
        if tracked.decision is None:
            raise UnknownDecision(f"decision {self.key!r} was erased: choose another key")
        refuse_another(self.key, tracked.digest == self.request.digest)
        return None

    def refuse_conflict(self, earlier: dict[Any, Any], state: StudyState) -> None:
        first: Ask = earlier.setdefault(self.key, self)
        refuse_another(self.key, first.request.digest == self.request.digest)

    def run(self, state: StudyState, now: int, record: Record) -> Result[Decision]:
        event = self.decide(state, now)
        if event is not None:
            record(event)
        tracked = state.decision_of(self.key)
        assert tracked.decision is not None
        return Result(tracked.decision, tracked.decided)


@final
@dataclass(frozen=True, slots=True)
class Tell:
    """Reports the reward of a decision."""

    key: str
    content: Rewarded

    @staticmethod
    def of(key: object, reward: float, weight: float = 1.0, part: str | None = None) -> Tell:
        """What was told, checked."""
        return Tell(checked_key(key), _reward_content(reward, weight=weight, part=part))

    @property
    def keys(self) -> Sequence[str]:
        return (self.key,)

    def decide(self, state: StudyState, now: int) -> Event | None:
        tracked, content = state.decision_of(self.key), self.content
        if tracked.repeats(content, state.rules.sums):
            return None
        kind = EventKind.LATE if tracked.state is RewardState.DEFAULTED else EventKind.REWARD
        assert content.reward is not None
        is_late = kind is EventKind.LATE
        state.bandit.refuse_reward(content.reward if is_late else tracked.reward_after(kind, content))
        if tracked.is_open and not tracked.held_out:
            content = _numbered(state, tracked, content)
        return Event(kind, self.key, tracked.unit, now, content)

    def refuse_conflict(self, earlier: dict[Any, Any], state: StudyState) -> None:
        part = self.content.part if state.rules.sums else None
        first = earlier.setdefault((self.key, part), self).content
        counts_once = not state.rules.sums or part is not None
        if first.weight != self.content.weight or (counts_once and first.reward != self.content.reward):
            raise AlreadyTold(
                f"decision {self.key!r} has the reward {first.reward!r} (weight {first.weight!r}) in a row "
                f"before; this one says {self.content.reward!r} (weight {self.content.weight!r})"
            )

    def run(self, state: StudyState, now: int, record: Record) -> Result[RewardState]:
        return _run_reward(self.key, self.decide(state, now), state, record)


@final
@dataclass(frozen=True, slots=True)
class Correct:
    """Replaces the reward of a decision."""

    key: str
    content: Rewarded

    @staticmethod
    def of(key: object, reward: float, reason: str) -> Correct:
        """The correction, checked."""
        return Correct(checked_key(key), _reward_content(reward, reason=reason))

    @property
    def keys(self) -> Sequence[str]:
        return (self.key,)

    def run(self, state: StudyState, now: int, record: Record) -> Result[RewardState]:
        tracked, content, event = state.decision_of(self.key), self.content, None
        if tracked.is_open or tracked.decision is None:
            why = "waits for its first reward: tell it" if tracked.is_open else "was erased"
            raise UnknownDecision(f"decision {self.key!r} {why}")
        if tracked.reward != content.reward:
            assert content.reward is not None
            state.bandit.refuse_reward(content.reward)
            if tracked.reward is None and not tracked.held_out:
                content = _numbered(state, tracked, content)
            event = Event(EventKind.CORRECTION, self.key, tracked.unit, now, content)
        return _run_reward(self.key, event, state, record)


@final
@dataclass(frozen=True, slots=True)
class Amend:
    """Changes settings, each by an event: all of them, or none; under a `key`, once."""

    changes: Mapping[str, Any]
    reason: str
    key: str | None
    digest: str | None
    keys: Sequence[str] = ()

    @staticmethod
    def of(changes: Mapping[str, object], key: object, reason: str) -> Amend:
        """What is to be changed to what, by the fields of `Study.amend`, in this order; None is no change."""
        wanted = {field: to for field, to in changes.items() if to is not None}
        check_text("reason", reason)
        if not wanted:
            raise InvalidSetting(f"nothing is to be changed: give one of {', '.join(changes)}")
        if key is None:
            return Amend(wanted, reason, None, None)
        return Amend(wanted, reason, checked_key(key), digest_of([wanted, reason]))

    def run(self, state: StudyState, now: int, record: Record) -> Result[None]:
        if self.key in state.amendment_keys:
            refuse_another(self.key, state.amendment_keys[self.key] == self.digest)
            return Result(None, state.number)
        key, digest = self.key, self.digest
        for field, to in self.changes.items():
            what = ("resume" if to else "pause") if field == "explore" else field.replace("_", " ")
            content = Amended(v=CONTENT_VERSION, what=what, to=to, reason=self.reason, key=key, digest=digest)
            try:
                record(Event(EventKind.AMENDMENT, "", "", now, content))
            except InfexError as error:
                error.field = field
                raise
            key, digest = None, None
        return Result(None, state.number)


@final
@dataclass(frozen=True, slots=True)
class Learn:
    """Learns rows of a log from the one numbered `first`, each with its unit; those learnt before count once.

    All of the log is named by its `digest` and how many rows it has.
    """

    log: LearntLog
    first: int
    rows: Sequence[tuple[str, Observation]]
    keys: Sequence[str] = ()

    def run(self, state: StudyState, now: int, record: Record) -> Result[int]:
        known = state.log
        if known is None and len(state.keys):
            raise InvalidSetting("a study learns from a log before its first decision, not after")
        if known is not None and known != self.log:
            raise OtherSettings(
                f"the study {state.name!r} learns from the log {known.digest} of {known.rows} rows, not from "
                f"{self.log.digest} of {self.log.rows}"
            )
        if not 0 <= self.first <= state.observations or self.first + len(self.rows) > self.log.rows:
            raise InvalidSetting(
                f"row {state.observations} of {self.log.rows} is next, got rows from {self.first} to "
                f"{self.first + len(self.rows) - 1}"
            )
        if known is None:
            record(Event(EventKind.LOG, LOG_KEY, "", now, self.log))
        for unit, content in self.rows[state.observations - self.first :]:
            record(Event(EventKind.OBSERVATION, "", unit, now, content))
        return Result(state.observations, state.number)


@final
@dataclass(frozen=True, slots=True)
class Flush:
    """Changes nothing: its answer rests on all that was done before."""

    keys: Sequence[str] = ()

    def run(self, state: StudyState, now: int, record: Record) -> Result[None]:
        return Result(None, state.number)


@final
@dataclass(frozen=True, slots=True)
class Batch(Generic[Answer]):
    """Commands that are all done, or none of them; an error says in which row."""

    commands: Sequence[KeyedCommand[Answer]]

    @property
    def keys(self) -> Sequence[str]:
        return [command.key for command in self.commands]

    def run(self, state: StudyState, now: int, record: Record) -> Result[list[Answer]]:
        """Checks every row first, without recording; if one fails after that, the state is rebuilt."""
        earlier: dict[Any, Any] = {}

        def check(command: KeyedCommand[Answer]) -> None:
            command.refuse_conflict(earlier, state)
            command.decide(state, now)

        each_row(self.commands, self.keys, check)
        results = each_row(self.commands, self.keys, lambda command: command.run(state, now, record))
        return Result([each.answer for each in results], max((each.number for each in results), default=0))


class AskRow(NamedTuple):
    """What is asked under a key, of a unit or of nobody; `options` are those of `Study.ask`."""

    key: str
    unit: str | None
    options: Mapping[str, object]


class TellRow(NamedTuple):
    """What is told of a key; the rest is as in `Study.tell`."""

    key: str
    reward: float
    weight: float = 1.0
    part: str | None = None


Gives = TypeVar("Gives")


def each_row(rows: Sequence[Row], keys: Sequence[object], do: Callable[[Row], Gives]) -> list[Gives]:
    """What comes of each row of a batch; an error says in which row, and of which key."""
    results: list[Gives] = []
    for place, row in enumerate(rows):
        try:
            results.append(do(row))
        except InfexError as error:
            words = f"row {place}, {safe_repr(keys[place])}: {error}. Nothing of this batch was taken in"
            refused = type(error)(words)
            refused.row = place
            raise refused from error
    return results


def decision_event(
    state: StudyState,
    key: str,
    unit: str,
    now: int,
    options: Mapping[str, Any],
    encoded: bytes,
    by: str = __version__,
) -> Event:
    """What is decided on a request (and its `encoded` form) `by` an infex; nothing is changed.

    The policy decides in one of its rounds, unless the arm is assigned.
    """
    assigned = _assigned_arm(state, key, unit, now, options)
    if assigned is None:
        record = state.bandit.decide(**options, id=key)
        return Event(EventKind.DECISION, key, unit, now, Decided.of(record, encoded, by))
    kind, offer, arm, propensity = assigned
    decision, on, loss = offer.decision(state.bandit, key, arm, propensity, ASSIGNED[kind])
    learnt_on = None if kind is EventKind.HELD else on
    return Event(kind, key, unit, now, Assigned.of(decision, learnt_on, loss, encoded, by))


def _assigned_arm(
    state: StudyState, key: str, unit: str, now: int, options: Mapping[str, Any]
) -> tuple[EventKind, Offer, int, float | None] | None:
    """The arm that is assigned on a request, and its probability as far as it is known; None for none."""
    rules, bandit, played = state.rules, state.bandit, options.get("played")
    state.refuse_half_learnt()
    if rules.apprentice != (played is not None):
        raise InvalidSetting(
            "played must say which arm was played: this study is an apprentice"
            if rules.apprentice
            else "played must be left out: this study decides by itself, it is no apprentice"
        )
    if played is not None:
        offer = Offer.of(bandit, options)
        arm = offer.place(played)
        if arm is None:
            raise UnknownArm(f"the arm that was played, {played!r}, is not on offer")
        return EventKind.APPRENTICE, offer, arm, None
    if is_held_out(bandit.seed, unit or key, rules.holdout):
        offer, name = Offer.of(bandit, options), unit if rules.sticky and unit else key
        drawn = held_out_arm(rules.holdout_policy, offer, state.frozen, bandit.seed, name)
        return EventKind.HELD, offer, *drawn
    if not rules.sticky or not unit:
        return None
    if "arms" in options and "labels" not in options:
        raise InvalidSetting("a unit keeps its arm by the label of that: give labels with the arms")
    kept = state.kept_arm(unit, now)
    if kept is None:
        return None
    offer = Offer.of(bandit, options)
    arm = offer.place(kept)
    return None if arm is None else (EventKind.STICKY, offer, arm, 1.0)


def apply_defaults(state: StudyState, now: int, record: Record) -> None:
    """Gives the default reward to decisions whose time has passed; without one, they are dropped."""
    default = state.rules.default
    while (tracked := state.next_due(now)) is not None:
        content = Rewarded(v=CONTENT_VERSION, reward=default)
        if default is not None and not tracked.held_out:
            content = _numbered(state, tracked, content)
        record(Event(EventKind.DEFAULTED, tracked.key, tracked.unit, now, content))


def refuse_another(key: str | None, is_same: bool) -> None:
    """Refuses a request that is not the one before it under the same key."""
    if not is_same:
        raise AnotherRequest(
            f"something else was asked under the key {key!r} before: a key stands for one request"
        )


def _reward_content(
    reward: float, *, weight: float = 1.0, part: str | None = None, reason: str = ""
) -> Rewarded:
    value = real("reward", reward, least=-LARGEST_REWARD, most=LARGEST_REWARD, error=InvalidReward)
    heavy = real("weight", weight, above=0, most=HEAVIEST_WEIGHT, error=InvalidReward)
    check_text("reason", reason)
    if part is not None:
        check_text("part", part)
    return Rewarded(v=CONTENT_VERSION, reward=value, weight=heavy, part=part, reason=reason)


def _numbered(state: StudyState, tracked: TrackedDecision, content: Rewarded) -> Rewarded:
    """The content with what must be known of a first reward, if it is changed later."""
    assert tracked.decision is not None
    assert content.reward is not None
    on = None if tracked.is_open and tracked.is_round else state.place_now(tracked)[1]
    known: Correction = state.bandit.correction(tracked.decision, content.reward, content.weight, on)
    number, explored_number = known.numbers
    return msgspec.structs.replace(content, counted=known.counted, turn=number, own_turn=explored_number)


def _run_reward(key: str, event: Event | None, state: StudyState, record: Record) -> Result[RewardState]:
    if event is not None:
        record(event)
    tracked = state.decision_of(key)
    return Result(tracked.state, tracked.number)
