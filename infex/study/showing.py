"""What a study shows of itself, and changes that people make by a switch: pause, resume, and a preview."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from infex.arrays import Label
from infex.errors import InfexError, InvalidSetting
from infex.policies.base import Policy
from infex.policies.controls import Control, Guarded, Limited, Paused
from infex.policies.infex import Infex
from infex.registry import label_of
from infex.schedules import always
from infex.schedules.base import Schedule
from infex.schedules.combined import Budget
from infex.study.study import Study
from infex.study.study_settings import refuse_different

PAUSE = always()


class ShownLimit(NamedTuple):
    """A limit of the policy in force: on "cost" or on "explorations", in all or in a window of rounds."""

    what: str
    limit: float
    window: int | None


class ShownStudy(NamedTuple):
    """A study at a glance: its policy as text, whether exploring is paused, its arms, rounds and limits."""

    policy: str
    paused: bool
    labels: tuple[Label, ...] | None
    rounds: int
    limits: tuple[ShownLimit, ...]


def shown_study(study: Study) -> ShownStudy:
    """What is in force now."""

    def look() -> ShownStudy:
        bandit = study._desk.standing.bandit
        policy = bandit.policy
        labels = None if bandit.labels is None else tuple(bandit.labels)
        return ShownStudy(label_of(policy), is_paused(policy), labels, bandit.t, tuple(limits_of(policy)))

    return study._desk.look(look)


def policy_of(study: Study) -> Policy:
    """The policy in force."""
    return study._desk.look(lambda: study._desk.standing.bandit.policy)


def pending_count(study: Study) -> int:
    """How many decisions wait for their rewards."""
    return len(study._desk.standing.cases)


def new_count(study: Study, keys: Collection[str]) -> int:
    """How many of these keys have no decision."""
    known = study._desk.standing.keys
    return sum(key not in known for key in set(keys))


def refuse_other_settings(study: Study, given: Mapping[str, object]) -> None:
    """Refuses settings that differ from those in force (OtherSettings says which)."""
    study._desk.look(lambda: refuse_different(study.name, study._desk.standing.settings, given))


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


def limits_of(policy: Policy) -> Iterator[ShownLimit]:
    """The limits that a policy of a schedule has, the outermost first."""
    inner = policy.schedule if isinstance(policy, Infex) else None
    while inner is not None:
        if isinstance(inner, Guarded):
            yield ShownLimit("cost", inner.cost_limit, inner.window)
        elif isinstance(inner, Limited | Budget):
            yield ShownLimit(
                "explorations", inner.limit, inner.window if isinstance(inner, Limited) else None
            )
        inner = inner.schedule if isinstance(inner, Control | Budget) else None


def planned_count(policy: Policy, first: int, last: int) -> int | None:
    """How many of the rounds first, ..., last a policy plans to explore; None where that is not known.

    >>> from infex import LinUCB, every
    >>> planned_count(Infex(LinUCB(), every(50)), 51, 100), planned_count(LinUCB(), 1, 10)
    (1, None)
    """
    schedule = planned_schedule(policy)
    if schedule is None or is_paused(policy):
        return None if schedule is None else 0
    try:
        return schedule.count(last) - schedule.count(first - 1)
    except (InfexError, NotImplementedError, AttributeError):
        return None


def planned_schedule(policy: Policy) -> Schedule | None:
    """The schedule inside a policy, without any control."""
    if not isinstance(policy, Infex):
        return None
    return policy.schedule.planned if isinstance(policy.schedule, Control) else policy.schedule
