"""What requests ask of a study, called as the study wants it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from infex.errors import InfexError, InvalidBody
from infex.service.open_studies import thing_of
from infex.service.refusals import RefusedInBatch
from infex.service.replays import key_of
from infex.service.shapes import AmendmentRequest, DecisionRequest, RewardRequest
from infex.study.showing import paused_policy, policy_of, resumed_policy
from infex.study.study import Study

PER_KEY = {"context", "unit"}  # what a batch may have one of for each key


def keyed(many: Sequence[DecisionRequest], header: str | None) -> list[tuple[str, dict[str, Any]]]:
    """What is asked for each key; without keys the Idempotency-Key is taken, numbered in a batch."""
    found = []
    for place, each in enumerate(many):
        key = each.key
        if key is None:
            if header is None:
                raise InvalidBody("key is missing", field="key", expected="a key, or an Idempotency-Key")
            key = key_of(header) if len(many) == 1 else f"{key_of(header)}#{place}"
        options = {
            "context": each.context,
            "arms": each.arms,
            "labels": each.labels,
            "allowed": each.allowed,
            "offered": each.offered,
            "explore": None if each.explore else False,
            "unit": each.unit,
        }
        found.append((key, options))
    return found


def _given(options: dict[str, Any]) -> set[str]:
    return {word for word, value in options.items() if value is not None}


def asked_all(study: Study, keyed: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """The decisions, not yet on disk."""
    if len(keyed) > 1 and all(PER_KEY.issuperset(_given(options)) for _, options in keyed):
        with contextlib.suppress(InfexError):  # then one by one, which says where it was
            contexts, units = ([options[word] for _, options in keyed] for word in ("context", "unit"))
            with_contexts = None if contexts.count(None) == len(contexts) else contexts
            return study.ask_many(
                [key for key, _ in keyed], contexts=with_contexts, units=units, durable=False
            )
    found = []
    for place, (key, options) in enumerate(keyed):
        with _in_batch(place, len(keyed)):
            found.append(study.ask(key, durable=False, **options))
    return found


def told_all(study: Study, many: list[RewardRequest]) -> list[str]:
    """The states of decisions whose rewards were told, not yet on disk."""
    states = []
    for place, each in enumerate(many):
        with _in_batch(place, len(many)):
            state = study.tell(each.key, each.reward, weight=each.weight, part=each.part, durable=False)
            states.append(state.value)
    return states


@contextlib.contextmanager
def _in_batch(place: int, count: int) -> Iterator[None]:
    """Says of an error in a batch where it was; those before it stand."""
    try:
        yield
    except InfexError as error:
        if count == 1:
            raise
        raise RefusedInBatch(place, error) from error


def amend_study(study: Study, change: AmendmentRequest) -> None:
    """One amendment for each of what is to change; the policy first."""
    policy = None if change.policy is None else thing_of(change.policy)
    if change.explore is not None:
        before = policy_of(study) if policy is None else policy
        policy = resumed_policy(before) if change.explore else paused_policy(before)
    if policy is None and change.allowed is None:
        raise InvalidBody("nothing is to be changed", field="body", expected="policy, allowed or explore")
    study.amend(policy=policy, allowed=change.allowed, reason=change.reason)
