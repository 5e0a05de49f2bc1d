"""Candidates race on paired problems; those that are clearly worse drop out.

Regret never falls from one round to the next. So a candidate that has lost more after a quarter of the
rounds than another one in all of them is worse, and long runs are spent on few: all candidates play
a short part of the horizon, and the one that has lost least so far is always the next to go on.

The race only chooses. What it measured is too good for those that it chose, so no figure of a plan is
taken from it: those come from other problems (`judging.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex import registry
from infex.arrays import Floats
from infex.checks import real, whole
from infex.errors import InvalidSetting
from infex.lab.planner.beliefs import Belief, PlannedProblem
from infex.lab.simulation import play_many
from infex.lab.simulation.simulator import cores
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.schedules import Schedule, always, every, logarithmic, power, stretched

TRIED_SCALES = (1.0, 0.5, 0.25, 0.12, 0.06)  # about halved each time
TRIED_DATA: tuple[Literal["shared", "own"], ...] = ("shared", "own")
TRIED_PERIODS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


class GridPlace(NamedTuple):
    """Where a candidate stands in the grid: its base, its data, the rank of its schedule, its scale."""

    base: str
    data: str
    rank: int
    scale: int

    def steps(self) -> list[GridPlace]:
        """The places one step away."""
        other = "shared" if self.data == "own" else "own"
        ranks = [self._replace(rank=self.rank + step) for step in (-1, 1)]
        scales = [self._replace(scale=self.scale + step) for step in (-1, 1)]
        return [*ranks, *scales, self._replace(data=other)]


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy to try, how many rounds of the horizon explore, and its places in the grid.

    A candidate that explores in every round is the same for both data modes, so it stands in two places.
    """

    policy: Policy
    explorations: int
    places: tuple[GridPlace, ...] = ()

    @property
    def expression(self) -> str:
        """The policy in the words of the catalogue."""
        return registry.expression(self.policy)


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What a user allows: exploring rounds in the horizon, and their summed loss."""

    explorations: int
    cost: float = math.inf


def limits(horizon: int, share: float | None, count: int | None, cost: float | None) -> Limits:
    """Limits from a user's settings."""
    most = horizon
    if share is not None:
        most = min(most, math.floor(real("max_share", share, least=0, most=1) * horizon + 1e-9))
    if count is not None:
        most = min(most, whole("max_count", count, least=0))
    return Limits(most, math.inf if cost is None else real("max_cost", cost, least=0))


