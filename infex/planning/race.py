"""Candidates race on paired problems; those that are clearly worse drop out.

Regret never falls from one round to the next. So a candidate that has lost more after a quarter of the
rounds than another one in all of them is worse, and long runs are spent on few: all candidates play
a short part of the horizon, and the one that has lost least so far is always the next to go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import whole
from infex.environments import LinearInstance
from infex.planning.beliefs import Belief
from infex.planning.candidates import Candidate, Limits
from infex.simulation import play_many
from infex.simulation.many import cores

FIRST_HEAT, LAST_HEAT = 4, 4096  # problems of a heat; each heat has twice those of the one before
ROUNDS_FACTOR = 4  # a run that goes on has so many times its rounds
FIRST_ROUNDS = 500  # the shortest part of the horizon is at least so long
LANES_AT_ONCE = 8  # whatever the number of threads, so that these change nothing
NEIGHBOURS_WEIGHT = 16  # problems that a candidate's neighbours count for, because it may have been lucky
LIKE_REGRET_FACTOR = 1.5  # within this factor of the least regret, a lane that explores less goes on first
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


@final
class Race:
    """Plays lanes on the same problems, until a deadline."""

    def __init__(
        self,
        belief: Belief,
        horizon: int,
        seed: int,
        workers: int | None,
        allowed: Limits,
        slack: float,
        seconds: float,
    ) -> None:
        self.belief = belief
        self.horizon = horizon
        self.seed = seed
        self.workers = cores() if workers is None else whole("workers", workers, least=1)
        self.allowed = allowed
        self.slack = slack
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.problems: list[LinearInstance] = []

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def run(self, lane: Lane, problems: int, rounds: int, workers: int = 1) -> None:
        """Brings a lane to so many problems and rounds."""
        kept = lane.regret.size if lane.rounds == rounds else 0
        missing = self.upto(problems)[kept:]
        if not missing:
            return
        begun = time.thread_time()
        seeds = range(kept, problems)  # two problems may be alike, but not their noise
        runs = play_many(missing, lane.candidate.policy, rounds, seeds, workers=workers, paired=True)
        lane.seconds = (time.thread_time() - begun) / len(missing)
        lane.take(
            np.concatenate([lane.regret[:kept], [run.regret for run in runs]]),
            np.concatenate([lane.cost[:kept], [run.regret_exploring for run in runs]]),
        )
        lane.rounds = rounds

    def upto(self, problems: int) -> list[LinearInstance]:
        """The first problems."""
        while len(self.problems) < problems:
            self.problems.append(self.belief.instance(len(self.problems), self.seed))
        return self.problems[:problems]

    def heat(
        self, lanes: list[Lane], problems: int, listener: Callable[[int], None]
    ) -> tuple[list[Lane], bool]:
        """Brings lanes to so many problems, until they are clearly worse or have played all rounds.

        Those that are left, and whether there was time for all of them. The listener hears how many are left.
        """
        self.upto(problems)
        alive, leader = lanes, None
        with ThreadPoolExecutor(self.workers) as pool:
            while True:
                listener(len(alive))
                waiting = [lane for lane in alive if not self.is_done(lane, problems)]
                ready = [lane for lane in waiting if self.takes(lane, problems) < self.left()]
                if not ready and not any(lane.rounds for lane in alive):
                    ready = waiting[:1]  # there must be an answer, however short the time
                if not ready:
                    return alive, not waiting
                going = sorted(ready, key=_turn)[:LANES_AT_ONCE]
                list(pool.map(lambda lane: self._go_on(lane, problems), going))
                before, leader = leader, self.leader(alive)
                moved = going if leader is before and leader not in going else alive
                out = {id(lane) for lane in moved if self._is_out(lane, leader)}
                alive = [lane for lane in alive if id(lane) not in out]

    def is_done(self, lane: Lane, problems: int) -> bool:
        """Has a lane played all rounds of so many problems?"""
        return lane.rounds == self.horizon and lane.regret.size >= problems

    def takes(self, lane: Lane, problems: int) -> float:
        """About the seconds that its next step takes, judged by its last step."""
        rounds = self._next(lane.rounds)
        if rounds == lane.rounds:
            return lane.seconds * (problems - lane.regret.size)
        return lane.seconds * problems * (rounds / lane.rounds if lane.rounds else 0.0)

    def _go_on(self, lane: Lane, problems: int) -> None:
        if not lane.rounds or self.takes(lane, problems) < self.left():
            self.run(lane, problems, self._next(lane.rounds))

    def _next(self, rounds: int) -> int:
        """The rounds to go on to: from a short part of the horizon, by factors, to all of it."""
        parts = [self.horizon]
        while parts[-1] >= ROUNDS_FACTOR * FIRST_ROUNDS:
            parts.append(parts[-1] // ROUNDS_FACTOR)
        return min((each for each in parts if each > rounds), default=self.horizon)

    def _is_out(self, lane: Lane, leader: Lane | None) -> bool:
        """Is it clearly worse than the leader, or do its explorations clearly cost too much?"""
        if lane.rounds and self._is_costly(lane):
            return True
        return leader is not None and is_worse(lane, leader, self.slack)

    def leader(self, lanes: list[Lane]) -> Lane | None:
        """The lane of the lowest mean regret, by careful means, among those that played all rounds."""
        done = [lane for lane in lanes if lane.rounds == self.horizon and self.is_allowed(lane)]
        return min(done, key=lambda lane: lane.careful()) if done else None

    def is_allowed(self, lane: Lane) -> bool:
        """Is its loss in exploring rounds within the limit, in the mean?"""
        return self.allowed.cost == math.inf or float(lane.cost.mean()) <= self.allowed.cost

    def _is_costly(self, lane: Lane) -> bool:
        return not self.is_allowed(lane) and (
            float(lane.cost.mean()) - _doubts(lane.cost.size) * _error(lane.cost) > self.allowed.cost
        )


def _turn(lane: Lane) -> tuple[int, int]:
    """The order of turns: new lanes, then those that lost least; with like regret, who explores least."""
    if not lane.rounds:
        return -(10**9), 0
    return math.floor(
        math.log(max(lane.careful(), 1e-9)) / math.log(LIKE_REGRET_FACTOR)
    ), lane.candidate.explorations


def is_worse(lane: Lane, leader: Lane, slack: float) -> bool:
    """Has a lane, in its rounds so far, clearly lost too much against what the leader loses in all rounds?

    Too much is more than the leader or, for a lane that explores less often, 1 + slack times as much.
    """
    if lane is leader or not lane.rounds:
        return False
    mean, error = difference(lane, leader)
    mean -= max(leader.careful() - leader.mean, 0.0)
    if lane.candidate.explorations < leader.candidate.explorations:
        mean -= slack * leader.mean
    return mean - _doubts(min(lane.regret.size, leader.regret.size)) * error > 0.0


def difference(one: Lane, other: Lane) -> tuple[float, float]:
    """The mean of paired differences in regret, and its standard error."""
    n = min(one.regret.size, other.regret.size)
    gaps = one.regret[:n] - other.regret[:n]
    return float(gaps.mean()), _error(gaps)


def near(lanes: list[Lane], first: Lane, slack: float) -> list[Lane]:
    """The lanes shown to be within a factor 1 + slack of the first, by enough problems to show anything."""
    most = (1.0 + slack) * first.careful()
    return [
        lane
        for lane in lanes
        if lane is first
        or (lane.regret.size >= PROBLEMS_TO_SHOW and lane.careful() <= most and is_within(lane, first, slack))
    ]


def is_within(lane: Lane, other: Lane, slack: float) -> bool:
    """Is the regret of a lane shown to be at most 1 + slack times that of another?"""
    mean, error = difference(lane, other)
    return mean + _doubts(min(lane.regret.size, other.regret.size)) * error <= slack * other.mean


def is_settled(chosen: Lane, lanes: list[Lane], slack: float) -> bool:
    """Is no other lane better than the chosen one by more than a factor 1 + slack, on enough problems?"""
    return chosen.regret.size >= PROBLEMS_TO_SETTLE and all(
        lane is chosen or is_within(chosen, lane, slack) for lane in lanes
    )


def rarer(chosen: Lane, lanes: list[Lane]) -> int:
    """How many of the lanes explore less often than the chosen one."""
    return sum(lane.candidate.explorations < chosen.candidate.explorations for lane in lanes)


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
