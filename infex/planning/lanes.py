"""One candidate's runs so far, and what they tell of two candidates on the same problems."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.planning.candidates import Candidate

NEIGHBOURS_WEIGHT = 16  # problems that a candidate's neighbours count for, because it may have been lucky
PROBLEMS_TO_SHOW = 16  # fewer cannot show that two candidates are near
PROBLEMS_TO_SETTLE = 64  # on fewer, a candidate that fails rarely may look good
ERROR_CHANCE = 0.025  # the chance to drop a candidate that is as good as the leader


@final
@dataclass(slots=True, eq=False)
class Lane:
    """One candidate and its runs so far: rounds, regret, and the part of the regret in exploring rounds."""

    candidate: Candidate
    rounds: int = 0
    regret: Floats = field(default_factory=lambda: np.zeros(0))
    cost: Floats = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0  # that one run of so many rounds takes
    near: list[Lane] = field(default_factory=list, repr=False)
    mean: float = 0.0  # of the regret

    def take(self, regret: Floats, cost: Floats) -> None:
        """Keeps these figures of its runs."""
        self.regret, self.cost, self.mean = regret, cost, float(regret.mean())

    def careful(self) -> float:
        """Mean regret, as far as it may be trusted: with few problems it is mostly that of the neighbours.

        A neighbour that played fewer rounds counts if it lost more by then. With many problems neighbours
        fade out.
        """
        others = [
            lane.mean if lane.rounds >= self.rounds else max(lane.mean, self.mean)
            for lane in self.near
            if lane.regret.size
        ]
        if not others:
            return self.mean
        n = self.regret.size
        weight = NEIGHBOURS_WEIGHT * min(1.0, PROBLEMS_TO_SETTLE / n) ** 2
        return (n * self.mean + weight * sum(others) / len(others)) / (n + weight)


def line_up(grid: list[Candidate]) -> list[Lane]:
    """A lane for each candidate; each lane knows its neighbours."""
    lanes = [Lane(candidate) for candidate in grid]
    places = {place: lane for lane in lanes for place in lane.candidate.places}
    for lane in lanes:
        steps = [step for place in lane.candidate.places for step in place.steps()]
        around = {id(places[step]): places[step] for step in steps if step in places}
        lane.near = [each for each in around.values() if each is not lane]
    return lanes


def is_worse(lane: Lane, leader: Lane, slack: float) -> bool:
    """Has a lane, in its rounds so far, clearly lost too much against what the leader loses in all rounds?

    Too much is more than the leader or, for a lane that explores less often, 1 + slack times as much.
    """
    if lane is leader or not lane.rounds:
        return False
    allowance = slack if lane.candidate.explorations < leader.candidate.explorations else 0.0
    lucky = (1.0 + allowance) * max(leader.careful() - leader.mean, 0.0)
    return is_clearly_above(_gaps(lane, leader, allowance), lucky)


def is_within(lane: Lane, other: Lane, slack: float) -> bool:
    """Is the regret of a lane shown to be at most 1 + slack times that of another?"""
    gaps = _gaps(lane, other, slack)
    loses = lane.regret[: gaps.size].any()  # what loses nothing is as good as anything
    return not loses or is_clearly_above(-gaps, 0.0)


def is_beyond(lane: Lane, other: Lane, slack: float) -> bool:
    """Is the regret of a lane shown to be more than 1 + slack times that of another?"""
    return is_clearly_above(_gaps(lane, other, slack), 0.0)


def is_near(lane: Lane, other: Lane, factor: float, doubts: float) -> bool:
    """Is a lane within a factor of another by careful means, give or take some standard errors?"""
    gap = lane.careful() - factor * other.careful()
    return gap <= 0.0 or (doubts > 0.0 and gap <= doubts * _error(_gaps(lane, other, factor - 1.0)))


def _gaps(lane: Lane, other: Lane, slack: float) -> Floats:
    n = min(lane.regret.size, other.regret.size)
    gaps: Floats = lane.regret[:n] - (1.0 + slack) * other.regret[:n]
    return gaps


def is_clearly_above(values: Floats, limit: float) -> bool:
    """Is the mean of values clearly greater than a limit?"""
    return float(values.mean()) - _doubts(values.size) * _error(values) > limit


def student(chance: float, freedom: int) -> float:
    """The quantile of Student's law, by four terms about the normal one: 3.16 for 3.18 at 0.975 and 3.

    (Abramowitz and Stegun, 1964, 26.7.5.)
    """
    z = NormalDist().inv_cdf(chance)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))


@lru_cache(maxsize=64)
def _doubts(problems: int) -> float:
    """How many standard errors make a difference clear."""
    return student(1.0 - ERROR_CHANCE, problems - 1) if problems > 1 else math.inf


def _error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf
