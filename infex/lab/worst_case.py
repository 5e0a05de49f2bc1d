"""The worst regret over searched instances, by how often one explores: the open problem of the paper.

Instances have fixed arms and a theta, none longer than 1, and rewards with noise N(0, 1). For a policy and a
horizon, `search` looks for the instance on which the policy loses most, and `judge` plays that instance with
fresh seeds, so that the regret that is reported is not one of the lucky draws that the search has chosen.
It is a lower bound on the worst case: a search may miss worse instances.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex import __version__
from infex._stats import mean_intervals, slope, student_quantile
from infex.arrays import Floats, Integers
from infex.checks import safe_repr, whole
from infex.errors import InvalidSetting, SparseExploration
from infex.lab.environments import LinearInstance, lower_bound
from infex.lab.simulation import Run, play_many
from infex.lab.specs import Named, named
from infex.lab.theory import worst_case_bound
from infex.policies import Infex, Policy
from infex.policies.base import policy_info
from infex.registry import stream_name
from infex.schedules.base import has
from infex.schedules.counted import Counted, Logarithmic, Power
from infex.streams import stream

BASES = ("LinUCB", "LinUCB(scale=0.3)", "Uniform")
SCHEDULES = (
    *(f"power({r})" for r in ("0.2", "0.35", "0.5", "0.65", "0.8", "1")),
    *(f"logarithmic({r})" for r in ("1", "1.5", "2", "3")),
)
LONGEST_HORIZON, SHORTEST_HORIZON, HORIZONS_PER_DECADE = 100_000, 100, 2
FRESH_SEEDS = 200

SMALLEST_GAP_EXPONENT = 0.6  # gaps are searched from T^-0.6, below that of sqrt(T), to 1
RESTARTS = 6  # random points of each family in every search
LEADERS, NEIGHBOURS = 3, 2  # of a generation, and the points that are tried near each of them
STEPS = (0.15, 0.05)  # how far away, in a unit cube, in the second and the third generation
SEARCH_SEEDS = 6  # of the first generation; each further one has twice as many
SCOUT_HORIZONS, SCOUT_RESTARTS, SCOUT_SEEDS = (300, 3000), 40, 24  # short runs, of which many are cheap
EXCHANGE_SEEDS = 32
SEEDS_APART = 1_000_000  # between the seeds of two maps
EXCHANGE_FROM, FRESH_FROM = SEEDS_APART // 4, SEEDS_APART // 2  # where the seeds of a map change their use


# Instances, as points of a unit cube


class Family(NamedTuple):
    """Instances that are points of a unit cube of so many `coordinates`, and what they are in `words`.

    `make` gives the instance of a point at a horizon: the same point has smaller gaps at a longer one.
    """

    name: str
    coordinates: int
    make: Callable[[Floats, int], LinearInstance]
    words: str


def _gap(coordinate: float, horizon: int) -> float:
    """The gap T^(-0.6 coordinate): from 1 to T^-0.6."""
    return float(horizon ** (-SMALLEST_GAP_EXPONENT * coordinate))


def _within_ball(rows: Floats) -> Floats:
    """Rows, or one, of length 1 at most."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1.0))


def _orthogonal(point: Floats, horizon: int) -> LinearInstance:
    level, best = 0.5 * (2.0 * point[1] - 1.0) ** 3, min(int(4.0 * point[2]), 3)
    theta = np.full(4, level)
    theta[best] += _gap(point[0], horizon)
    return LinearInstance(np.eye(4), _within_ball(theta), "gaussian")


def _informative(point: Floats, horizon: int) -> LinearInstance:
    near, angle = _gap(point[0], horizon), math.pi * (point[2] - 0.5)
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [1.0 - near, 4.0 * point[1] * near]])
    return LinearInstance(
        _within_ball(arms), point[3] * np.array([math.cos(angle), math.sin(angle)]), "gaussian"
    )


def _five_arms(point: Floats, horizon: int) -> LinearInstance:
    numbers = 2.0 * point[1:] - 1.0
    arms, theta = _within_ball(numbers[:15].reshape(5, 3)), _within_ball(numbers[15:])
    direction = theta / max(float(np.linalg.norm(theta)), 1e-12)
    along = arms @ direction
    shortened = (along.max() - along) * (1.0 - _gap(point[0], horizon))
    return LinearInstance(_within_ball(arms + shortened[:, None] * direction), theta, "gaussian")


