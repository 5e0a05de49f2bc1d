"""A plan at d = 10, K = 100 and 10,000 rounds, as a user asks for it."""

import time
from typing import NamedTuple

import infex

SECONDS_ALLOWED = 30.0


class PlanRow(NamedTuple):
    """What a plan took, and what it came to."""

    seconds: float
    settled: bool
    explorations: int
    problems: int
    ratio: tuple[float, float, float]


def settled_plan() -> PlanRow:
    """The plan to be settled within 30 seconds on two quiet cores, with at most 1,000 explorations."""
    infex.lab.plan(dim=2, arms_count=3, horizon=50, seconds=0.1)  # so that nothing is compiled any more
    begun = time.perf_counter()
    found = infex.lab.plan(dim=10, arms_count=100, horizon=10_000, keep_within=1.25, seconds=SECONDS_ALLOWED)
    took, chosen = time.perf_counter() - begun, found.chosen()
    return PlanRow(took, found.settled, found.explorations, chosen.problems, chosen.ratio)
