"""What entries say, as JSON with a version each: written and read strictly."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import numpy as np

from infex.bandit.decision import Decision, DecisionRecord
from infex.errors import DamagedJournal, ForeignStore
from infex.models.layout import ArmRow, DesignRow
from infex.policies.choice import ScheduleStatus
from infex.registry import policy_state_from_record, policy_state_to_record, reason_of
from infex.study.holding_out import held_out
from infex.version import __version__

CONTENT_VERSION = 1
LEAST, GREATEST = float("-inf"), float("inf")
ENDS = {"inf": GREATEST, "-inf": LEAST}
TURNS_BY_NAME = {turn.value: turn for turn in ScheduleStatus}


class Content(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What every entry says first."""

    v: int


class ArmInContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What a reward is learnt on where every arm has a regression of its own."""

    arm: int
    context: list[float]


class DecisionContent(
    Content, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """The request, and what was decided: all that is needed to enter it again."""

    request: msgspec.Raw
    t: int
    arm: int
    greedy: int
    estimate: float
    low: float | str
    high: float | str
    on: int | ArmInContext | list[float]
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


class DecisionGist(Content, frozen=True, kw_only=True, forbid_unknown_fields=False, gc=False):
    """What a reader of many decisions needs of each: no request, and nothing to learn on."""

    t: int
    arm: int
    greedy: int
    estimate: float
    low: float | str
    high: float | str
    label: int | str | None = None
    explored: bool = False
    probability: float | None = 1.0
    reason: str = "greedy"
    turn: str | None = "rest"
    loss: float = 0.0


class HeldContent(Content, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The request of somebody who is held out, and what the fixed policy did after t rounds.

    `greedy` is the arm of the model's largest estimate, `estimate`, `low` and `high` are the model's for the
    arm that was played; entries from before these fields have None, and endless intervals.
    """

    request: msgspec.Raw
    t: int
    arm: int
    label: int | str | None = None
    probability: float = 1.0
    greedy: int | None = None
    estimate: float | None = None
    low: float | str = "-inf"
    high: float | str = "inf"
    by: str = ""


