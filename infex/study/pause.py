"""Pausing exploration: a policy that skips what is due, its limits, and how often it plans to explore."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from infex.errors import InfexError, InvalidSetting
from infex.policies.base import Policy
from infex.policies.controls import Control, Guarded, Limited, Paused
from infex.policies.infex import Infex
from infex.registry import label_of
from infex.schedules import always
from infex.schedules.combined import Budget

PAUSE = always()


class Limit(NamedTuple):
    """A limit of the policy in force: on "cost" or on "explorations", in all or in a window of rounds."""

    what: str
    limit: float
    window: int | None


def is_paused(policy: Policy) -> bool:
    """Was exploring paused by `paused_policy`?"""
    return isinstance(policy, Infex) and isinstance(policy.schedule, Paused) and policy.schedule.when == PAUSE


def paused_policy(policy: Policy) -> Policy:
    """The same policy, with all that is due skipped as paused; itself if it is paused already.

    >>> from infex import LinUCB, every
    >>> paused_policy(Infex(LinUCB(), every(50))).schedule
    paused(every(50), always(), missed='drop')
    """
    if is_paused(policy):
        return policy
    if not isinstance(policy, Infex):
        raise InvalidSetting(f"only a policy with a schedule can be paused, this is {label_of(policy)}")
    return replace(policy, schedule=Paused(policy.schedule, PAUSE))


def resumed_policy(policy: Policy) -> Policy:
    """The policy that `paused_policy` was given; itself if it is not paused."""
    if isinstance(policy, Infex) and isinstance(policy.schedule, Paused) and is_paused(policy):
        return replace(policy, schedule=policy.schedule.schedule)
    return policy


def limits_of(policy: Policy) -> Iterator[Limit]:
    """The limits that a policy of a schedule has, the outermost first."""
    inner = policy.schedule if isinstance(policy, Infex) else None
    while inner is not None:
        if isinstance(inner, Guarded):
            yield Limit("cost", inner.cost_limit, inner.window)
        elif isinstance(inner, Limited | Budget):
            yield Limit("explorations", inner.limit, inner.window if isinstance(inner, Limited) else None)
        inner = inner.schedule if isinstance(inner, Control | Budget) else None


def planned_count(policy: Policy, first: int, last: int) -> int | None:
    """How many of the rounds first, ..., last a policy plans to explore; None where that is not known.

    >>> from infex import LinUCB, every
    >>> planned_count(Infex(LinUCB(), every(50)), 51, 100), planned_count(LinUCB(), 1, 10)
    (1, None)
    """
    if not isinstance(policy, Infex):
        return None
    if is_paused(policy):
        return 0
    schedule = policy.schedule.planned if isinstance(policy.schedule, Control) else policy.schedule
    try:
        return schedule.count(last) - schedule.count(first - 1)
    except (InfexError, NotImplementedError, AttributeError):
        return None
