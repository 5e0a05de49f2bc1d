"""Decisions without their ids, which no two bandits share."""

from typing import Any

from infex import Decision
from infex.models import Posterior
from infex.policies.base import policy_info, propensity_allowed


def unnamed(decision: Decision) -> Decision:
    """The decision, with no id."""
    return decision._replace(id="")


def all_unnamed(decisions: Any) -> list[Decision]:
    """Several, with no ids."""
    return [unnamed(decision) for decision in decisions]


def probability(policy: Any, t: int, posterior: Posterior, arm: int) -> float | None:
    """The chance that a bandit's policy picks an arm, if the policy tells."""
    return propensity_allowed(policy_info(policy), t, posterior, arm)
