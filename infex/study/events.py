"""What happens in a study: events, each with its content as JSON that is written and read strictly."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from infex.bandit.decision import Decision, DecisionRecord
from infex.errors import DamagedJournal, ForeignStore
from infex.models.layout import ArmRow, DesignRow
from infex.policies.choice import ScheduleStatus
from infex.registry import policy_state_from_record, policy_state_to_record, reason_of
from infex.study.journal import Draft, Entry

CONTENT_VERSION = 1
MICROSECONDS = 1_000_000  # a second, as the journal tells the time
FORGOTTEN_KEY = "infex:forgotten"
"""The key of events that say what was erased."""
LOG_KEY = "infex:log"
"""The key of the event that says which log a study learnt from."""


class EventKind(StrEnum):
    """What an event is."""

    OPENED = "opened"
    DECISION = "decision"
    HELD = "held"  # a decision of the fixed policy, for a unit that is held out
    STICKY = "sticky"  # a unit keeps the arm that it has
    APPRENTICE = "apprentice"  # an arm that the caller played
    REWARD = "reward"
    DEFAULTED = "defaulted"
    LATE = "late"
    CORRECTION = "correction"
    AMENDMENT = "amendment"
    FORGOTTEN = "forgotten"
    LOG = "log"  # a log that is learnt from before the first decision
    OBSERVATION = "observation"  # one row of that log


ASSIGNED = {
    EventKind.HELD: "held out",
    EventKind.STICKY: "sticky",
    EventKind.APPRENTICE: "apprentice",
}
"""Kinds of decisions that the policy does not take, and which are none of its rounds; the reason of each."""
DECISIONS = (EventKind.DECISION, *ASSIGNED)
"""Kinds that begin the history of a key."""
REWARDS = (EventKind.REWARD, EventKind.DEFAULTED, EventKind.LATE, EventKind.CORRECTION)
"""Kinds that tell of the reward of a decision."""


class Content(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What every event has: the version of its form."""

    v: int


class Opened(Content, frozen=True, kw_only=True):
    """The settings that a study began with, and the infex that wrote them."""

    infex: str
    settings: dict[str, Any]


class OwnRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a reward is learnt on where every arm has a regression of its own."""

    arm: int
    context: list[float]


RowAsJSON = int | OwnRow | list[float]
"""What a reward is learnt on, as JSON can hold it."""


class Decided(Content, frozen=True, kw_only=True):
    """A decision of the policy: the request, and all that is needed to apply it again."""

    request: msgspec.Raw
    t: int
    arm: int
    greedy: int
    estimate: float
    low: float | str
    high: float | str
    on: RowAsJSON
    label: int | str | None = None
    explored: bool = False
    probability: float | None = 1.0
    reason: str = "greedy"
    chance: float | None = 0.0
    law: float | None = None
    turn: str | None = "rest"
    note: Any = None
    loss: float = 0.0
    noticed: list[str] = []
    changes: int = 0
    by: str = ""  # the infex that decided

    @staticmethod
    def of(record: DecisionRecord, request: bytes, by: str) -> Decided:
        """The content for what was decided, on which request."""
        d, status, note = record.decision, record.schedule_status, record.policy_state
        return Decided(
            v=CONTENT_VERSION,
            request=msgspec.Raw(request),
            t=d.t,
            arm=d.arm,
            greedy=d.greedy,
            estimate=d.estimate,
            low=_end_to_json(d.low),
            high=_end_to_json(d.high),
            on=row_to_json(record.on),
            label=d.label,
            explored=d.explored,
            probability=d.propensity,
            reason=str(d.reason),
            chance=d.explore_probability,
            law=d.base_propensity,
            turn=None if status is None else status.value,
            note=None if note is None else policy_state_to_record(note),
            loss=record.loss,
            noticed=list(record.noticed),
            changes=record.changes,
            by=by,
        )

    def record(self, key: str) -> DecisionRecord:
        """What `Bandit.enter` applies."""
        decision = Decision(
            key, self.t, self.arm, self.label, self.explored, self.greedy, self.estimate, float(self.low),
            float(self.high), self.probability, reason_of(self.reason), self.chance, self.law,
        )  # fmt: skip
        status = None if self.turn is None else ScheduleStatus(self.turn)
        note = None if self.note is None else policy_state_from_record(self.note)
        row = row_from_json(self.on)
        return DecisionRecord(decision, row, status, note, self.loss, tuple(self.noticed), True, self.changes)


class Assigned(Content, frozen=True, kw_only=True):
    """A decision that the policy does not take, after t rounds; its arm was assigned otherwise.

    `greedy` is the arm of the model's largest estimate; `estimate`, `low` and `high` are the model's for the
    arm that was played. Its reward is learnt `on` that; nothing is learnt from those held out. `gain` is how
    much more the model expects of the greedy arm than of the one that was played.
    """

    request: msgspec.Raw
    t: int
    arm: int
    label: int | str | None = None
    probability: float | None = 1.0
    greedy: int | None = None  # in the oldest journals there is none of it, nor an estimate
    estimate: float | None = None
    low: float | str = "-inf"
    high: float | str = "inf"
    on: RowAsJSON | None = None
    gain: float = 0.0
    by: str = ""

    @staticmethod
    def of(decision: Decision, on: DesignRow | None, gain: float, request: bytes, by: str) -> Assigned:
        """The content for what was decided, on which request."""
        return Assigned(
            v=CONTENT_VERSION,
            request=msgspec.Raw(request),
            t=decision.t,
            arm=decision.arm,
            label=decision.label,
            probability=decision.propensity,
            greedy=decision.greedy,
            estimate=decision.estimate,
            low=_end_to_json(decision.low),
            high=_end_to_json(decision.high),
            on=None if on is None else row_to_json(on),
            gain=gain,
            by=by,
        )

    def decision(self, key: str, kind: EventKind) -> Decision:
        """The decision, which is not a round of the bandit."""
        greedy = self.arm if self.greedy is None else self.greedy
        estimate = float("nan") if self.estimate is None else self.estimate
        return Decision(
            key, self.t, self.arm, self.label, False, greedy, estimate, float(self.low), float(self.high),
            self.probability, ASSIGNED[kind], 0.0, None,
        )  # fmt: skip


class Rewarded(Content, frozen=True, kw_only=True):
    """A reward that was told, or a default one; None where nothing is learnt."""

    reward: float | None
    weight: float = 1.0
    part: str | None = None
    reason: str = ""
    counted: float = 1.0  # the weight with which it was learnt
    turn: int = 0  # its number among rewards, and among those of exploring rounds
    own_turn: int | None = None


class Amended(Content, frozen=True, kw_only=True):
    """What was changed, to what, and why.

    The first entry of an amendment with a key has that key, and a digest of all that was asked under it.
    """

    what: str
    to: Any
    reason: str
    key: str | None = None
    digest: str | None = None


class Residue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is left of an entry that was erased: of a decision what its round counts for, and nothing else."""

    number: int
    t: int = 0  # 0: it was no round
    explored: bool = False
    turn: str | None = None
    loss: float = 0.0
    different: bool = False
    note: Any = None


class Forgotten(Content, frozen=True, kw_only=True):
    """Which entries were erased, what is left of each, and why."""

    residues: list[Residue]
    reason: str = ""


class LearntLog(Content, frozen=True, kw_only=True):
    """A log that a study learns from before its first decision: a hash of its rows, and how many they are.

    `marks` tell later whether a log is the one that was learnt from (`infex.logs.log.Fingerprint`).
    """

    digest: str
    rows: int
    marks: list[int] = []


class Observation(Content, frozen=True, kw_only=True):
    """A reward of a log: of which arm (a label, an index, or its features), in which context.

    A context that is `encoded` holds the features that the study's encoder gives.
    """

    arm: int | str | list[float]
    reward: float
    context: Any = None
    encoded: bool = False
    weight: float = 1.0
    explored: bool = False


class Event(NamedTuple):
    """Something that happened: to which key, of which unit ("" for none), and when (microseconds).

    The content is None if it was erased.
    """

    kind: EventKind
    key: str
    unit: str
    at: int
    content: Content | None

    def draft(self) -> Draft:
        """The event in bytes, as a journal keeps it."""
        return Draft(self.kind.value, self.key, self.unit, self.at, ENCODER.encode(self.content))


ENCODER = msgspec.json.Encoder()
CONTENTS: dict[EventKind, type[Content]] = {
    EventKind.OPENED: Opened,
    EventKind.DECISION: Decided,
    **dict.fromkeys(ASSIGNED, Assigned),
    **dict.fromkeys(REWARDS, Rewarded),
    EventKind.AMENDMENT: Amended,
    EventKind.FORGOTTEN: Forgotten,
    EventKind.LOG: LearntLog,
    EventKind.OBSERVATION: Observation,
}
DECODERS = {kind: msgspec.json.Decoder(content) for kind, content in CONTENTS.items()}
AContent = TypeVar("AContent", bound=Content)


def event_of(entry: Entry) -> Event:
    """The event of an entry; refused if a newer infex wrote it, or if it cannot be read."""
    try:
        kind = EventKind(entry.kind)
    except ValueError:
        raise DamagedJournal(f"entry {entry.number} is of an unknown kind, {entry.kind!r}") from None
    content = None if entry.content is None else _decoded(kind, entry.number, entry.content)
    return Event(kind, entry.key, entry.unit or "", entry.at, content)


def content_of(kind: type[AContent], entry: Entry) -> AContent:
    """The content of an entry that must be of this kind, and not erased."""
    found = event_of(entry).content
    if not isinstance(found, kind):
        raise DamagedJournal(f"entry {entry.number} of the journal is a {entry.kind}, or was erased")
    return found


def _decoded(kind: EventKind, number: int, data: bytes) -> Content:
    try:
        found: Content = DECODERS[kind].decode(data)
        version: object = found.v
        problem = f"is of the unknown version {found.v}"
    except msgspec.MsgspecError as error:
        version, problem = _version_in(data), f"cannot be read: {error}"
    else:
        if version == CONTENT_VERSION:
            return found
    if isinstance(version, int) and version > CONTENT_VERSION:
        raise ForeignStore(
            f"entry {number} of the journal was written by a newer infex: its version is {version}, known "
            f"here is {CONTENT_VERSION}"
        )
    raise DamagedJournal(f"entry {number} of the journal {problem}")


def _version_in(data: bytes) -> object:
    try:
        return msgspec.json.decode(data, type=dict[str, Any]).get("v")
    except msgspec.MsgspecError:
        return None


def residues_of(entries: Sequence[Entry]) -> dict[int, Residue]:
    """What is to be left of entries that are erased, by their numbers."""
    found = {}
    for entry in entries:
        content = event_of(entry).content
        if content is None:
            raise DamagedJournal(f"entry {entry.number} was erased already")
        residue = Residue(number=entry.number)
        if isinstance(content, Decided):
            residue = Residue(
                number=entry.number,
                t=content.t,
                explored=content.explored,
                turn=content.turn,
                loss=content.loss,
                different=content.explored and content.arm != content.greedy,
                note=content.note,
            )
        found[entry.number] = residue
    return found


def time_of(at: int) -> datetime:
    """A time of the journal, in UTC."""
    return datetime.fromtimestamp(at / MICROSECONDS, UTC)


def _end_to_json(end: float) -> float | str:
    """An end of an interval, which may be endless."""
    return end if np.isfinite(end) else str(end)


def row_to_json(on: DesignRow) -> RowAsJSON:
    """What a reward is learnt on, as JSON can hold it."""
    if isinstance(on, ArmRow):
        return OwnRow(on.arm, on.context.tolist())
    return on if isinstance(on, int) else on.tolist()


def row_from_json(on: RowAsJSON) -> DesignRow:
    """What `row_to_json` gave."""
    if isinstance(on, OwnRow):
        return ArmRow(on.arm, np.array(on.context, dtype=np.float64))
    return on if isinstance(on, int) else np.array(on, dtype=np.float64)