FAMILIES = (
    Family(
        "two arms, 1 best",
        1,
        lambda point, horizon: lower_bound(_gap(point[0], horizon), 2),
        "the arms 1 and 0 of the paper's lower bound, theta = gap: who drops the arm 1 learns nothing of it",
    ),
    Family(
        "two arms, 0 best",
        1,
        lambda point, horizon: lower_bound(_gap(point[0], horizon), 1),
        "the same arms with theta = -gap: every pull of the arm 1 costs the gap",
    ),
    Family(
        "orthogonal",
        3,
        _orthogonal,
        "four orthogonal arms, near ties: one is better by the gap, the level of the others is searched",
    ),
    Family(
        "informative arm",
        4,
        _informative,
        "e1, e2 and (1 - eps) e1 + c eps e2: two near ties, and an arm that tells them apart but may be bad, "
        "after Lattimore and Szepesvari, The End of Optimism? (2017)",
    ),
    Family(
        "five arms",
        19,
        _five_arms,
        "five arms and a theta in three dimensions, every number of them searched, the gaps shortened "
        "together",
    ),
)


@final
@dataclass(frozen=True, slots=True)
class Candidate:
    """A point of a family: an instance for every horizon."""

    family: Family
    point: tuple[float, ...]

    def instance(self, horizon: int) -> LinearInstance:
        """The instance at a `horizon`, by which its gaps are scaled."""
        return self.family.make(np.array(self.point), horizon)


# The search, and the judgement


class Search(NamedTuple):
    """What a search has found: the `worst` candidate and its mean `regret` in the last generation.

    That mean is too high, as the worst of many is also one of bad luck. `tried` is how many instances were
    played.
    """

    worst: Candidate
    regret: float
    tried: int


def search(
    policy: Policy,
    horizon: int,
    *,
    families: Sequence[Family] = FAMILIES,
    starts: Iterable[Candidate] = (),
    restarts: int = RESTARTS,
    seeds: int = SEARCH_SEEDS,
    seed: int = 0,
    workers: int | None = None,
) -> Search:
    """The instance on which a policy has the greatest mean regret over a `horizon`, as far as it is found.

    The first generation is `starts`, and so many random points of each of the `families` as `restarts` says.
    Two more have the three worst so far, and two random points near each. Every generation has twice as many
    `seeds` as the one before, and none that was used before. Equal for equal `seed`, with any number of
    `workers`.

    >>> from infex import Infex, LinUCB, power
    >>> found = search(Infex(LinUCB(), power(0.5)), horizon=100, families=FAMILIES[:2], seeds=4, workers=1)
    >>> found.worst.family.name
    'two arms, 1 best'
    """
    horizon, seeds = whole("horizon", horizon, least=2), whole("seeds", seeds, least=1)
    first = whole("seed", seed, least=0) * SEEDS_APART
    if seeds * 2 ** (len(STEPS) + 1) > EXCHANGE_FROM:
        most = EXCHANGE_FROM // 2 ** (len(STEPS) + 1)
        raise InvalidSetting(f"seeds must be at most {most:,} in a search, got {seeds:,}")
    rng = stream(seed, "worst case", stream_name(policy), horizon)
    new = (_random_points(each, whole("restarts", restarts, least=0), rng) for each in families)
    candidates = [*starts, *(point for points in new for point in points)]
    if not candidates:
        raise InvalidSetting("a search needs starts, or families and restarts; got none")
    distinct = set(candidates)
    for step in STEPS:
        regrets = _mean_regrets(policy, horizon, candidates, range(first, first + seeds), workers)
        leaders = [candidates[k] for k in np.argsort(-regrets, kind="stable")[:LEADERS]]
        candidates = [*leaders, *(_near(each, step, rng) for each in leaders for _ in range(NEIGHBOURS))]
        distinct |= set(candidates)
        first, seeds = first + seeds, 2 * seeds
    regrets = _mean_regrets(policy, horizon, candidates, range(first, first + seeds), workers)
    worst = int(np.argmax(regrets))
    return Search(candidates[worst], float(regrets[worst]), len(distinct))


def _mean_regrets(
    policy: Policy, horizon: int, candidates: Sequence[Candidate], seeds: range, workers: int | None
) -> Floats:
    instances = [each.instance(horizon) for each in candidates]
    runs = play_many(instances, policy, horizon, seeds, workers=workers)
    regrets: Floats = np.array([run.regret for run in runs]).reshape(len(instances), len(seeds))
    return np.asarray(regrets.mean(axis=1))


