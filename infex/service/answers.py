"""What answers say: each as a type, from which it is written and documented."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import msgspec

from infex.bandit import Decision


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What answers have in common: every field is there, null where there is no value."""


class DecisionAnswer(Answer, frozen=True, gc=False):
    """A decision that is on disk. `low` and `high` are null where the interval has no end.

    `round` counts from 1. `greedy` is the arm of the largest estimate among those offered, also where another
    rule decided (`reason` "held out"); `estimate` is that of this arm. `propensity` is the probability of
    this arm, `explore_probability` that of exploring, `base_propensity` that of this arm given that the round
    explores; null where not known.
    """

    key: str
    round: int
    arm: int
    label: str | int | None
    explored: bool
    reason: str
    greedy: int
    estimate: float
    low: float | None
    high: float | None
    propensity: float | None
    explore_probability: float | None
    base_propensity: float | None


class RewardAnswer(Answer, frozen=True, gc=False):
    """What has become of the reward of a decision: pending, rewarded, defaulted, late, corrected, erased."""

    key: str
    state: str


class StudyAnswer(Answer, frozen=True, kw_only=True):
    """A study at a glance."""

    name: str
    policy: str
    paused: bool
    arms: list[str | int] | None
    figures: dict[str, Any]


class ExplainAnswer(Answer, frozen=True, kw_only=True):
    """Why a decision was taken, and whether the journal gives it again."""

    key: str
    why: dict[str, Any]


class PreviewAnswer(Answer, frozen=True, kw_only=True):
    """How often a policy would explore in the next `rounds`; `basis` says why these are so many.

    `now` is what the policy in force would do. A number is null where the schedule does not tell.
    """

    policy: str
    rounds: int
    basis: str
    explorations: int | None
    now: int | None


class HealthAnswer(Answer, frozen=True, kw_only=True):
    """Does it work? Everybody may ask, so that it tells nothing of the studies."""

    status: str
    version: str


class RefusalAnswer(Answer, frozen=True, kw_only=True):
    """Why a request was refused: the field, its value unless that is private, and what would be right."""

    error: str
    message: str
    field: str | None = None
    value: str | None = None
    expected: str | None = None


ANSWERED = (
    "id", "t", "arm", "label", "explored", "reason", "greedy", "estimate", "low", "high", "propensity",
    "explore_probability", "base_propensity",
)  # fmt: skip
"""The fields of a decision in the order of its answer."""
FIELDS_ANSWERED = itemgetter(*map(Decision._fields.index, ANSWERED))


def decision_answer(decision: Decision) -> DecisionAnswer:
    """A decision as it is answered; what is not finite is written as null."""
    return DecisionAnswer(*FIELDS_ANSWERED(decision))
