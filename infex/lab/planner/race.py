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
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex import registry
from infex.arrays import Floats
from infex.checks import safe_repr, whole
from infex.errors import InvalidSetting
from infex.lab.environments import Instance
from infex.lab.planner.beliefs import Problems
from infex.lab.simulation import play_many
from infex.lab.simulation.simulator import cores
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.policies.base import asks_for_problem, resolve_defaults
from infex.policies.controls import Control
from infex.schedules import Schedule, always, every, logarithmic, power, stretched
from infex.schedules.base import has

TRIED_SCALES = (1.0, 0.5, 0.25, 0.12, 0.06)  # about halved each time
TRIED_DATA: tuple[Literal["shared", "own"], ...] = ("shared", "own")
TRIED_PERIODS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
DEFAULT = "default"  # what stands for infex's own bases or schedules beside a user's

NEIGHBOURS_WEIGHT = 16  # problems that a candidate's neighbours count for, because it may have been lucky
PROBLEMS_TO_SHOW = 16  # fewer cannot show that two candidates are near
PROBLEMS_TO_SETTLE = 64  # on fewer, a candidate that fails rarely may look good
ERROR_CHANCE = 0.025  # the chance to drop a candidate that is as good as the leader


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
@dataclass(slots=True, eq=False)
class Candidate:
    """A policy to try, how many rounds of the horizon explore, and its runs so far.

    A candidate that explores in every round is the same for both data modes, so it stands in two `places`
    of the grid. Runs have `rounds` rounds; `cost` is the part of their regret in exploring rounds, and
    `seconds` what one of them takes.
    """

    policy: Policy
    explorations: int
    label: str = ""
    places: tuple[GridPlace, ...] = ()
    rounds: int = 0
    regret: Floats = field(default_factory=lambda: np.zeros(0))
    cost: Floats = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0
    near: list[Candidate] = field(default_factory=list, repr=False)
    mean: float = 0.0  # of the regret

    def __post_init__(self) -> None:
        self.label = self.label or registry.label_of(self.policy)

    def take(self, regret: Floats, cost: Floats) -> None:
        """Keeps these figures of its runs."""
        self.regret, self.cost, self.mean = regret, cost, float(regret.mean())

    def careful(self) -> float:
        """Mean regret, as far as it may be trusted: with few problems it is mostly that of the neighbours.

        A neighbour that played fewer rounds counts if it lost more by then. With many problems neighbours
        fade out.
        """
        others = [
            other.mean if other.rounds >= self.rounds else max(other.mean, self.mean)
            for other in self.near
            if other.regret.size
        ]
        if not others:
            return self.mean
        n = self.regret.size
        weight = NEIGHBOURS_WEIGHT * min(1.0, PROBLEMS_TO_SETTLE / n) ** 2
        return (n * self.mean + weight * sum(others) / len(others)) / (n + weight)


# The grid


class Base(NamedTuple):
    """A base to try: its policy, what a label calls it, and where it stands in the grid."""

    policy: Policy
    label: str
    family: str
    scale: int = 0


class Timing(NamedTuple):
    """A schedule to try, what a label calls it, and how often it explores."""

    schedule: Schedule
    label: str
    explorations: int


def candidates(
    horizon: int,
    noise: float,
    bound: float,
    most: int,
    *,
    warm: bool = False,
    bases: object = None,
    schedules: object = None,
) -> list[Candidate]:
    """The grid as far as the limit of `most` explorations allows, those that explore least first.

    `bases` and `schedules` are a user's, in the place of infex's own. Where runs begin with what a log has
    taught (`warm`), no exploration at all is a candidate too.
    """
    timings = _given_schedules(schedules, horizon, most)
    if not timings and not warm:
        raise InvalidSetting(
            f"max_share or max_count allows {most} exploring rounds in {horizon} rounds: "
            "without any, there is nothing to plan but infex.Greedy()"
        )
    grid = [Candidate(Greedy(), 0)] if warm else []
    given = _given_bases(bases, horizon, noise, bound)
    for rank, (schedule, name, count) in enumerate(timings):
        for base in given:
            places = [GridPlace(base.family, data, rank, base.scale) for data in TRIED_DATA]
            if count == horizon:
                grid.append(Candidate(base.policy, count, base.label, tuple(places)))
                continue
            for data, where in zip(TRIED_DATA, places, strict=True):
                try:
                    policy = Infex(base.policy, schedule, data=data)
                except InvalidSetting:
                    if data == "own":  # not every base can keep data of its own
                        continue
                    raise
                words = ", data=own" if data == "own" else ""
                grid.append(Candidate(policy, count, f"Infex({base.label}, {name}{words})", (where,)))
    _refuse_same_labels(grid)
    return _with_neighbours(grid)