def schedules(horizon: int, most: int) -> list[tuple[int, Schedule]]:
    """The schedules to try and how often they explore, from once to `most` times, rarest first.

    Each grows faster than log t, as the regret bound needs. Where the limit cuts off short periods, the
    shortest that it allows is tried too.
    """
    shortest = -(-horizon // max(most, 1))
    periods = sorted({*TRIED_PERIODS, *(shortest * factor for factor in (1, 2, 5))} - {1})
    slower = [stretched(1), stretched(2), power(0.75), power(0.5), logarithmic(3), logarithmic(2)]
    tried: list[Schedule] = [always(), *map(every, periods), *slower]
    counted = [(schedule.count(horizon), schedule) for schedule in tried]
    return sorted((pair for pair in counted if 1 <= pair[0] <= most), key=lambda pair: pair[0])


def candidates(
    horizon: int, noise: float, bound: float, allowed: Limits, warm: bool = False
) -> list[Candidate]:
    """The grid as far as the limits allow, those that explore least first.

    Where runs begin with what a log has taught (`warm`), no exploration at all is a candidate too.
    """
    fitting = schedules(horizon, allowed.explorations)
    if not fitting and not warm:
        raise InvalidSetting(
            f"max_share or max_count allows {allowed.explorations} exploring rounds in {horizon} rounds: "
            "without any, there is nothing to plan but infex.Greedy()"
        )
    settings: dict[str, Any] = {"noise": noise, "bound": bound, "delta": delta_at(horizon)}
    grid = [greedy()] if warm else []
    for rank, (count, schedule) in enumerate(fitting):
        for place, scale in enumerate(TRIED_SCALES):
            for kind in (LinUCB, LinTS):
                base = kind(**settings, scale=scale)
                places = [GridPlace(kind.__name__, data, rank, place) for data in TRIED_DATA]
                if count == horizon:
                    grid.append(Candidate(base, count, tuple(places)))
                    continue
                grid += [
                    Candidate(Infex(base, schedule, data=data), count, (where,))
                    for data, where in zip(TRIED_DATA, places, strict=True)
                ]
    return grid


def plain_linucb(horizon: int, noise: float, bound: float) -> Candidate:
    """What the result is compared with: LinUCB in every round with the theory's radius."""
    return Candidate(LinUCB(noise=noise, bound=bound, delta=delta_at(horizon)), horizon)


def delta_at(horizon: int) -> float:
    """1/T, to two digits.

    >>> delta_at(300)
    0.0033
    """
    return float(f"{1.0 / horizon:.2g}")


def greedy() -> Candidate:
    """No exploration at all."""
    return Candidate(Greedy(), 0)


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


NUMBERS_OF_A_POOL = 1 << 20  # pools share no problem as long as each has at most so many


@final
@dataclass(slots=True, eq=False)
class Pool:
    """Problems of one belief and seed; those of another `place` are others, with other noise."""

    belief: Belief
    seed: int
    place: int = 0
    drawn: list[PlannedProblem] = field(default_factory=list, repr=False)

    @property
    def first(self) -> int:
        """The number of the first problem."""
        return self.place * NUMBERS_OF_A_POOL

    def upto(self, problems: int) -> list[PlannedProblem]:
        """The first problems."""
        while len(self.drawn) < problems:
            self.drawn.append(self.belief.instance(self.first + len(self.drawn), self.seed))
        return self.drawn[:problems]

    def run(self, lane: Lane, problems: int, rounds: int, workers: int = 1) -> None:
        """Brings a lane to so many problems and rounds."""
        kept = lane.regret.size if lane.rounds == rounds else 0
        missing = self.upto(problems)[kept:]
        if not missing:
            return
        begun = time.thread_time(), time.monotonic()
        seeds = range(self.first + kept, self.first + problems)  # two problems may be alike, not their noise
        runs = play_many(
            missing, lane.candidate.policy, rounds, seeds,
            penalty=self.belief.penalty, workers=workers, paired=True, learnt=self.belief.learnt,
        )  # fmt: skip
        spent = time.thread_time() - begun[0] if workers == 1 else workers * (time.monotonic() - begun[1])
        lane.seconds = spent / len(missing)
        lane.take(
            np.concatenate([lane.regret[:kept], [run.regret for run in runs]]),
            np.concatenate([lane.cost[:kept], [run.regret_exploring for run in runs]]),
        )
        lane.rounds = rounds


FIRST_HEAT, LAST_HEAT = 4, 1024  # problems of a heat; each heat has up to twice those of the one before
LEAST_GROWTH = 1.25  # a heat that adds fewer problems than this factor is not worth its time
ROUNDS_FACTOR = 4  # a run that goes on has so many times its rounds
FIRST_ROUNDS = 500  # the shortest part of the horizon is at least so long
LANES_AT_ONCE = 8  # whatever the number of threads, so that these change nothing
LIKE_REGRET_FACTOR = 1.5  # within this factor of the least regret, a lane that explores less goes on first


@final
class Race:
    """Plays lanes on the same problems, until a deadline.

    A lane drops out when another that explores no more often is clearly better, or when it clearly loses more
    than 1 + `slack` times what the leader loses.
    """

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
        self.pool = Pool(belief, seed)
        self.horizon = horizon
        self.workers = cores() if workers is None else whole("workers", workers, least=1)
        self.allowed = allowed
        self.slack = slack
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def heat(
        self, lanes: list[Lane], problems: int, listener: Callable[[int], None]
    ) -> tuple[list[Lane], bool]:
        """Brings lanes to so many problems, until they are clearly worse or have played all rounds.

        Those that are left, and whether there was time for all of them. The listener hears how many are left.
        """
        self.pool.upto(problems)
        alive, before = lanes, None
        with ThreadPoolExecutor(self.workers) as pool:
            while True:
                listener(len(alive))
                waiting = [lane for lane in alive if not self.is_done(lane, problems)]
                ready = self._ready(alive, waiting, problems)
                if not ready:
                    return alive, not waiting
                going = sorted(ready, key=_turn)[:LANES_AT_ONCE]
                list(pool.map(lambda lane: self._go_on(lane, problems), going))
                champions = self.champions(alive)
                stood = champions == before and not any(lane in champions for lane in going)
                before = champions
                out = {id(lane) for lane in (going if stood else alive) if self.is_out(lane, champions)}
                alive = [lane for lane in alive if id(lane) not in out]

    def _ready(self, alive: list[Lane], waiting: list[Lane], problems: int) -> list[Lane]:
        """The lanes whose next step there is time for; the first, if none has played: an answer is due."""
        ready = [lane for lane in waiting if self.takes(lane, problems) < self.left()]
        return ready if ready or any(lane.rounds for lane in alive) else waiting[:1]

    def is_done(self, lane: Lane, problems: int) -> bool:
        """Has a lane played all rounds of so many problems?"""
        return lane.rounds == self.horizon and lane.regret.size >= problems

    def takes(self, lane: Lane, problems: int) -> float:
        """About the seconds that its next step takes, judged by its last step."""
        rounds = self._next(lane.rounds)
        if rounds == lane.rounds:
            return lane.seconds * (problems - lane.regret.size)
        return lane.seconds * problems * (rounds / lane.rounds if lane.rounds else 0.0)

    def affordable(self, lanes: list[Lane], problems: int) -> int:
        """How many problems the next heat has: twice as many, or what there is time for; 0 if that is few."""
        if problems >= LAST_HEAT:
            return 0
        each = sum(lane.seconds for lane in lanes) / self.workers
        extra = math.floor(min(self.left() / each if each > 0.0 else math.inf, problems))
        return problems + extra if extra >= (LEAST_GROWTH - 1.0) * problems else 0

    def _go_on(self, lane: Lane, problems: int) -> None:
        if not lane.rounds or self.takes(lane, problems) < self.left():
            self.pool.run(lane, problems, self._next(lane.rounds))

    def _next(self, rounds: int) -> int:
        """The rounds to go on to: from a short part of the horizon, by factors, to all of it."""
        parts = [self.horizon]
        while parts[-1] >= ROUNDS_FACTOR * FIRST_ROUNDS:
            parts.append(parts[-1] // ROUNDS_FACTOR)
        return min((each for each in parts if each > rounds), default=self.horizon)

    def is_out(self, lane: Lane, champions: list[Lane]) -> bool:
        """Is it clearly worse than one that explores no more often, or too far from the leader, or costly?"""
        if not lane.rounds:
            return False
        if not self.is_allowed(lane) and is_clearly_above(lane.cost, self.allowed.cost):
            return True
        rarer = [each for each in champions if each.candidate.explorations <= lane.candidate.explorations]
        return any(is_worse(lane, champion, self.slack) for champion in {*rarer[-1:], *champions[-1:]})

    def champions(self, lanes: list[Lane]) -> list[Lane]:
        """The lanes that none beats both in explorations and in regret, by careful means; the leader is last.

        They are taken from those that played all rounds and are allowed.
        """
        done = [lane for lane in lanes if lane.rounds == self.horizon and self.is_allowed(lane)]
        found: list[Lane] = []
        for lane in sorted(done, key=lambda lane: (lane.candidate.explorations, lane.careful())):
            if not found or lane.careful() < found[-1].careful():
                found.append(lane)
        return found

    def is_allowed(self, lane: Lane) -> bool:
        """Is its loss in exploring rounds within the limit, in the mean?"""
        return self.allowed.cost == math.inf or float(lane.cost.mean()) <= self.allowed.cost


def _turn(lane: Lane) -> tuple[int, int]:
    """The order of turns: new lanes, then those that lost least; with like regret, who explores least."""
    if not lane.rounds:
        return -(10**9), 0
    return math.floor(
        math.log(max(lane.careful(), 1e-9)) / math.log(LIKE_REGRET_FACTOR)
    ), lane.candidate.explorations
