"""What changes a study, under the lock of its desk: asked, told, passed, amended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from infex.bandit import Decision
from infex.bandit.bandit import Correction
from infex.checks import safe_repr
from infex.errors import AlreadyTold, AnotherRequest, InfexError, InvalidSetting, UnknownDecision
from infex.study.cases import Case, EntryKind, RewardState, held_case
from infex.study.contents import (
    CONTENT_VERSION,
    AmendmentContent,
    RewardContent,
    decision_content,
    held_content,
)
from infex.study.desk import Desk
from infex.study.holding_out import held_decision, is_held
from infex.study.plain_requests import Request, checked_key
from infex.study.standing import Standing


class KeyedRequest(NamedTuple):
    """A key, whom it is about, and what is asked for it."""

    key: str
    unit: str
    request: Request


class KeyedReward(NamedTuple):
    """A key, and what is told of it."""

    key: str
    content: RewardContent


Row = TypeVar("Row")
Gives = TypeVar("Gives")
FirstTold = tuple[str, str | None]  # a key, and the part of its reward


def ask_one(desk: Desk, question: KeyedRequest) -> tuple[Decision, int]:
    """The decision of a key, taken now or before, and the entry that it rests on."""
    return _ask(desk, expired(desk), question)


def ask_all(desk: Desk, questions: Sequence[KeyedRequest]) -> tuple[list[Decision], int]:
    """The decisions of many keys, and the last entry that they rest on; if one is refused, there is none.

    What can be seen before the first is decided costs nothing; after that the state is built anew.
    """
    now = expired(desk)
    asked = dict[str, Request]()
    row_by_row(questions, lambda _, one: _refuse_question(desk, one, asked.setdefault(one.key, one.request)))
    return _together(row_by_row(questions, lambda _, one: _ask(desk, now, one)))


def _together(found: list[tuple[Gives, int]]) -> tuple[list[Gives], int]:
    """All answers, and the last entry that they rest on."""
    return [answer for answer, _ in found], max((number for _, number in found), default=0)


def _ask(desk: Desk, now: int, question: KeyedRequest) -> tuple[Decision, int]:
    key, unit, request = question
    case = desk.find(key)
    if case is not None:
        return _decision_again(key, case, request), case.decided
    standing = desk.standing
    if is_held(standing.bandit.seed, unit or key, standing.rules.holdout):
        return _hold_out(desk, key, unit, request, now)
    return _decide(desk, now, question)


def _decide(desk: Desk, now: int, question: KeyedRequest) -> tuple[Decision, int]:
    """Decides for a key that has no decision; its entry."""
    key, unit, request = question
    record = desk.standing.bandit.decide(**request.options, id=key)
    content = decision_content(record, request.encoded)
    number = desk.write(EntryKind.DECISION, key, unit, now, content)  # it may fail: nothing has changed yet
    desk.standing.bandit.enter(record)
    desk.standing.begin(number, key, unit, now, record, request.digest)
    return record.decision, number


def _refuse_question(desk: Desk, question: KeyedRequest, first: Request) -> None:
    """Refuses what the state as it is refuses, and what differs from the first request of the same key."""
    key, unit, request = question
    _refuse_another(key, first.digest, request)
    case = desk.find(key)
    if case is not None:
        _decision_again(key, case, request)
    elif is_held(desk.standing.bandit.seed, unit or key, desk.standing.rules.holdout):
        _held_answer(desk.standing, key, request)
    else:
        desk.standing.bandit.decide(**request.options, id=key)


def row_by_row(rows: Sequence[Row], do: Callable[[int, Row], Gives], first: int = 0) -> list[Gives]:
    """What comes of each row of a batch from a place on; an error says in which row, and of which key."""
    rows, place, found = list(rows), first, list[Gives]()
    try:
        for place, row in enumerate(rows, first):
            found.append(do(place, row))
    except InfexError as error:
        row = rows[place - first]
        key = row[0] if isinstance(row, tuple) else row  # all else of a row is somebody's data
        refused = type(error)(f"row {place}, {safe_repr(key)}: {error}. Nothing of this batch was taken in")
        refused.row = place
        raise refused from error
    return found


def _hold_out(desk: Desk, key: str, unit: str, request: Request, now: int) -> tuple[Decision, int]:
    """The decision of the fixed policy."""
    standing = desk.standing
    decision = _held_answer(standing, key, request)
    content = held_content(decision, request.encoded)
    number = desk.write(EntryKind.HELD, key, unit, now, content)
    standing.hold(key, held_case(key, unit, now, number, content))
    return decision, number


def _held_answer(standing: Standing, key: str, request: Request) -> Decision:
    way = standing.rules.holdout_policy
    return held_decision(standing.bandit, standing.frozen, way, key, request.options)


def tell_one(desk: Desk, told: KeyedReward) -> tuple[RewardState, int]:
    """The state that a decision has once this was told of it, and the entry that it rests on."""
    return _tell(desk, expired(desk), told)


def tell_all(desk: Desk, every: Sequence[KeyedReward]) -> tuple[list[RewardState], int]:
    """The same for many rewards: if one is refused, none was told."""
    now, sums, firsts = expired(desk), desk.standing.rules.sums, dict[FirstTold, RewardContent]()

    def refuse(_: int, keyed: KeyedReward) -> None:
        _refuse_reward(desk, keyed)
        _refuse_differing(sums, firsts, keyed)

    row_by_row(every, refuse)
    return _together(row_by_row(every, lambda _, keyed: _tell(desk, now, keyed)))


def _refuse_reward(desk: Desk, told: KeyedReward) -> None:
    """Refuses what the state as it is refuses."""
    case, standing = known_case(desk, told.key), desk.standing
    if not _repeats(standing, case, told) and not case.held and case.is_open:
        standing.bandit.refuse_reward(told.content.reward or 0.0)


def _refuse_differing(sums: bool, firsts: dict[FirstTold, RewardContent], told: KeyedReward) -> None:
    """Refuses what a row before rules out: found after that row was told, the state would be built anew."""
    key, again = told
    part = again.part if sums else None
    first = firsts.setdefault((key, part), again)
    counts_once = not sums or part is not None
    if first.weight != again.weight or (counts_once and first.reward != again.reward):
        raise AlreadyTold(
            f"decision {key!r} has the reward {first.reward!r} (weight {first.weight!r}) in a row before; "
            f"this one says {again.reward!r} (weight {again.weight!r})"
        )


def _repeats(standing: Standing, case: Case, told: KeyedReward) -> bool:
    key, content = told
    return case.repeats(key, content.reward or 0.0, content.weight, content.part, standing.rules.sums)


def _tell(desk: Desk, now: int, told: KeyedReward) -> tuple[RewardState, int]:
    key, content = told
    case = known_case(desk, key)
    if _repeats(desk.standing, case, told):
        return case.state, case.number
    late = case.state is RewardState.DEFAULTED
    if case.is_open and not case.held and case.decision is not None and content.reward is not None:
        bandit = desk.standing.bandit
        content = _numbered(content, bandit.correction(case.decision, content.reward, content.weight))
    return _enter(desk, EntryKind.LATE if late else EntryKind.REWARD, key, case, now, content)


def correct_one(desk: Desk, key: str, content: RewardContent) -> tuple[RewardState, int]:
    """The state of a decision whose reward was wrong, and is this one."""
    now = expired(desk)
    case = known_case(desk, key)
    if case.is_open or case.decision is None or content.reward is None:
        why = "waits for its first reward: tell it" if case.is_open else "was erased"
        raise UnknownDecision(f"decision {key!r} {why}")
    if case.reward == content.reward:
        return case.state, case.number
    if case.reward is None and not case.held:
        bandit = desk.standing.bandit
        _, on = desk.standing.placed(case)
        content = _numbered(content, bandit.correction(case.decision, content.reward, 1.0, on))
    return _enter(desk, EntryKind.CORRECTION, key, case, now, content)


def _numbered(content: RewardContent, known: Correction) -> RewardContent:
    """With what must be known of it, if the reward is changed later."""
    number, explored_number = known.numbers
    return msgspec.structs.replace(content, counted=known.counted, turn=number, own_turn=explored_number)


def expired(desk: Desk) -> int:
    """The time, at which decisions whose own has passed take the default reward; that stays."""
    now = desk.now()
    if desk.standing.due and desk.standing.due[0][0] <= now:
        expire(desk, now)
        desk.settle()
    return now


def expire(desk: Desk, now: int) -> None:
    """Decisions whose time has passed take the default reward."""
    for key in desk.standing.passed(now):
        case, default = desk.standing.cases[key], desk.standing.rules.default
        content = RewardContent(v=CONTENT_VERSION, reward=default)
        if default is not None and case.decision is not None and not case.held:
            content = _numbered(content, desk.standing.bandit.correction(case.decision, default, 1.0))
        _enter(desk, EntryKind.DEFAULTED, key, case, now, content)


def known_case(desk: Desk, key: str) -> Case:
    """The case of a key; UnknownDecision if it never had a decision."""
    case = desk.find(checked_key(key))
    if case is None:
        raise UnknownDecision(f"the study {desk.name!r} never took a decision {key!r}")
    return case


def amend_one(desk: Desk, what: str, to: object, reason: str) -> None:
    """Changes one setting, and waits for the disk."""
    if not isinstance(reason, str):
        raise InvalidSetting(f"reason must be a text, got {reason!r}")
    content = AmendmentContent(v=CONTENT_VERSION, what=what, to=to, reason=reason)

    def work() -> tuple[None, int]:
        number = desk.standing.number + 1
        desk.standing.amend(number, content)
        desk.write(EntryKind.AMENDMENT, "", "", desk.now(), content)
        return None, number

    desk.run(work, True)


def _enter(
    desk: Desk, kind: EntryKind, key: str, case: Case, now: int, content: RewardContent
) -> tuple[RewardState, int]:
    """Enters what is told of a case, and writes it."""
    number = desk.standing.number + 1
    desk.standing.reward(kind, number, key, now, content, case)
    desk.write(kind, key, case.unit, now, content)
    desk.close_case(key, case)
    return case.state, number


def _decision_again(key: str, case: Case, request: Request) -> Decision:
    """The decision that was taken, if the same was asked."""
    if case.decision is None:
        raise UnknownDecision(f"decision {key!r} was erased: choose another key")
    _refuse_another(key, case.digest, request)
    return case.decision


def _refuse_another(key: str, digest: bytes, request: Request) -> None:
    if digest != request.digest:
        raise AnotherRequest(
            f"something else was asked under the key {key!r} before: a key stands for one request"
        )
