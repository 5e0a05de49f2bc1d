"""Candidates race on the same problems, and those that are clearly worse drop out (successive elimination).

Regret never falls from one round to the next. So a candidate that has lost more after a quarter of the
rounds than another one in all of them is worse, and long runs are spent on few: all candidates play
a short part of the horizon, and the one that has lost least so far is always the next to go on.

The race only chooses. What it measured is too good for those that it chose, so no figure of a plan is
taken from it: those come from fresh problems (`evaluation.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar, final

import numpy as np

from infex import registry
from infex._stats import student_quantile
from infex.arrays import Floats
from infex.checks import safe_repr, whole
from infex.errors import InvalidSetting
from infex.lab.environments import Instance
from infex.lab.planner.beliefs import Problems
from infex.lab.simulation import play_many
from infex.lab.simulation.simulator import cores
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.policies.base import for_problem, policy_info, resolve_defaults
from infex.policies.controls import Control, Limited, budget
from infex.policies.doubt import ledger
from infex.schedules import Schedule, always, every, logarithmic, power, stretched
from infex.schedules.base import has

TRIED_SCALES = (1.0, 0.5, 0.25, 0.12, 0.06)  # about halved each time
TRIED_DATA: tuple[Literal["shared", "own"], ...] = ("shared", "own")
TRIED_PERIODS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
TRIED_LIMITS = (1.0, 0.3)  # of the ledger, in units of the noise
DEFAULT = "default"  # what stands for infex's own bases or schedules beside a user's

NEIGHBOURS_WEIGHT = 16  # problems that a candidate's neighbours count for, because it may have been lucky
PROBLEMS_TO_SHOW = 16  # fewer cannot show that two candidates are near
PROBLEMS_TO_SETTLE = 64  # on fewer, a candidate that fails rarely may look good
ERROR_CHANCE = 0.025  # the chance to drop a candidate that is as good as the leader
BENEFIT_OF_DOUBT = 1.0  # standard errors

Place = tuple[str, int, int, int]  # in the grid: the base, and the ranks of its schedule, scale and data
GRID_STEPS = ((-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1))
T = TypeVar("T")


@final
@dataclass(slots=True, eq=False)
class Candidate:
    """A policy to try, how many rounds of the horizon explore, and its runs so far.

    `planned` is None if the number of explorations depends on the data. A candidate that explores in every
    round is the same for both data modes, so it stands in two `places` of the grid. Runs have `rounds`
    rounds; `counts` is how many rounds of the horizon explore by these, `cost` the part of their regret in
    exploring rounds, `different` the share of these that played another arm than the greedy one (NaN: not
    known), and `seconds` what one of them takes. `near` are the candidates one step away in the grid.
    """

    policy: Policy
    planned: int | None
    label: str = ""
    places: tuple[Place, ...] = ()
    rounds: int = 0
    regret: Floats = field(default_factory=lambda: np.zeros(0))
    cost: Floats = field(default_factory=lambda: np.zeros(0))
    counts: Floats = field(default_factory=lambda: np.zeros(0))
    different: Floats = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0
    near: list[Candidate] = field(default_factory=list, repr=False)
    mean: float = 0.0  # of the regret

    def __post_init__(self) -> None:
        self.label = self.label or registry.label_of(self.policy)

    @property
    def explorations(self) -> float:
        """How many rounds explore: as planned or, where the data decide, in the mean of its runs so far.

        It is infinite before the first of these.
        """
        if self.planned is not None:
            return self.planned
        return float(self.counts.mean()) if self.counts.size else math.inf

    def record(self, regret: Floats, cost: Floats) -> None:
        """Sets the regret and the cost of its runs."""
        self.regret, self.cost, self.mean = regret, cost, float(regret.mean())

    def shrunk_mean(self) -> float:
        """Mean regret, shrunk towards that of the neighbours: with few problems it is mostly theirs.

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


