"""What requests ask of a study, called as the study wants it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infex.bandit import Decision
from infex.errors import InvalidBody
from infex.service.answers import RewardAnswer
from infex.service.open_studies import thing_of
from infex.service.replays import key_of
from infex.service.shapes import AmendmentRequest, DecisionRequest, RewardRequest
from infex.study.commands import AskRow, TellRow
from infex.study.pause import paused_policy, resumed_policy
from infex.study.study import Study


def key_in(request: DecisionRequest, header: str | None) -> str:
    """The key of a decision: its own, or the Idempotency-Key."""
    if request.key is not None:
        return request.key
    return key_of(_needed(header, "key"))


def keys_in(many: Sequence[DecisionRequest], header: str | None) -> list[str]:
    """The keys of a batch: their own, or the Idempotency-Key with the row behind it."""
    return [
        f"{key_of(_needed(header, f'[{row}].key'))}#{row}" if each.key is None else each.key
        for row, each in enumerate(many)
    ]


def _needed(header: str | None, field: str) -> str:
    if header is None:
        raise InvalidBody(f"{field} is missing", field=field, expected="a key, or an Idempotency-Key")
    return header


def asked_one(study: Study, key: str, request: DecisionRequest) -> Decision:
    """The decision, not yet on disk."""
    return study.ask(key, unit=request.unit, durable=False, **_options(request))


def asked_all(study: Study, keys: list[str], many: Sequence[DecisionRequest]) -> list[Decision]:
    """The decisions, not yet on disk; if one is refused, none is taken."""
    if not all(map(_is_plain, many)):
        return study.ask_rows(list(map(_row, keys, many)), durable=False)
    contexts, units = [each.context for each in many], [each.unit for each in many]
    return study.ask_many(keys, contexts=_column(contexts), units=_column(units), durable=False)


def _is_plain(request: DecisionRequest) -> bool:
    """Does it ask with a context at the most, as columns of a batch can say it?"""
    return (
        request.arms is None
        and request.labels is None
        and request.allowed is None
        and request.offered is None
        and request.explore
    )


def _column(values: list[Any]) -> list[Any] | None:
    return None if values.count(None) == len(values) else values


def _row(key: str, request: DecisionRequest) -> AskRow:
    return AskRow(key, request.unit, _options(request))


def _options(request: DecisionRequest) -> dict[str, Any]:
    """What `Study.ask` is to be given; None was not said."""
    return {
        "context": request.context,
        "arms": request.arms,
        "labels": request.labels,
        "allowed": request.allowed,
        "offered": request.offered,
        "explore": None if request.explore else False,
    }


def told_one(study: Study, told: RewardRequest) -> RewardAnswer:
    """What has become of a decision whose reward was told, not yet on disk."""
    state = study.tell(told.key, told.reward, weight=told.weight, part=told.part, durable=False)
    return RewardAnswer(told.key, state.value)


def told_all(study: Study, many: Sequence[RewardRequest]) -> list[RewardAnswer]:
    """The same of many; if one is refused, none is told."""
    if all(each.weight == 1.0 and each.part is None for each in many):
        keys, rewards = [each.key for each in many], [each.reward for each in many]
        states = study.tell_many(keys, rewards, durable=False)
    else:
        rows = [TellRow(each.key, each.reward, each.weight, each.part) for each in many]
        states = study.tell_rows(rows, durable=False)
    return [RewardAnswer(each.key, state.value) for each, state in zip(many, states, strict=True)]


def amend_study(study: Study, change: AmendmentRequest) -> None:
    """One amendment for each of what is to change; the policy first."""
    policy = None if change.policy is None else thing_of(change.policy)
    if change.explore is not None:
        before = study.policy if policy is None else policy
        policy = resumed_policy(before) if change.explore else paused_policy(before)
    if policy is None and change.allowed is None:
        raise InvalidBody("nothing is to be changed", field="body", expected="policy, allowed or explore")
    study.amend(policy=policy, allowed=change.allowed, reason=change.reason)
