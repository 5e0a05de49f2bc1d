"""What changes a study, under the lock of its desk: asked, told, passed, amended."""

from __future__ import annotations

import msgspec

from infex.bandit import Decision
from infex.bandit.journaling import Prepared, decide_own, prepared
from infex.errors import AnotherRequest, InvalidSetting, UnknownDecision
from infex.study.cases import Case, EntryKind, RewardState, held_case
from infex.study.contents import (
    CONTENT_VERSION,
    AmendmentContent,
    HeldContent,
    RewardContent,
    decision_content,
)
from infex.study.desk import Desk
from infex.study.holding_out import held_decision, is_held
from infex.study.plain_requests import Request, checked_key
from infex.version import __version__


def ask_one(desk: Desk, key: str, unit: str, request: Request) -> tuple[Decision, int]:
    """The decision of a key, taken now or before, and the entry that it rests on."""
    now = desk.now()
    expire(desk, now)
    case = desk.find(key)
    if case is not None:
        return _decision_again(key, case, request), case.decided
    standing = desk.standing
    if is_held(standing.bandit.seed, unit or key, standing.rules.holdout):
        return _hold_out(desk, key, unit, request, now)
    decided = decide_own(standing.bandit, request.options, key)
    number = desk.write(EntryKind.DECISION, key, unit, now, decision_content(decided, request.encoded))
    standing.decide(number, key, unit, now, decided, request.digest)
    return decided.decision, number


def _hold_out(desk: Desk, key: str, unit: str, request: Request, now: int) -> tuple[Decision, int]:
    """The decision of the fixed policy."""
    standing = desk.standing
    decision = held_decision(
        standing.bandit, standing.frozen, standing.rules.holdout_policy, key, request.options
    )
    content = HeldContent(
        v=CONTENT_VERSION,
        request=msgspec.Raw(request.encoded),
        t=decision.t,
        arm=decision.arm,
        label=decision.label,
        probability=decision.probability or 0.0,
        by=__version__,
    )
    number = desk.write(EntryKind.HELD, key, unit, now, content)
    standing.hold(key, held_case(key, unit, now, number, content))
    return decision, number


def tell_one(desk: Desk, key: str, content: RewardContent) -> tuple[RewardState, int]:
    """The state that a decision has once this was told of it, and the entry that it rests on."""
    now = desk.now()
    expire(desk, now)
    case = known_case(desk, key)
    sums = desk.standing.rules.sums
    if case.repeats(key, content.reward or 0.0, content.weight, content.part, sums):
        return case.state, case.number
    late = case.state is RewardState.DEFAULTED
    if case.is_open and not case.held and case.decision is not None and content.reward is not None:
        bandit = desk.standing.bandit
        content = _numbered(content, prepared(bandit, case.decision, content.reward, content.weight))
    return _enter(desk, EntryKind.LATE if late else EntryKind.REWARD, key, case, now, content)


def correct_one(desk: Desk, key: str, content: RewardContent) -> tuple[RewardState, int]:
    """The state of a decision whose reward was wrong, and is this one."""
    now = desk.now()
    expire(desk, now)
    case = known_case(desk, key)
    if case.is_open or case.decision is None or content.reward is None:
        why = "waits for its first reward: tell it" if case.is_open else "was erased"
        raise UnknownDecision(f"decision {key!r} {why}")
    if case.reward == content.reward:
        return case.state, case.number
    if case.reward is None and not case.held:
        bandit = desk.standing.bandit
        content = _numbered(content, prepared(bandit, case.decision, content.reward, 1.0, case.on))
    return _enter(desk, EntryKind.CORRECTION, key, case, now, content)


def _numbered(content: RewardContent, known: Prepared) -> RewardContent:
    """With what must be known of it, if the reward is changed later."""
    return msgspec.structs.replace(content, counted=known.counted, turn=known.turn, own_turn=known.own_turn)


def expire(desk: Desk, now: int) -> None:
    """Decisions whose time has passed take the default reward."""
    for key in desk.standing.passed(now):
        case, default = desk.standing.cases[key], desk.standing.rules.default
        content = RewardContent(v=CONTENT_VERSION, reward=default)
        if default is not None and case.decision is not None and not case.held:
            content = _numbered(content, prepared(desk.standing.bandit, case.decision, default, 1.0))
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
    if case.digest != request.digest:
        raise AnotherRequest(
            f"something else was asked under the key {key!r} before: a key stands for one request"
        )
    return case.decision