def candidates(
    horizon: int,
    noise: float,
    bound: float,
    most: int,
    *,
    warm: bool = False,
    bases: object = None,
    schedules: object = None,
    problem: Instance | None = None,
) -> list[Candidate]:
    """Each base with each schedule of at most `most` explorations and both data modes, the rarest first.

    Schedules that look at the data come last, and with shared data alone, which they read themselves. A base
    that needs data of its own has these alone. `bases` and `schedules` are a user's, in the place of infex's
    own; a base that would set itself by a `problem`, one of those to play, is refused. Where runs begin with
    what a log has taught (`warm`), no exploration at all is a candidate too, and infex's own that look at the
    data are not: such runs do not begin with a log.
    """
    timed = _schedules(schedules, horizon, most, noise, warm)
    if not timed and not warm:
        raise InvalidSetting(
            f"max_share or max_count allows {most} exploring rounds in {horizon} rounds: "
            "without any, there is nothing to plan but infex.Greedy()"
        )
    grid = [Candidate(Greedy(), 0)] if warm else []
    tried = _bases(bases, horizon, noise, bound, problem)
    for place_in_line, (count, name, schedule) in enumerate(timed):
        # those that look at the data have no number of explorations by which another would be next to them
        rank = place_in_line if count is not None else len(timed) + 2 * place_in_line
        for family, scale, label, base in tried:
            places = tuple((family, rank, scale, place) for place in range(len(TRIED_DATA)))
            if count == horizon:
                grid.append(Candidate(base, count, label, places))
                continue
            modes = list(zip(TRIED_DATA, places, strict=True))
            if policy_info(base).needs_own_data:
                modes = modes[1:]
            elif count is None:
                modes = modes[:1]
            for data, place in modes:
                try:
                    policy = Infex(base, schedule, data=data)
                except InvalidSetting:
                    if data == "own":  # not every base can keep data of its own
                        continue
                    raise
                words = ", data=own" if data == "own" else ""
                grid.append(Candidate(policy, count, f"Infex({label}, {name}{words})", (place,)))
    by_label: dict[str, Policy] = {}
    for each in grid:
        if by_label.setdefault(each.label, each.policy) != each.policy:
            raise InvalidSetting(
                f"two candidates are called {each.label}: give bases or schedules that look alike under "
                "names, as in bases={'mild': ..., 'bold': ...}"
            )
    by_place = {place: each for each in grid for place in each.places}
    for each in grid:
        steps = [
            (family, rank + by_rank, scale + by_scale, data + by_data)
            for family, rank, scale, data in each.places
            for by_rank, by_scale, by_data in GRID_STEPS
        ]
        around = dict.fromkeys(by_place[step] for step in steps if step in by_place)
        each.near = [one for one in around if one is not each]
    return grid


def _bases(
    given: object, horizon: int, noise: float, bound: float, problem: Instance | None
) -> list[tuple[str, int, str, Policy]]:
    """The bases to try, each with its family and the rank of its scale in the grid, and its label.

    Without any given they are LinUCB and LinTS with several scales of the radius.
    """
    settings: dict[str, Any] = {"noise": noise, "bound": bound, "delta": delta_at(horizon)}
    default: list[tuple[str, int, str, Policy]] = [
        (kind.__name__, rank, registry.label_of(policy), policy)
        for rank, scale in enumerate(TRIED_SCALES)
        for kind in (LinUCB, LinTS)
        for policy in (kind(**settings, scale=scale),)
    ]

    def own(base: Any, label: str) -> tuple[str, int, str, Policy]:
        if isinstance(base, Infex):
            raise InvalidSetting(
                f"a base explores whenever it is asked, and the planner looks for its schedule: {label} has "
                "one already; give its base in bases, and its schedule in schedules"
            )
        if problem is not None and for_problem(base, problem, horizon) is not base:
            raise InvalidSetting(
                f"the base {label} sets itself by the horizon and the true problem (for_problem), which a "
                "plan must not know: give one whose settings are fixed, the horizon among them"
            )
        return f"own {label}", 0, label, resolve_defaults(base, delta_at(horizon))

    return _tried("bases", given, "policy", default, own)


def limit_of(schedule: Schedule | Control, horizon: int) -> int:
    """The most rounds of the horizon in which a schedule can explore, whatever the data are.

    >>> limit_of(budget(ledger(0.1), 20), 10_000), limit_of(ledger(1.0, every(20)), 10_000)
    (20, 500)
    """
    limit = horizon
    while isinstance(schedule, Control):
        if isinstance(schedule, Limited):
            limit = min(limit, schedule.limit * math.ceil(horizon / (schedule.window or horizon)))
        schedule = schedule.schedule
    return min(limit, schedule.count(horizon)) if has(schedule, "count") else limit