def _random_points(family: Family, count: int, rng: np.random.Generator) -> list[Candidate]:
    """Random points, each in another stretch of every coordinate's range (a Latin hypercube)."""
    places = np.array([rng.permutation(count) for _ in range(family.coordinates)]).T
    points = (places + rng.random(places.shape)) / max(count, 1)
    return [Candidate(family, tuple(point)) for point in points.tolist()]


def _near(candidate: Candidate, step: float, rng: np.random.Generator) -> Candidate:
    moved = np.array(candidate.point) + step * rng.standard_normal(len(candidate.point))
    return Candidate(candidate.family, tuple(np.clip(moved, 0.0, 1.0).tolist()))


def judge(
    policy: Policy,
    instance: LinearInstance,
    horizon: int,
    seeds: int = FRESH_SEEDS,
    *,
    seed: int = 0,
    workers: int | None = None,
) -> list[Run]:
    """Runs with so many `seeds` that no `search` of the same `seed` has played.

    `policy` plays `instance` over the `horizon`, on so many `workers`.
    """
    first = whole("seed", seed, least=0) * SEEDS_APART + FRESH_FROM
    return play_many(
        instance, policy, horizon, range(first, first + whole("seeds", seeds, least=1)), workers=workers
    )


# The map


class WorstCase(NamedTuple):
    """The worst instance that was found for a base and a schedule at one horizon.

    `regret` is its mean over fresh seeds with the ends of its interval of 95 %, `search_regret` the mean by
    which it was chosen, and `exploring` the share of it that exploring rounds have lost. `explorations` is
    f(T), and `floor` the regret that some instance forces on any base (`theory.worst_case_bound`). The
    instance has `arms` and a `theta`, and `gap` is its smallest; `tried` is how many instances were played in
    the search.
    """

    base: str
    schedule: str
    horizon: int
    explorations: int
    regret: float
    low: float
    high: float
    search_regret: float
    exploring: float
    floor: float
    family: str
    gap: float
    arms: list[list[float]]
    theta: list[float]
    tried: int


class Growth(NamedTuple):
    """The slope of log worst regret against log T, and that of T/sqrt(1 + f(T)) through the same horizons.

    `low` and `high` bound an interval of 95 % by drawing fresh seeds again, which knows nothing of what the
    search may have missed. `scatter` is half the length of another, by how far the horizons lie from one
    line: it has the luck of every search in it, and what of the line is bent. NaN with two horizons.
    """

    slope: float
    low: float
    high: float
    scatter: float
    predicted: float

    @property
    def least(self) -> float:
        """The lower end of the hull of both intervals; NaN if one is missing."""
        return float(np.minimum(self.low, self.slope - self.scatter))

    @property
    def most(self) -> float:
        """The upper end of the hull of both intervals; NaN if one is missing."""
        return float(np.maximum(self.high, self.slope + self.scatter))


class Slope(NamedTuple):
    """How the worst regret of a base and a schedule grows over `all` horizons, and over the `late` half.

    `kind` is "power" where f(T) = T^r and "logarithmic" where it is (log T)^r; else it is empty, and `r` NaN.
    """

    base: str
    schedule: str
    all: Growth
    late: Growth
    kind: str
    r: float


@final
@dataclass(frozen=True, slots=True)
class WorstCases:
    """The map: the worst of every base, schedule and horizon, slopes, and the settings that made it."""

    cells: tuple[WorstCase, ...]
    slopes: tuple[Slope, ...]
    seeds: int
    seed: int

    @property
    def horizons(self) -> list[int]:
        """All horizons, the shortest first."""
        return sorted({each.horizon for each in self.cells})

    @property
    def bases(self) -> list[str]:
        """The bases, in their order."""
        return list(dict.fromkeys(each.base for each in self.cells))

    @property
    def ends(self) -> list[WorstCase]:
        """The cells of the longest horizon."""
        return [each for each in self.cells if each.horizon == self.horizons[-1]]

    def of(self, base: str, schedule: str) -> list[WorstCase]:
        """The cells of a `base` and a `schedule`, the shortest horizon first."""
        return [each for each in self.cells if (each.base, each.schedule) == (base, schedule)]

    def as_data(self) -> dict[str, Any]:
        """All of it as plain data, from which every run can be played again."""
        return {
            "version": __version__,
            "seeds": self.seeds,
            "seed": self.seed,
            "first_fresh_seed": self.seed * SEEDS_APART + FRESH_FROM,
            "slopes": [
                each._asdict() | {"all": each.all._asdict(), "late": each.late._asdict()}
                for each in self.slopes
            ],
            "cells": [each._asdict() for each in self.cells],
        }


