"""What the race has chosen, evaluated on fresh problems that chose nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, final

import numpy as np

from infex import _stats
from infex._stats import PAIRS_OF_AN_INTERVAL, Interval, mean_intervals, paired, quantile
from infex.arrays import Floats
from infex.lab.planner.race import (
    PROBLEMS_TO_SETTLE,
    PROBLEMS_TO_SHOW,
    Candidate,
    Race,
    is_beyond,
    is_near,
    least,
    pareto_front,
    problems_in,
    rarest,
)
from infex.policies import Policy

# Figures of regret


WORST_DECILE = 0.9  # one problem in ten costs more than this quantile


class Cost(NamedTuple):
    """Regret over problems, or by how much it differs; `below` counts the problems where it is below 0."""

    problems: int
    mean: Interval
    median: Interval
    worst_decile: Interval
    below: int


def cost(one: Floats, other: Floats | None = None) -> Cost:
    """The regret of one policy, or by how much it exceeds that of another on the problems that both met.

    The mean is that of paired differences; a median or decile is taken of each sample, and then subtracted.

    >>> cost(np.arange(1.0, 12.0)).median.value
    6.0
    """
    other = np.zeros(one.size) if other is None else other
    n = min(one.size, other.size)
    one, other = one[:n], other[:n]
    gap = paired(one, other)
    mean = Interval(gap.mean, gap.low, gap.high)
    return Cost(n, mean, quantile(one, other, 0.5), quantile(one, other, WORST_DECILE), gap.below)


def ratio(one: Floats, other: Floats) -> Interval:
    """`_stats.ratio` on the problems that both met; 1 for equal runs, infinite where the other loses nothing.

    There is no interval (NaN) where so few problems have any regret that some draw has none.

    >>> round(ratio(np.arange(12.0) + 3, 2 * np.arange(12.0) + 6).value, 12)
    0.5
    """
    n = min(one.size, other.size)
    one, other = one[:n], other[:n]
    if n and np.array_equal(one, other):
        return Interval(1.0, 1.0, 1.0)
    if not n or not other.any():
        return Interval(math.inf if one.any() else math.nan, math.nan, math.nan)
    if not one.any():
        return Interval(0.0, 0.0, 0.0) if n >= PAIRS_OF_AN_INTERVAL else Interval(0.0, math.nan, math.nan)
    return _stats.ratio(one, other)


class Figures(NamedTuple):
    """A candidate on fresh problems, which did not choose it.

    `explorations` is how many rounds explore; where the data decide, that is the mean over the problems, to a
    whole number, and `most` the number on the problem that had most. `regret` is the mean over the problems,
    `ratio` how many times as much it is as that of the best on the same problems, each with an interval of
    95 % (NaN with few problems); `cost` is the part of the regret in exploring rounds, and `different` the
    share of these that played another arm than the greedy one (NaN where it is not known). `projected` says
    that explorations are those of a part of the horizon, as if it went on so.
    """

    expression: str
    explorations: int
    most: int
    problems: int
    regret: Interval
    ratio: Interval
    cost: float
    different: float
    projected: bool = False


class MenuEntry(NamedTuple):
    """One line of the menu; `factor` is how near the least regret it was chosen to be, if it was."""

    name: str
    factor: float | None
    figures: Figures

    @property
    def holds(self) -> Literal["yes", "no", "open", ""]:
        """Do the fresh problems show that it is as near as that? "open" where they do not tell."""
        if self.factor is None:
            return ""
        ratio = self.figures.ratio
        if ratio.value == ratio.low == ratio.high == 1.0 or ratio.high <= self.factor:
            return "yes"
        return "no" if ratio.low > self.factor else "open"


# The menu


MENU_FACTORS = (1.1, 1.25, 1.5)  # of the least regret, within which the least exploration is named
LEAST_REGRET, KNEE = "least regret", "the knee"
LEAST_ALLOWED = "least regret within max_cost"


def menu(
    fit: Sequence[Candidate],
    levels: Sequence[Candidate],
    keep_within: float,
    refused: Sequence[Candidate] = (),
) -> dict[str, Candidate]:
    """The candidate of each entry, by its name; a knee only where there is one.

    `fit` are those to choose from; all of them played as many rounds of as many problems. `levels` has one
    for each number of explorations, perhaps one that was given up, to find the knee. `refused` are those
    found to be farther from the best than `keep_within`, which has an entry too.
    """
    best = least(fit)
    near = [each for each in fit if each is best or each not in refused]
    entries = {LEAST_REGRET: best}
    for factor in sorted({*MENU_FACTORS, keep_within}):
        entries[within_name(factor)] = rarest(fit if factor > keep_within else near, best, factor)
    bend = knee(levels, best)
    return entries if bend is None else entries | {KNEE: bend}


def within_name(factor: float) -> str:
    """The name of an entry.

    >>> within_name(1.1), within_name(1.025), within_name(3)
    ('within 10 %', 'within 2.5 %', 'within 200 %')
    """
    return f"within {100 * (factor - 1):.4g} %"


def relative(one: Candidate, best: Candidate) -> float:
    """How many times as much one loses as the best, by shrunk means on the problems that both met."""
    n = min(one.regret.size, best.regret.size)
    there = float(best.regret[:n].mean()) + best.shrunk_mean() - best.mean
    return one.shrunk_mean() / there if there > 0.0 else math.inf if one.shrunk_mean() > 0.0 else 1.0


def _rarer(some: Sequence[Candidate], best: Candidate) -> list[Candidate]:
    """Those that explore less often than the best, on enough problems."""
    return [
        each
        for each in some
        if each.regret.size >= PROBLEMS_TO_SHOW and each.explorations < best.explorations
    ]


def nearest(some: Sequence[Candidate], best: Candidate) -> Candidate | None:
    """The one of the least regret among those that explore less often than the best, if there is one."""
    played = [each for each in _rarer(some, best) if each.rounds == best.rounds]
    return min(played, key=lambda each: relative(each, best), default=None)


def front(some: Sequence[Candidate], best: Candidate) -> list[Candidate]:
    """The Pareto front: those that none beats both in explorations and in regret, up to the best.

    One that was given up met fewer problems; it does not count if it seems as good as the best.
    """

    def loss(candidate: Candidate) -> float:
        return relative(candidate, best)

    return [*pareto_front([each for each in _rarer(some, best) if loss(each) > 1.0], loss), best]


def knee(some: Sequence[Candidate], best: Candidate) -> Candidate | None:
    """Where the front bends most: there is more regret to the left, and hardly less to the right.

    It lies farthest below the straight line from the rarest of the front to the best, where both
    scales are logarithmic (Satopää et al., 2011). None, if nothing lies below it.
    """
    points = [
        (math.log(max(each.explorations, 0.5)), math.log(relative(each, best)), each)
        for each in front(some, best)
    ]
    if len(points) < 3 or points[0][1] == math.inf:
        return None
    (left, high, _), (right, low, _) = points[0], points[-1]
    slope = (low - high) / (right - left)
    below, bend = max(
        ((high + slope * (x - left) - y, each) for x, y, each in points), key=lambda pair: pair[0]
    )
    return bend if below > 0.0 else None


# Fresh problems


MOST_EVALUATIONS = 6  # in the last one the best is recommended
EVALUATION_SHARE = 0.85  # of the time that is left
MOST_FRESH = 8192  # problems
LOOKS = ((1 / 16, 2.0), (1 / 4, 1.0))  # parts of the problems; so many standard errors beyond are refused
PLAYED_IN_TURN = 128  # problems that all play before the clock is looked at
TRIAL_ROUNDS = 20_000  # enough to tell how long a whole run would take
REFERENCE_SHARE = 0.03  # of the time, that what is compared with may take


@final
class Evaluation:
    """The candidates of a menu, played on problems of their own: all of them the same ones.

    The race proposes who is `judged`, and which of them to recommend (`proposed`). Once they have played,
    `entries` are those of the menu by their names, and `chosen` is the recommended one. `references` are
    what a plan compares with.
    """

    def __init__(
        self, race: Race, keep_within: float, place: int = 1, refused: Sequence[Candidate] = ()
    ) -> None:
        self.race, self.keep_within = race, keep_within
        self.pool = replace(race.pool, place=place, drawn=[])
        self.entries = menu(race.fit, race.levels, keep_within, refused)
        self.proposed = self.entries[within_name(keep_within)]
        if place == MOST_EVALUATIONS:
            self.proposed = self.best
        self.chosen = self.proposed
        rival = nearest([*race.fit, *race.levels], self.best) if self.proposed is self.best else None
        named = [self.proposed, *self.entries.values()]
        self.judged = list(dict.fromkeys(named if rival is None else [*named, rival]))
        self.rounds = self.best.rounds
        self.references: dict[str, Candidate] = {}
        self._fresh: dict[str, Candidate] = {}
        self._figures: dict[str, Figures] = {}

    @property
    def best(self) -> Candidate:
        """The one of the least regret: in the race and, after `confirms`, on fresh problems."""
        return self.entries[LEAST_REGRET]

    @property
    def nearest(self) -> Candidate | None:
        """Where the best is recommended, the one of least regret on fresh problems that explores less often.

        It is one of those judged and, if any of them is, within `max_cost`.
        """
        if self.chosen is not self.best:
            return None
        often = self.explorations(self.best)
        rarer = [each for each in self._allowed() if self.explorations(each) < often]
        return min(rarer, key=lambda each: self.fresh(each).mean, default=None)

    def fresh(self, candidate: Candidate) -> Candidate:
        """The candidate with its runs on the fresh problems, if any."""
        unplayed = Candidate(candidate.policy, candidate.planned, candidate.label, seconds=candidate.seconds)
        return self._fresh.setdefault(candidate.label, unplayed)

    def explorations(self, candidate: Candidate) -> float:
        """How many rounds explore: as planned or, where the data decide, in the mean of fresh problems."""
        return self.fresh(candidate).explorations

    def play(self, some: Sequence[Candidate], problems: int, deadline: float = math.inf) -> None:
        """Plays so many problems with all of them; past the deadline no more than it has begun."""
        for count in range(min(PLAYED_IN_TURN, problems), problems + PLAYED_IN_TURN, PLAYED_IN_TURN):
            for each in some:
                self.pool.run(self.fresh(each), min(count, problems), self.rounds, self.race.workers)
            if time.monotonic() >= deadline:
                return

    def affordable(self, some: Sequence[Candidate], most: int, seconds: float) -> int:
        """How many problems all of them can play in a time: at least one, and so many at most."""
        unfinished = [each for each in map(self.fresh, some) if each.regret.size < most]
        return math.floor(min(max(problems_in(seconds, unfinished, self.race.workers), 1.0), most))

    def confirms(self, seconds: float) -> bool:
        """Plays fresh problems with all that are judged; does what was proposed keep its promise?

        A few problems first: if these show that it does not, that is all. Else every name on the menu goes
        to the one that deserves it on the fresh problems, and the promise is kept if the recommended one
        explores no more often than what was proposed.
        """
        begun = time.monotonic()
        some, best = self.judged, self.best
        problems = self.affordable(some, MOST_FRESH, seconds)
        for part, errors in LOOKS:
            few = math.ceil(part * problems)
            self.play(some, few)
            if self.proposed is not best and not is_near(
                self.fresh(self.proposed), self.fresh(best), self.keep_within, errors
            ):
                return False
        left = begun + seconds - time.monotonic()
        self.play(some, few + self.affordable(some, MOST_FRESH - few, left), begun + seconds)
        self._name()
        return self.proposed is best or self.explorations(self.chosen) <= self.explorations(self.proposed)

    def _allowed(self) -> list[Candidate]:
        """Those judged that keep `max_cost` on the fresh problems; all of them if none does."""
        return [each for each in self.judged if self.race.is_allowed(self.fresh(each))] or self.judged

    def _name(self) -> None:
        """Gives the names of the menu, and the recommendation, by the regret on the fresh problems alone."""

        def regret(candidate: Candidate) -> float:
            return self.fresh(candidate).mean

        best, allowed, bend = min(self.judged, key=regret), self._allowed(), self.entries.get(KNEE)
        first = min(allowed, key=regret)
        self.entries = {LEAST_REGRET: best} | ({} if first is best else {LEAST_ALLOWED: first})
        for factor in sorted({*MENU_FACTORS, self.keep_within}):
            near = [each for each in allowed if regret(each) <= factor * regret(best)]
            if near:
                self.entries[within_name(factor)] = min(
                    near, key=lambda each: (self.explorations(each), regret(each))
                )
        if bend is not None and not any(
            self.explorations(each) <= self.explorations(bend) and regret(each) < regret(bend)
            for each in self.judged
        ):
            self.entries[KNEE] = bend
        self.chosen = self.entries.get(within_name(self.keep_within), first)

    def compare_with(self, name: str, policy: Policy, explorations: int, seconds: float) -> None:
        """Plays a reference on as many fresh problems as the time allows; on none if one takes long."""
        candidate = Candidate(policy, explorations)
        if any(each.label == candidate.label and each.policy != policy for each in self.race.entered):
            candidate.label += ", plain"  # a user has called another policy so
        self.pool.run(candidate, 1, min(self.rounds, TRIAL_ROUNDS))
        candidate.seconds *= self.rounds / candidate.rounds
        if candidate.seconds <= max(0.2 * seconds, 2.0):
            met = self.fresh(self.chosen).regret.size
            self.play([candidate], self.affordable([candidate], met, REFERENCE_SHARE * seconds))
        if candidate.label in self._fresh:  # played now, or as one of the menu
            self.references[name] = self.fresh(candidate)

    def figures(self, candidate: Candidate) -> Figures:
        """Its figures on fresh problems."""
        if candidate.label not in self._figures:
            fresh, best = self.fresh(candidate), self.fresh(self.best)
            shares = fresh.different[np.isfinite(fresh.different)]
            (regret,) = mean_intervals([fresh.regret])
            self._figures[candidate.label] = Figures(
                candidate.label,
                round(fresh.explorations),
                round(float(fresh.counts.max(initial=0))) if fresh.planned is None else fresh.planned,
                int(fresh.regret.size),
                regret._replace(low=float(np.maximum(regret.low, 0.0))),  # unlike Python's max, nan for nan
                ratio(fresh.regret, best.regret),
                float(fresh.cost.mean()) if fresh.cost.size else math.nan,
                float(shares.mean()) if shares.size else math.nan,
                projected=fresh.planned is None and self.rounds < self.race.horizon,
            )
        return self._figures[candidate.label]

    def menu(self) -> tuple[MenuEntry, ...]:
        """The menu in figures, from the least regret to the knee."""
        factors = {within_name(factor): factor for factor in (*MENU_FACTORS, self.keep_within)}
        entries = self.entries.items()
        return tuple(MenuEntry(name, factors.get(name), self.figures(each)) for name, each in entries)

    def levels(self) -> tuple[Figures, ...]:
        """Figures of the first of each number of explorations that met enough problems, rarest first."""
        known = [each for each in self.race.levels if self.fresh(each).regret.size >= PROBLEMS_TO_SETTLE]
        return tuple(sorted(map(self.figures, known), key=lambda each: each.explorations))

    def open(self) -> int:
        """How many that explore less than the recommended one may be as near, by the race alone."""
        rarer = [each for each in self.race.alive if each.explorations < self.chosen.explorations]
        return sum(not is_beyond(each, self.best, self.keep_within) for each in rarer)


def evaluate(race: Race, keep_within: float, deadline: float) -> Evaluation:
    """The first evaluation in which the recommended one keeps its promise, or the last one."""
    refused: list[Candidate] = []
    for place in range(1, MOST_EVALUATIONS + 1):
        evaluation = Evaluation(race, keep_within, place, refused)
        chosen = evaluation.chosen
        if evaluation.confirms(EVALUATION_SHARE * (deadline - time.monotonic())):
            break
        refused.append(chosen)
    return evaluation