class TriedSchedule(NamedTuple):
    """A schedule to try, its label, and how many rounds of the horizon explore: None if the data decide."""

    explorations: int | None
    label: str
    schedule: Schedule | Control


def _schedules(given: object, horizon: int, most: int, noise: float, warm: bool) -> list[TriedSchedule]:
    """The schedules to try, which explore from once to `most` times: rarest first, then those of the data.

    Each of infex's own that is fixed grows faster than log t, as the regret bound needs. Where the limit cuts
    off short periods, the shortest that it allows is tried too. One that looks at the data and might explore
    more often than `most` has that as its budget, so that the limit is kept whatever the data are.
    """

    def by_data(schedule: Control, label: str) -> TriedSchedule:
        if limit_of(schedule, horizon) <= most:
            return TriedSchedule(None, label, schedule)
        return TriedSchedule(None, f"budget({label}, {most})", budget(schedule, most))

    shortest = -(-horizon // max(most, 1))
    periods = sorted({*TRIED_PERIODS, *(shortest * factor for factor in (1, 2, 5))} - {1})
    slower = [stretched(1), stretched(2), power(0.75), power(0.5), logarithmic(3), logarithmic(2)]
    tried: list[Schedule] = [always(), *map(every, periods), *slower]
    counts = [each.count(horizon) for each in tried]
    default = [
        TriedSchedule(count, registry.label_of(each), each)
        for count, each in zip(counts, tried, strict=True)
        if 1 <= count <= most
    ]
    if most >= 1 and noise > 0.0 and not warm:
        adaptive = [ledger(limit * noise, noise=noise) for limit in TRIED_LIMITS]
        default += [
            by_data(each, registry.label_of(each)) for each in adaptive if limit_of(each, horizon) >= 1
        ]

    def own(schedule: Any, label: str) -> TriedSchedule:
        if isinstance(schedule, Control):
            count = limit_of(schedule, horizon)
            if min(count, most) >= 1:
                return by_data(schedule, label)
        elif has(schedule, "count"):
            count = whole(f"count({horizon}) of {label}", schedule.count(horizon), least=0)
        else:
            count = sum(bool(schedule.explores(t)) for t in range(1, horizon + 1))
        if not 1 <= count <= most:
            limit = (
                f"and max_share or max_count allows {most}" if count else "so it is not a schedule to plan"
            )
            verb = "can explore" if isinstance(schedule, Control) else "explores"
            raise InvalidSetting(f"{label} {verb} in {count:,} of {horizon:,} rounds, {limit}")
        return TriedSchedule(count, label, schedule)

    return sorted(
        _tried("schedules", given, "schedule", default, own),
        key=lambda each: math.inf if each.explorations is None else each.explorations,
    )


def _tried(
    setting: str,
    given: object,
    kind: Literal["policy", "schedule"],
    default: list[T],
    own: Callable[[Any, str], T],
) -> list[T]:
    """What to try of a user's bases or schedules, by `own`; the word "default" stands for `default`."""
    from infex.lab.specs import named

    if given is None:
        return default
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidSetting(f"{setting} must be a list, such as [{safe_repr(given)}], or a dict of names")
    things: list[tuple[str | None, Any]]
    if isinstance(given, Mapping):
        things = [(str(name), thing) for name, thing in given.items()]
    else:
        things = [(None, thing) for thing in given]
    if not things:
        raise InvalidSetting(f"{setting} must name at least one {kind}; leave it out for infex's own")
    found: list[T] = []
    for name, thing in things:
        if isinstance(thing, str) and thing == DEFAULT:
            found += default
        else:
            found += [own(each.thing, each.label) for each in named(thing, kind, name)]
    return found


def delta_at(horizon: int) -> float:
    """1/T, to two digits.

    >>> delta_at(300)
    0.0033
    """
    return float(f"{1.0 / horizon:.2g}")


# Comparing candidates on the problems that both met


def is_worse(one: Candidate, leader: Candidate, factor: float) -> bool:
    """Has a candidate, in its rounds so far, clearly lost too much against what the leader loses in all?

    Too much is more than the leader or, for one that explores less often, `factor` times as much.
    """
    if one is leader or not one.rounds:
        return False
    allowed = factor if one.explorations < leader.explorations else 1.0
    lucky = allowed * max(leader.shrunk_mean() - leader.mean, 0.0)
    return is_clearly_above(_gaps(one, leader, allowed), lucky)


def is_within(one: Candidate, other: Candidate, factor: float) -> bool:
    """Is the regret of a candidate shown to be at most `factor` times that of another?"""
    gaps = _gaps(one, other, factor)
    loses = one.regret[: gaps.size].any()  # what loses nothing is as good as anything
    return not loses or is_clearly_above(-gaps, 0.0)


def is_beyond(one: Candidate, other: Candidate, factor: float) -> bool:
    """Is the regret of a candidate shown to be more than `factor` times that of another?"""
    return is_clearly_above(_gaps(one, other, factor), 0.0)


def is_near(one: Candidate, other: Candidate, factor: float, errors: float) -> bool:
    """Is a candidate within a factor of another by shrunk means, give or take some standard errors?"""
    gap = one.shrunk_mean() - factor * other.shrunk_mean()
    return gap <= 0.0 or (errors > 0.0 and gap <= errors * _error(_gaps(one, other, factor)))


def least(some: Sequence[Candidate]) -> Candidate:
    """The candidate of the least regret, by shrunk means."""
    return min(some, key=lambda each: each.shrunk_mean())


def rarest(some: Sequence[Candidate], best: Candidate, factor: float) -> Candidate:
    """The one that explores least of those whose regret may be within a factor of the best one's.

    It has the benefit of a standard error, for fresh problems refuse what does not deserve it. With few
    problems nothing is known to be near the best but itself.
    """
    near = [
        each
        for each in some
        if each.regret.size >= PROBLEMS_TO_SHOW and is_near(each, best, factor, BENEFIT_OF_DOUBT)
    ]
    return min([best, *near], key=lambda each: (each.explorations, each.shrunk_mean()))


def pareto_front(some: Iterable[Candidate], loss: Callable[[Candidate], float]) -> list[Candidate]:
    """Those that none beats both in explorations and in loss, the rarest first and the least loss last."""
    found: list[Candidate] = []
    for each in sorted(some, key=lambda each: (each.explorations, loss(each))):
        if not found or loss(each) < loss(found[-1]):
            found.append(each)
    return found


def _gaps(one: Candidate, other: Candidate, factor: float) -> Floats:
    n = min(one.regret.size, other.regret.size)
    gaps: Floats = one.regret[:n] - factor * other.regret[:n]
    return gaps


def is_clearly_above(values: Floats, limit: float) -> bool:
    """Is the mean of values greater than a limit, by a one-sided t-test?"""
    errors = student_quantile(1.0 - 2.0 * ERROR_CHANCE, values.size - 1)
    return float(values.mean()) - errors * _error(values) > limit


def _error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.inf


# Playing


NUMBERS_OF_A_POOL = 1 << 20  # pools share no problem as long as each has at most so many


@final
@dataclass(slots=True, eq=False)
class Pool:
    """Problems of one source and seed; those of another `place` are others, with other noise.

    Explorations that the data decide on are counted as those of a whole `horizon`: where fewer rounds were
    played they go on at the same rate, up to the limits of the schedule.
    """

    source: Problems
    seed: int
    place: int = 0
    horizon: int | None = None
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
        horizon = self.horizon or rounds
        counts = np.array([run.explored for run in runs]) * (horizon / rounds)
        if isinstance(candidate.policy, Infex):
            counts = np.minimum(counts, limit_of(candidate.policy.schedule, horizon))
        spent = time.thread_time() - begun[0] if workers == 1 else workers * (time.monotonic() - begun[1])
        candidate.seconds, candidate.rounds = spent / len(missing), rounds
        shares = [run.different / run.explored if run.different is not None and run.explored else math.nan
                  for run in runs]  # fmt: skip
        candidate.different = np.concatenate([candidate.different[:kept], shares])
        candidate.counts = np.concatenate([candidate.counts[:kept], counts])
        candidate.record(
            np.concatenate([candidate.regret[:kept], [run.regret for run in runs]]),
            np.concatenate([candidate.cost[:kept], [run.regret_exploring for run in runs]]),
        )


def problems_in(seconds: float, some: Iterable[Candidate], workers: int) -> float:
    """How many problems all of these candidates can play in a time, by how long their last runs took."""
    each = sum(candidate.seconds for candidate in some) / workers
    return seconds / each if each > 0.0 else math.inf


FIRST_HEAT, LAST_HEAT = 4, 1024  # problems of a heat; each heat has up to twice those of the one before
LEAST_GROWTH = 1.25  # a heat that adds fewer problems than this factor is not worth its time
ROUNDS_FACTOR = 4  # a run that goes on has so many times its rounds
FIRST_ROUNDS = 500  # the shortest part of the horizon is at least so long
PLAYED_AT_ONCE = 8  # candidates, whatever the number of threads, so that these change nothing
LIKE_REGRET_FACTOR = 1.5  # within this factor of the least regret, one that explores less goes on first
LEVEL_SHARE = 0.01  # of the time, that the candidate of one number of explorations may take


@final
class Race:
    """Plays candidates on the same problems, until a deadline.

    One drops out when another that explores no more often is clearly better, or when it clearly loses more
    than `factor` times what the leader loses, or when its exploring rounds cost more than `max_cost`.

    After `run`, `alive` are the candidates not given up, `fit` those of them that went farthest and are
    within the limits, and `levels` has one for each number of explorations, and for each schedule that
    looks at the data.
    """

    def __init__(
        self,
        source: Problems,
        horizon: int,
        entered: Sequence[Candidate] = (),
        *,
        seed: int = 0,
        workers: int | None = None,
        max_cost: float = math.inf,
        factor: float,
        seconds: float,
    ) -> None:
        self.pool = Pool(source, seed, horizon=horizon)
        self.horizon = horizon
        self.entered = self.alive = self.fit = self.levels = list(entered)
        self.workers = cores() if workers is None else whole("workers", workers, least=1)
        self.max_cost = max_cost
        self.factor = factor
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self.parts = [horizon]  # of the horizon that are played: each a quarter of the next
        while self.parts[0] >= ROUNDS_FACTOR * FIRST_ROUNDS:
            self.parts.insert(0, self.parts[0] // ROUNDS_FACTOR)

    def run(self, keep_within: float, listener: Callable[[str], None]) -> None:
        """Races until it is clear which candidate to choose, or time is up."""
        problems = FIRST_HEAT
        while True:

            def listen(count: int, problems: int = problems) -> None:
                listener(f"{count} of {len(self.entered)} candidates, {problems} problems")

            self.alive, complete = self.heat(self.alive, problems, listen)
            if not complete:
                break
            problems = self.next_heat(problems)
            if not problems or self._is_clear(keep_within):
                break
        if not complete and problems > FIRST_HEAT:  # keeps problems that all met: means are of the same ones
            met = min(each.regret.size for each in self.alive)
            for each in self.alive:
                each.record(each.regret[:met], each.cost[:met])
        self.fit = self.fitting(self.alive)
        self.levels = self._levels()

    def heat(
        self, entered: list[Candidate], problems: int, listener: Callable[[int], None]
    ) -> tuple[list[Candidate], bool]:
        """Brings candidates to so many problems, until they are clearly worse or have played all rounds.

        Those that are left, and whether there was time for all of them. The listener hears how many are left.
        """
        self.pool.upto(problems)
        alive, before = entered, None

        def time_for(candidate: Candidate) -> bool:
            """By its last step, is there time for the next one?"""
            size, rounds = candidate.regret.size, self._next_rounds(candidate)
            if rounds == candidate.rounds:
                runs: float = problems - size
            else:
                runs = problems * (rounds / candidate.rounds if candidate.rounds else 0.0)
            return candidate.seconds * runs < self.deadline - time.monotonic()

        def go_on(candidate: Candidate) -> None:
            if not candidate.rounds or time_for(candidate):
                self.pool.run(candidate, problems, self._next_rounds(candidate))

        with ThreadPoolExecutor(self.workers) as threads:
            while True:
                listener(len(alive))
                waiting = [
                    each for each in alive if each.rounds < self.horizon or each.regret.size < problems
                ]
                ready = [each for each in waiting if time_for(each)]
                if not ready and not any(each.rounds for each in alive):
                    ready = waiting[:1]  # an answer is due
                if not ready:
                    return alive, not waiting
                going = sorted(ready, key=_turn)[:PLAYED_AT_ONCE]
                list(threads.map(go_on, going))
                champions = self.champions(alive)
                same = champions == before and not any(each in champions for each in going)
                before = champions
                out = {id(each) for each in (going if same else alive) if self.is_out(each, champions)}
                alive = [each for each in alive if id(each) not in out]

    def _next_rounds(self, candidate: Candidate) -> int:
        return next((part for part in self.parts if part > candidate.rounds), self.horizon)

    def next_heat(self, problems: int) -> int:
        """How many problems the next heat has: twice as many, or what there is time for; 0 if that is few."""
        if problems >= LAST_HEAT:
            return 0
        left = self.deadline - time.monotonic()
        extra = math.floor(min(problems_in(left, self.alive, self.workers), problems))
        return problems + extra if extra >= (LEAST_GROWTH - 1.0) * problems else 0

    def _is_clear(self, factor: float) -> bool:
        """Is it shown that none is better, that the choice is within the factor, and none rarer is?"""
        fit = [each for each in self.alive if self.is_allowed(each)]
        if not fit or fit[0].regret.size < PROBLEMS_TO_SETTLE:
            return False
        best = least(fit)
        chosen = rarest(fit, best, factor)
        near = [(best, each) for each in fit] + [(chosen, best)]
        rarer = [each for each in fit if each.explorations < chosen.explorations]
        return all(one is other or is_within(one, other, factor) for one, other in near) and all(
            is_beyond(each, best, factor) for each in rarer
        )

    def is_out(self, candidate: Candidate, champions: list[Candidate]) -> bool:
        """Is it clearly worse than one that explores no more often, or too far from the leader, or costly?"""
        if not candidate.rounds:
            return False
        if not self.is_allowed(candidate) and is_clearly_above(candidate.cost, self.max_cost):
            return True
        rarer = [each for each in champions if each.explorations <= candidate.explorations]
        return any(is_worse(candidate, champion, self.factor) for champion in {*rarer[-1:], *champions[-1:]})

    def champions(self, alive: list[Candidate]) -> list[Candidate]:
        """Those that none beats both in explorations and in regret, by shrunk means; the leader is last.

        They are taken from those that played all rounds and are allowed.
        """
        done = [each for each in alive if each.rounds == self.horizon and self.is_allowed(each)]
        return pareto_front(done, Candidate.shrunk_mean)

    def is_allowed(self, candidate: Candidate) -> bool:
        """Is its loss in exploring rounds within the limit, in the mean?"""
        return self.max_cost == math.inf or float(candidate.cost.mean()) <= self.max_cost

    def fitting(self, alive: list[Candidate]) -> list[Candidate]:
        """The candidates to choose from: those within the limits that went farthest."""
        allowed = [each for each in alive if each.rounds and self.is_allowed(each)]
        if not allowed:
            raise InvalidSetting(
                f"exploring costs more than max_cost = {self.max_cost:g} with every schedule that was tried; "
                "a max_count lets it try rarer ones, and a schedule guarded(..., cost_limit=...) keeps any "
                "limit"
            )
        farthest = max(each.rounds for each in allowed)
        return [each for each in allowed if each.rounds == farthest]

    def _levels(self) -> list[Candidate]:
        """For each number of explorations the one that the race puts first, played to the end.

        Where the data decide on that number, there is one for each schedule. The first is the best of those
        not given up or, where there is none, of those that went farthest; one that was given up is played to
        the end of some problems if that takes little time.
        """
        by_count: dict[object, list[Candidate]] = {}
        for each in self.entered:
            if each.rounds and self.is_allowed(each):
                schedule = each.policy.schedule if isinstance(each.policy, Infex) else None
                level = each.planned if each.planned is not None else registry.label_of(schedule)
                by_count.setdefault(level, []).append(each)
        first = [
            min(some, key=lambda each: (each not in self.fit, -each.rounds, each.shrunk_mean()))
            for some in by_count.values()
        ]
        rounds = self.fit[0].rounds
        for each in first if rounds == self.horizon else ():
            takes = PROBLEMS_TO_SETTLE * each.seconds * self.horizon / each.rounds / self.workers
            if each.regret.size < PROBLEMS_TO_SETTLE and takes < LEVEL_SHARE * self.seconds:
                self.pool.run(each, PROBLEMS_TO_SETTLE, self.horizon, self.workers)
        return [each for each in first if each.rounds == rounds]


def _turn(candidate: Candidate) -> tuple[int, float]:
    """The order of turns: new ones, then those that lost least; with like regret, who explores least."""
    if not candidate.rounds:
        return -(10**9), 0
    logarithm = math.log(max(candidate.shrunk_mean(), 1e-9)) / math.log(LIKE_REGRET_FACTOR)
    return math.floor(logarithm), candidate.explorations