def horizons_to(longest: int) -> list[int]:
    """Horizons from 100 to `longest`, two to a decade.

    >>> horizons_to(10_000)
    [100, 316, 1000, 3162, 10000]
    """
    longest = whole("longest", longest, least=SHORTEST_HORIZON)
    steps = math.log10(longest / SHORTEST_HORIZON) * HORIZONS_PER_DECADE
    exponents = np.arange(int(steps + 1e-9) + 1) / HORIZONS_PER_DECADE
    return sorted({*(round(SHORTEST_HORIZON * 10.0**each) for each in exponents.tolist()), longest})


def worst_cases(
    bases: Iterable[Any] = BASES,
    schedules: Iterable[Any] = SCHEDULES,
    horizons: Iterable[int] = (),
    seeds: int = FRESH_SEEDS,
    *,
    families: Sequence[Family] = FAMILIES,
    seed: int = 0,
    workers: int | None = None,
    listener: Callable[[str], None] = lambda name: None,
) -> WorstCases:
    """The map of worst regret: every base with every schedule at every horizon.

    `bases` and `schedules` are texts or objects, or dicts of their names; without `horizons` there are two to
    a decade from 100 to 100,000. A base that needs data of its own has them (`data="own"`). First, all
    schedules of a base are searched at length at two short horizons, from random instances of all `families`.
    What was worst there, with gaps scaled, is where the searches of all horizons start, so that no horizon is
    searched better than another. What these find is exchanged: the worst of each schedule is tried with all
    schedules of the base. What is worst then is judged on so many fresh `seeds`. The `listener` hears a name
    before each search. Equal for equal `seed`, with any number of `workers`.
    """
    players_of_bases, rounds = _players(bases, schedules), _rounds(horizons)
    count, seed = whole("seeds", seeds, least=1), whole("seed", seed, least=0)
    settings: Any = {"seed": seed, "workers": workers}
    cells: list[WorstCase] = []
    slopes: list[Slope] = []
    for players in players_of_bases:
        starts: dict[Candidate, None] = {}
        for player in players:
            listener(f"{player}, first searches")
            for horizon in SCOUT_HORIZONS:
                more: Any = {"restarts": SCOUT_RESTARTS, "seeds": SCOUT_SEEDS} | settings
                found = search(player.policy, min(horizon, rounds[-1]), families=families, **more)
                starts[found.worst] = None
        for horizon in rounds:
            searches = []
            for player in players:
                listener(f"{player}, T = {horizon:,}")
                searches.append(search(player.policy, horizon, families=families, starts=starts, **settings))
            for player, own in zip(players, searches, strict=True):
                found = _exchange(player.policy, horizon, searches, **settings)._replace(tried=own.tried)
                runs = judge(player.policy, found.worst.instance(horizon), horizon, count, **settings)
                player.enter(found, runs)
        cells += [cell for player in players for cell in player.cells]
        slopes += [player.slope() for player in players]
    return WorstCases(tuple(cells), tuple(slopes), count, seed)


def _exchange(
    policy: Policy, horizon: int, searches: Sequence[Search], *, seed: int, workers: int | None
) -> Search:
    """The worst for one policy of what was worst for any."""
    candidates = list(dict.fromkeys(each.worst for each in searches))
    first = seed * SEEDS_APART + EXCHANGE_FROM
    regrets = _mean_regrets(policy, horizon, candidates, range(first, first + EXCHANGE_SEEDS), workers)
    worst = int(np.argmax(regrets))
    return Search(candidates[worst], float(regrets[worst]), len(candidates))


def steps_of(bases: Iterable[Any], schedules: Iterable[Any], horizons: Iterable[int]) -> int:
    """How often the listener of a map of these `bases`, `schedules` and `horizons` is called.

    What a map refuses of them is refused here, too, before any work.
    """
    return sum(map(len, _players(bases, schedules))) * (1 + len(_rounds(horizons)))


def _rounds(horizons: Iterable[int]) -> list[int]:
    rounds = sorted({whole("horizon", each, least=2) for each in horizons} or horizons_to(LONGEST_HORIZON))
    if len(rounds) < 2:
        raise InvalidSetting(f"a slope needs at least two horizons, got {rounds[0]:,} alone")
    return rounds


def _players(bases: Iterable[Any], schedules: Iterable[Any]) -> list[list[_Player]]:
    """Each base with every schedule."""
    every_schedule = _all_named(schedules, "schedule")
    return [[_Player(base, each) for each in every_schedule] for base in _all_named(bases, "policy")]


def _all_named(given: Iterable[Any], kind: Literal["policy", "schedule"]) -> list[Named]:
    if isinstance(given, Mapping):
        found = [each for name, some in given.items() for each in named(some, kind, str(name))]
    else:
        found = [each for some in given for each in named(some, kind)]
    if not found:
        raise InvalidSetting(f"a map of worst cases needs at least one {kind}, got none")
    (label, count), *_ = Counter(each.label for each in found).most_common(1)
    if count > 1:
        these = "bases" if kind == "policy" else "schedules"
        raise InvalidSetting(
            f"{label} stands {count} times among the {these}; a dict gives them names: {these}={{'one': ...}}"
        )
    return found


@final
class _Player:
    """A base with a schedule, as it is played and as it is called, and its part of the map."""

    def __init__(self, base: Named, schedule: Named) -> None:
        self.base, self.schedule = base, schedule
        if not has(schedule.thing, "count"):
            raise InvalidSetting(
                "the number of explorations f(T) must be known beforehand, so a schedule must have a method "
                f"count; {safe_repr(schedule.thing)} has none: name a fixed schedule"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SparseExploration)  # rare exploration is what is on trial here
            needs_own = policy_info(base.thing).needs_own_data
            self.policy = Infex(base.thing, schedule.thing, data="own" if needs_own else "shared")
        self.cells: list[WorstCase] = []
        self.regrets: list[list[float]] = []  # of every cell, with every fresh seed

    def __str__(self) -> str:
        return f"{self.base.label}, {self.schedule.label}"

    def enter(self, found: Search, runs: list[Run]) -> None:
        """Enters what fresh runs say of the worst instance that was found at one horizon."""
        horizon, instance = runs[0].horizon, found.worst.instance(runs[0].horizon)
        regret = np.array([run.regret for run in runs])
        (interval,) = mean_intervals([regret])
        exploring = np.sum([run.regret_exploring for run in runs]) / max(regret.sum(), 1e-300)
        explorations = int(self.schedule.thing.count(horizon))
        self.regrets.append(regret.tolist())
        self.cells.append(
            WorstCase(
                self.base.label,
                self.schedule.label,
                horizon,
                explorations,
                *interval,
                search_regret=found.regret,
                exploring=float(exploring),
                floor=worst_case_bound(horizon, explorations),
                family=found.worst.family.name,
                gap=instance.gap,
                arms=instance.arms.tolist(),
                theta=instance.theta.tolist(),
                tried=found.tried,
            )
        )

    def slope(self) -> Slope:
        """How it grows, through all horizons and through the longer half."""
        rounds, regrets = np.array([each.horizon for each in self.cells]), np.array(self.regrets).T
        floors = np.array([[each.floor for each in self.cells]])
        parts = slice(None), slice(late_from(len(rounds)), None)
        whole_range, late = (_growth(rounds[part], regrets[:, part], floors[:, part]) for part in parts)
        kind, r = "", math.nan
        match self.schedule.thing:
            case Counted(target=Power(r=found)):
                kind, r = "power", found
            case Counted(target=Logarithmic(r=found)):
                kind, r = "logarithmic", found
        return Slope(self.base.label, self.schedule.label, whole_range, late, kind, r)


def late_from(count: int) -> int:
    """The place of the first horizon of the longer half, if there are so many: two at least belong to it.

    >>> [late_from(count) for count in (2, 3, 4, 9)]
    [0, 1, 2, 4]
    """
    return min(count // 2, count - 2)


def _growth(rounds: Integers, regrets: Floats, floors: Floats) -> Growth:
    """Slopes of regrets, (seeds, horizons), and of floors, (1, horizons)."""
    scatter, means = math.nan, regrets.mean(axis=0)
    if rounds.size > 2 and np.all(means > 0.0):
        logs, line = np.log(rounds), np.polyfit(np.log(rounds), np.log(means), 1)
        misses = np.log(means) - np.polyval(line, logs)
        freedom = rounds.size - 2
        error = math.sqrt(float(misses @ misses) / freedom / float(np.sum((logs - logs.mean()) ** 2)))
        scatter = student_quantile(0.95, freedom) * error
    return Growth(*slope(rounds, regrets), scatter, slope(rounds, floors).value)