def _with_neighbours(grid: list[Candidate]) -> list[Candidate]:
    places = {place: candidate for candidate in grid for place in candidate.places}
    for candidate in grid:
        steps = [step for place in candidate.places for step in place.steps()]
        around = {id(places[step]): places[step] for step in steps if step in places}
        candidate.near = [each for each in around.values() if each is not candidate]
    return grid


def _refuse_same_labels(grid: list[Candidate]) -> None:
    seen: dict[str, Policy] = {}
    for candidate in grid:
        if seen.setdefault(candidate.label, candidate.policy) != candidate.policy:
            raise InvalidSetting(
                f"two candidates are called {candidate.label}: give bases or schedules that look alike under "
                "names, as in bases={'mild': ..., 'bold': ...}"
            )


def _given_bases(given: object, horizon: int, noise: float, bound: float) -> list[Base]:
    """The bases to try; without any given, LinUCB and LinTS with several scales of the radius."""
    settings: dict[str, Any] = {"noise": noise, "bound": bound, "delta": delta_at(horizon)}
    default = [
        Base(policy, registry.label_of(policy), kind.__name__, place)
        for place, scale in enumerate(TRIED_SCALES)
        for kind in (LinUCB, LinTS)
        for policy in (kind(**settings, scale=scale),)
    ]
    if given is None:
        return default
    found: list[Base] = []
    for label, thing in _named_things("bases", given, "policy"):
        if thing is DEFAULT:
            found += default
            continue
        if isinstance(thing, Infex):
            raise InvalidSetting(
                f"a base explores whenever it is asked, and the planner looks for its schedule: {label} has "
                "one already; give its base in bases, and its schedule in schedules"
            )
        if asks_for_problem(thing):
            raise InvalidSetting(
                f"the base {label} sets itself by the horizon and the true problem (for_problem), which a "
                "plan must not know: give one whose settings are fixed"
            )
        found.append(Base(resolve_defaults(thing, delta_at(horizon)), label, f"own {label}"))
    return found


