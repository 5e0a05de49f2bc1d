"""What a bandit says of its arms: a decision with its interval, and a table of all estimates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from infex import kernels
from infex.arrays import Integers
from infex.bandit.arms import Labels
from infex.bandit.decision import Decision
from infex.errors import InvalidChoice
from infex.linear import Evidence, Radius
from infex.linear.offers import radius_at
from infex.policies.choice import Reason
from infex.rounds import Taken

RadiusOf = Callable[[Evidence], Radius]


def explained(key: str, taken: Taken, evidence: Evidence, labels: Labels, radius: RadiusOf) -> Decision:
    """The decision of what was taken, with all that was known of its arm, among all those on offer."""
    place, explored, _, reason, _, probability, chance, law, _ = taken.choice
    arm = evidence.seat(place)
    estimate, greedy = evidence.estimate(arm), evidence.greedy
    if arm != greedy and not explored and estimate >= kernels.tie_limit(np.array(evidence.estimates)):
        greedy = arm
    margin = radius_at(radius(evidence), arm) * evidence.width(arm)
    if not margin >= 0.0:
        raise InvalidChoice(f"the radius of the policy must be a number from 0, got {radius(evidence)!r}")
    return Decision(
        key, taken.t, place, None if labels is None else labels[place], explored, evidence.place(greedy),
        estimate, estimate - margin, estimate + margin,
        probability, reason or (Reason.EXPLORED if explored else Reason.GREEDY), chance, law,
    )  # fmt: skip


def estimates_of(
    evidence: Evidence, labels: Labels, radius: RadiusOf, pulls: Integers | None
) -> np.recarray[Any, Any]:
    """One record for each arm: label, estimate, low, high, pulls."""
    margins = radius(evidence) * evidence.widths
    mean = evidence.estimates
    columns: dict[str, Any] = {
        "label": np.array([None] * len(evidence) if labels is None else labels, dtype=object),
        "estimate": mean,
        "low": mean - margins,
        "high": mean + margins,
        "pulls": np.zeros(len(evidence), dtype=np.int64) if pulls is None else pulls,
    }
    return np.rec.fromarrays(list(columns.values()), names=list(columns))  # type: ignore[call-overload, no-any-return]


def greedy_among(offers: np.recarray[Any, Any], places: list[int]) -> int:
    """The arm of the largest estimate among the arms at these places, the lowest index among ties."""
    estimates = np.ascontiguousarray(offers.estimate[places])
    return places[int(np.argmax(estimates >= kernels.tie_limit(estimates)))]
