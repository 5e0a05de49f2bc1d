"""Candidates race on paired problems; those that are clearly worse drop out."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from infex.checks import whole
from infex.environments import LinearInstance
from infex.linear.kernels import Floats
from infex.planning.beliefs import Belief
from infex.planning.candidates import Candidate
from infex.simulation import play_many
from infex.simulation.many import cores

FIRST = 16  # problems of the first heat
MOST = 4096
SURE = 2.0  # standard errors
FEW = 64  # problems on which a lane may look good by luck alone, as it fails but rarely
CAREFUL = 3.5  # standard errors up to there


@final
@dataclass(slots=True, eq=False)
class Lane:
    """One candidate and its runs so far: regret, and the part of it in exploring rounds."""

    candidate: Candidate
    regret: Floats = field(default_factory=lambda: np.zeros(0))
    cost: Floats = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        """Mean regret."""
        return float(self.regret.mean())

    def error(self) -> float:
        """The standard error of the mean regret."""
        return float(self.regret.std(ddof=1) / math.sqrt(self.regret.size))


@final
class Race:
    """Plays lanes on the same problems, until a deadline."""

    def __init__(self, belief: Belief, horizon: int, seed: int, workers: int | None, seconds: float) -> None:
        self.belief = belief
        self.horizon = horizon
        self.seed = seed
        self.workers = cores() if workers is None else whole("workers", workers, least=1)
        self.deadline = time.monotonic() + seconds
        self._problems: list[LinearInstance] = []

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def run(self, lane: Lane, problems: int) -> None:
        """Brings a lane to so many problems, in one thread."""
        missing = self._upto(problems)[lane.regret.size :]
        if not missing:
            return
        begun = time.monotonic()
        runs = play_many(missing, lane.candidate.policy, self.horizon, workers=1)
        lane.seconds += time.monotonic() - begun
        lane.regret = np.concatenate([lane.regret, [run.regret for run in runs]])
        lane.cost = np.concatenate([lane.cost, [run.regret_exploring for run in runs]])

    def heat(self, lanes: list[Lane], problems: int, progress: Any = None) -> list[Lane]:
        """Brings lanes to so many problems while time is left; those that got there."""
        self._upto(problems)

        def one(lane: Lane) -> None:
            if self.left() > 0:
                self.run(lane, problems)
                if progress is not None:
                    progress(lane)

        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(one, lanes))
        return [lane for lane in lanes if lane.regret.size >= problems]

    def _upto(self, problems: int) -> list[LinearInstance]:
        while len(self._problems) < problems:
            self._problems.append(self.belief.instance(len(self._problems), self.seed))
        return self._problems[:problems]


def difference(one: Lane, other: Lane) -> tuple[float, float]:
    """The mean of paired differences in regret, and its standard error."""
    n = min(one.regret.size, other.regret.size)
    gaps = one.regret[:n] - other.regret[:n]
    if n < 2:
        return float(gaps.mean()), math.inf
    return float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(n))


def leader(lanes: list[Lane]) -> Lane:
    """The lane of the lowest mean regret."""
    return min(lanes, key=lambda lane: lane.mean)


def survivors(lanes: list[Lane]) -> list[Lane]:
    """The lanes that are not clearly worse than the leader."""
    first = leader(lanes)
    kept = []
    for lane in lanes:
        mean, error = difference(lane, first)
        sure = CAREFUL if lane.regret.size <= FEW else SURE
        if lane is first or mean - sure * error <= 0.0:
            kept.append(lane)
    return kept


def near(lanes: list[Lane], slack: float) -> list[Lane]:
    """The lanes shown to be within a factor 1 + slack of the leader."""
    first = leader(lanes)
    found = [first]
    for lane in lanes:
        mean, error = difference(lane, first)
        if lane is not first and mean + SURE * error <= slack * first.mean:
            found.append(lane)
    return found


def is_settled(chosen: Lane, lanes: list[Lane], slack: float) -> bool:
    """Can no other lane be better than the chosen one by more than a factor 1 + slack?"""
    for lane in lanes:
        if lane is not chosen:
            mean, error = difference(chosen, lane)
            if mean + SURE * error > slack * lane.mean:
                return False
    return True