class RewardContent(
    Content, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """A reward that was told, or a default one; None where nothing is learnt."""

    reward: float | None
    weight: float = 1.0
    part: str | None = None
    reason: str = ""
    counted: float = 1.0  # the weight with which it was learnt
    turn: int = 0  # its number among rewards, and among those of exploring rounds
    own_turn: int | None = None


class AmendmentContent(Content, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was changed, to what, and why."""

    what: str
    to: Any
    reason: str


class Residue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is left of an entry that was erased; of a decision what its round counts for, and nothing else."""

    number: int
    t: int = 0  # 0: it was no decision
    explored: bool = False
    turn: str | None = None
    loss: float = 0.0
    different: bool = False
    note: Any = None


class ForgottenContent(Content, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Which entries were erased, what is left of each, and why."""

    residues: list[Residue]
    reason: str = ""


class OpenedContent(Content, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The settings that a study began with, and the infex that wrote them."""

    infex: str
    settings: dict[str, Any]


AContent = TypeVar("AContent", bound=Content)
ENCODER_OF_CONTENTS = msgspec.json.Encoder()
DECODERS: dict[type[Content], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind)
    for kind in (
        DecisionContent,
        DecisionGist,
        HeldContent,
        RewardContent,
        AmendmentContent,
        ForgottenContent,
        OpenedContent,
    )
}


def encoded(content: Content) -> bytes:
    """The content as bytes."""
    return ENCODER_OF_CONTENTS.encode(content)


def content_of(kind: type[AContent], number: int, data: bytes) -> AContent:
    """The content of an entry; refused if it is of a newer infex, or not what an entry of its kind says."""
    try:
        found: AContent = DECODERS[kind].decode(data)
    except msgspec.MsgspecError as error:
        _refuse_newer(number, data)
        raise DamagedJournal(f"entry {number} of the journal cannot be read: {error}") from None
    if found.v != CONTENT_VERSION:
        _refuse_newer(number, data)
        raise DamagedJournal(f"entry {number} of the journal is of the unknown version {found.v}")
    return found


def _refuse_newer(number: int, data: bytes) -> None:
    try:
        version = msgspec.json.decode(data, type=dict[str, Any]).get("v")
    except msgspec.MsgspecError:
        return
    if isinstance(version, int) and version > CONTENT_VERSION:
        raise ForeignStore(
            f"entry {number} of the journal was written by a newer infex: its version is {version}, known "
            f"here is {CONTENT_VERSION}"
        )


def decision_content(record: DecisionRecord, request: bytes, by: str = __version__) -> DecisionContent:
    """What was decided, with what was asked."""
    decision, on, turn, note, loss, noticed, _, changes, _ = record
    _, t, arm, label, explored, greedy, estimate, low, high, probability, reason, chance, law = decision
    return DecisionContent(
        v=CONTENT_VERSION,
        request=msgspec.Raw(request),
        t=t,
        arm=arm,
        greedy=greedy,
        estimate=estimate,
        low=_end(low),
        high=_end(high),
        on=_on_content(on),
        label=label,
        explored=explored,
        probability=probability,
        reason=str(reason),
        chance=chance,
        law=law,
        turn=None if turn is None else turn._value_,
        note=None if note is None else policy_state_to_record(note),
        loss=loss,
        noticed=list(noticed),
        changes=changes,
        by=by,
    )


def held_content(decision: Decision, request: bytes, by: str = __version__) -> HeldContent:
    """What was decided for somebody who is held out, with what was asked."""
    return HeldContent(
        v=CONTENT_VERSION,
        request=msgspec.Raw(request),
        t=decision.t,
        arm=decision.arm,
        label=decision.label,
        probability=decision.propensity or 0.0,
        greedy=decision.greedy,
        estimate=decision.estimate,
        low=_end(decision.low),
        high=_end(decision.high),
        by=by,
    )


def held_decision_from(key: str, content: HeldContent) -> Decision:
    """The decision that an entry of somebody who is held out tells of."""
    c = content
    greedy = c.arm if c.greedy is None else c.greedy
    estimate = float("nan") if c.estimate is None else c.estimate
    model = greedy, estimate, _end_of(c.low), _end_of(c.high)
    return held_out(key, c.t, c.arm, c.label, c.probability, *model)


def record_from(key: str, content: DecisionContent) -> DecisionRecord:
    """What an entry says was decided under a key."""
    c = content
    note = None if c.note is None else policy_state_from_record(c.note)
    turn = None if c.turn is None else TURNS_BY_NAME[c.turn]
    decision = Decision(
        key, c.t, c.arm, c.label, c.explored, c.greedy, c.estimate, _end_of(c.low), _end_of(c.high),
        c.probability, reason_of(c.reason), c.chance, c.law,
    )  # fmt: skip
    return DecisionRecord(decision, _on_of(c.on), turn, note, c.loss, tuple(c.noticed), True, c.changes)


def _on_content(on: DesignRow) -> int | ArmInContext | list[float]:
    if isinstance(on, ArmRow):
        return ArmInContext(on.arm, on.context.tolist())
    return on if isinstance(on, int) else on.tolist()


def _end(end: float) -> float | str:
    """An end of an interval, which may be endless."""
    return end if LEAST < end < GREATEST else str(end)


def _end_of(end: float | str) -> float:
    """The end of an interval that `_end` gave."""
    return end if isinstance(end, float) else ENDS[end]


def _on_of(on: int | ArmInContext | list[float]) -> DesignRow:
    if isinstance(on, ArmInContext):
        return ArmRow(on.arm, np.array(on.context, dtype=np.float64))
    return on if isinstance(on, int) else np.array(on, dtype=np.float64)


def residue_of(number: int, content: DecisionContent) -> Residue:
    """What is left of a decision that is erased."""
    c = content
    return Residue(
        number=number,
        t=c.t,
        explored=c.explored,
        turn=c.turn,
        loss=c.loss,
        different=c.explored and c.arm != c.greedy,
        note=c.note,
    )