def _given_schedules(given: object, horizon: int, most: int) -> list[Timing]:
    """The schedules to try and how often they explore, from once to `most` times, rarest first.

    Each of infex's own grows faster than log t, as the regret bound needs. Where the limit cuts off short
    periods, the shortest that it allows is tried too.
    """
    shortest = -(-horizon // max(most, 1))
    periods = sorted({*TRIED_PERIODS, *(shortest * factor for factor in (1, 2, 5))} - {1})
    slower = [stretched(1), stretched(2), power(0.75), power(0.5), logarithmic(3), logarithmic(2)]
    tried: list[Schedule] = [always(), *map(every, periods), *slower]
    counted = [Timing(schedule, registry.label_of(schedule), schedule.count(horizon)) for schedule in tried]
    default = [timing for timing in counted if 1 <= timing.explorations <= most]
    found = default
    if given is not None:
        found = []
        for label, thing in _named_things("schedules", given, "schedule"):
            found += default if thing is DEFAULT else [_timing(thing, label, horizon, most)]
    return sorted(found, key=lambda timing: timing.explorations)


def _timing(schedule: Any, label: str, horizon: int, most: int) -> Timing:
    """A user's schedule, if it is known to explore at least once and no more often than allowed."""
    if isinstance(schedule, Control):
        raise InvalidSetting(
            f"how often {label} explores depends on the rewards, and a plan must know it beforehand: give "
            "the schedule inside the control, and max_count or max_cost as limits"
        )
    if has(schedule, "count"):
        count = whole(f"count({horizon}) of {label}", schedule.count(horizon), least=0)
    else:
        count = sum(bool(schedule.explores(t)) for t in range(1, horizon + 1))
    if not 1 <= count <= most:
        allowed = f"and max_share or max_count allows {most}" if count else "so it is not a schedule to plan"
        raise InvalidSetting(f"{label} explores in {count:,} of {horizon:,} rounds, {allowed}")
    return Timing(schedule, label, count)


def _named_things(setting: str, given: object, kind: Literal["policy", "schedule"]) -> list[tuple[str, Any]]:
    """A user's bases or schedules, objects or texts, with their labels; `DEFAULT` stands for infex's own."""
    from infex.lab.specs import named

    pairs: list[tuple[str | None, Any]]
    if isinstance(given, Mapping):
        pairs = [(str(name), thing) for name, thing in given.items()]
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidSetting(f"{setting} must be a list, such as [{safe_repr(given)}], or a dict of names")
    else:
        pairs = [(None, thing) for thing in given]
    if not pairs:
        raise InvalidSetting(f"{setting} must name at least one {kind}; leave it out for infex's own")
    found: list[tuple[str, Any]] = []
    for name, thing in pairs:
        if isinstance(thing, str) and thing == DEFAULT:
            found.append((DEFAULT, DEFAULT))
        else:
            found += [(each.label, each.thing) for each in named(thing, kind, name)]
    return found


def plain_linucb(horizon: int, noise: float, bound: float) -> Candidate:
    """What the result is compared with: LinUCB in every round with the theory's radius."""
    return Candidate(LinUCB(noise=noise, bound=bound, delta=delta_at(horizon)), horizon)


def delta_at(horizon: int) -> float:
    """1/T, to two digits.

    >>> delta_at(300)
    0.0033
    """
    return float(f"{1.0 / horizon:.2g}")


# Comparing two candidates


def is_worse(one: Candidate, leader: Candidate, slack: float) -> bool:
    """Has a candidate, in its rounds so far, clearly lost too much against what the leader loses in all?

    Too much is more than the leader or, for one that explores less often, 1 + slack times as much.
    """
    if one is leader or not one.rounds:
        return False
    allowance = slack if one.explorations < leader.explorations else 0.0
    lucky = (1.0 + allowance) * max(leader.careful() - leader.mean, 0.0)
    return is_clearly_above(_gaps(one, leader, allowance), lucky)


def is_within(one: Candidate, other: Candidate, slack: float) -> bool:
    """Is the regret of a candidate shown to be at most 1 + slack times that of another?"""
    gaps = _gaps(one, other, slack)
    loses = one.regret[: gaps.size].any()  # what loses nothing is as good as anything
    return not loses or is_clearly_above(-gaps, 0.0)


def is_beyond(one: Candidate, other: Candidate, slack: float) -> bool:
    """Is the regret of a candidate shown to be more than 1 + slack times that of another?"""
    return is_clearly_above(_gaps(one, other, slack), 0.0)


def is_near(one: Candidate, other: Candidate, factor: float, errors: float) -> bool:
    """Is a candidate within a factor of another by careful means, give or take some standard errors?"""
    gap = one.careful() - factor * other.careful()
    return gap <= 0.0 or (errors > 0.0 and gap <= errors * _error(_gaps(one, other, factor - 1.0)))


def _gaps(one: Candidate, other: Candidate, slack: float) -> Floats:
    n = min(one.regret.size, other.regret.size)
    gaps: Floats = one.regret[:n] - (1.0 + slack) * other.regret[:n]
    return gaps


def is_clearly_above(values: Floats, limit: float) -> bool:
    """Is the mean of values clearly greater than a limit?"""
    return float(values.mean()) - _errors_that_show(values.size) * _error(values) > limit


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
def _errors_that_show(problems: int) -> float:
    """How many standard errors make a difference clear."""
    return student(1.0 - ERROR_CHANCE, problems - 1) if problems > 1 else math.inf


def _error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf


# Playing


NUMBERS_OF_A_POOL = 1 << 20  # pools share no problem as long as each has at most so many


@final
@dataclass(slots=True, eq=False)
class Pool:
    """Problems of one source and seed; those of another `place` are others, with other noise."""

    source: Problems
    seed: int
    place: int = 0
    drawn: list[Instance] = field(default_factory=list, repr=False)

    @property
    def first(self) -> int:
        """The number of the first problem."""
        return self.place * NUMBERS_OF_A_POOL

    def upto(self, problems: int) -> list[Instance]:
        """The first problems."""
        while len(self.drawn) < problems:
            self.drawn.append(self.source.instance(self.first + len(self.drawn), self.seed))
        return self.drawn[:problems]

    def run(self, candidate: Candidate, problems: int, rounds: int, workers: int = 1) -> None:
        """Brings a candidate to so many problems and rounds."""
        kept = candidate.regret.size if candidate.rounds == rounds else 0
        missing = self.upto(problems)[kept:]
        if not missing:
            return
        begun = time.thread_time(), time.monotonic()
        seeds = range(self.first + kept, self.first + problems)  # two problems may be alike, not their noise
        runs = play_many(
            missing, candidate.policy, rounds, seeds,
            penalty=self.source.penalty, workers=workers, paired=True, learnt=self.source.learnt,
        )  # fmt: skip
        spent = time.thread_time() - begun[0] if workers == 1 else workers * (time.monotonic() - begun[1])
        candidate.seconds = spent / len(missing)
        candidate.take(
            np.concatenate([candidate.regret[:kept], [run.regret for run in runs]]),
            np.concatenate([candidate.cost[:kept], [run.regret_exploring for run in runs]]),
        )
        candidate.rounds = rounds


FIRST_HEAT, LAST_HEAT = 4, 1024  # problems of a heat; each heat has up to twice those of the one before
LEAST_GROWTH = 1.25  # a heat that adds fewer problems than this factor is not worth its time
ROUNDS_FACTOR = 4  # a run that goes on has so many times its rounds
FIRST_ROUNDS = 500  # the shortest part of the horizon is at least so long
PLAYED_AT_ONCE = 8  # candidates, whatever the number of threads, so that these change nothing
LIKE_REGRET_FACTOR = 1.5  # within this factor of the least regret, one that explores less goes on first


@final
class Race:
    """Plays candidates on the same problems, until a deadline.

    One drops out when another that explores no more often is clearly better, or when it clearly loses more
    than 1 + `slack` times what the leader loses, or when its exploring rounds cost more than `max_cost`.
    """

    def __init__(
        self,
        source: Problems,
        horizon: int,
        *,
        seed: int = 0,
        workers: int | None = None,
        max_cost: float = math.inf,
        slack: float,
        seconds: float,
    ) -> None:
        self.pool = Pool(source, seed)
        self.horizon = horizon
        self.workers = cores() if workers is None else whole("workers", workers, least=1)
        self.max_cost = max_cost
        self.slack = slack
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def heat(
        self, entered: list[Candidate], problems: int, listener: Callable[[int], None]
    ) -> tuple[list[Candidate], bool]:
        """Brings candidates to so many problems, until they are clearly worse or have played all rounds.

        Those that are left, and whether there was time for all of them. The listener hears how many are left.
        """
        self.pool.upto(problems)
        alive, before = entered, None
        with ThreadPoolExecutor(self.workers) as threads:
            while True:
                listener(len(alive))
                waiting = [
                    each for each in alive if each.rounds < self.horizon or each.regret.size < problems
                ]
                ready = [each for each in waiting if self.takes(each, problems) < self.left()]
                if not ready and not any(each.rounds for each in alive):
                    ready = waiting[:1]  # an answer is due
                if not ready:
                    return alive, not waiting
                going = sorted(ready, key=_turn)[:PLAYED_AT_ONCE]
                list(threads.map(lambda each: self._go_on(each, problems), going))
                champions = self.champions(alive)
                same = champions == before and not any(each in champions for each in going)
                before = champions
                out = {id(each) for each in (going if same else alive) if self.is_out(each, champions)}
                alive = [each for each in alive if id(each) not in out]

    def takes(self, candidate: Candidate, problems: int) -> float:
        """About the seconds that its next step takes, judged by its last step."""
        rounds = self._next(candidate.rounds)
        if rounds == candidate.rounds:
            return candidate.seconds * (problems - candidate.regret.size)
        return candidate.seconds * problems * (rounds / candidate.rounds if candidate.rounds else 0.0)

    def affordable(self, alive: list[Candidate], problems: int) -> int:
        """How many problems the next heat has: twice as many, or what there is time for; 0 if that is few."""
        if problems >= LAST_HEAT:
            return 0
        each = sum(candidate.seconds for candidate in alive) / self.workers
        extra = math.floor(min(self.left() / each if each > 0.0 else math.inf, problems))
        return problems + extra if extra >= (LEAST_GROWTH - 1.0) * problems else 0

    def _go_on(self, candidate: Candidate, problems: int) -> None:
        if not candidate.rounds or self.takes(candidate, problems) < self.left():
            self.pool.run(candidate, problems, self._next(candidate.rounds))

    def _next(self, rounds: int) -> int:
        """The rounds to go on to: from a short part of the horizon, by factors, to all of it."""
        parts = [self.horizon]
        while parts[-1] >= ROUNDS_FACTOR * FIRST_ROUNDS:
            parts.append(parts[-1] // ROUNDS_FACTOR)
        return min((each for each in parts if each > rounds), default=self.horizon)

    def is_out(self, candidate: Candidate, champions: list[Candidate]) -> bool:
        """Is it clearly worse than one that explores no more often, or too far from the leader, or costly?"""
        if not candidate.rounds:
            return False
        if not self.is_allowed(candidate) and is_clearly_above(candidate.cost, self.max_cost):
            return True
        rarer = [each for each in champions if each.explorations <= candidate.explorations]
        return any(is_worse(candidate, champion, self.slack) for champion in {*rarer[-1:], *champions[-1:]})

    def champions(self, alive: list[Candidate]) -> list[Candidate]:
        """Those that none beats both in explorations and in regret, by careful means; the leader is last.

        They are taken from those that played all rounds and are allowed.
        """
        done = [each for each in alive if each.rounds == self.horizon and self.is_allowed(each)]
        found: list[Candidate] = []
        for candidate in sorted(done, key=lambda each: (each.explorations, each.careful())):
            if not found or candidate.careful() < found[-1].careful():
                found.append(candidate)
        return found

    def is_allowed(self, candidate: Candidate) -> bool:
        """Is its loss in exploring rounds within the limit, in the mean?"""
        return self.max_cost == math.inf or float(candidate.cost.mean()) <= self.max_cost

    def fitting(self, alive: list[Candidate]) -> list[Candidate]:
        """The candidates to choose from: those within the limits that went farthest."""
        allowed = [each for each in alive if each.rounds and self.is_allowed(each)]
        farthest = max((each.rounds for each in allowed), default=0)
        fit = [each for each in allowed if each.rounds == farthest]
        if not fit:
            raise InvalidSetting(
                f"exploring costs more than max_cost = {self.max_cost:g} with every schedule that was tried; "
                "a max_count lets it try rarer ones, and a schedule guarded(..., cost_limit=...) keeps any "
                "limit"
            )
        return fit


def _turn(candidate: Candidate) -> tuple[int, int]:
    """The order of turns: new ones, then those that lost least; with like regret, who explores least."""
    if not candidate.rounds:
        return -(10**9), 0
    logarithm = math.log(max(candidate.careful(), 1e-9)) / math.log(LIKE_REGRET_FACTOR)
    return math.floor(logarithm), candidate.explorations
