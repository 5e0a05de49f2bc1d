"""What the race has chosen, judged on fresh problems that chose nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, final

import numpy as np

from infex._stats import INTERVAL_ENDS, RELATIVE_ROUNDING, Interval, mean_intervals, paired, quantile
from infex.arrays import Floats
from infex.lab.planner.race import (
    PROBLEMS_TO_SETTLE,
    PROBLEMS_TO_SHOW,
    Candidate,
    Pool,
    Race,
    is_beyond,
    is_near,
    is_within,
)
from infex.streams import stream

WORST_DECILE = 0.9  # one problem in ten costs more than this quantile
RATIO_PAIRS = 12  # with fewer a ratio has no interval
RATIO_RESAMPLES, RATIOS_AT_ONCE = 10_000, 250
RATIO_NUMBERS = 1 << 24  # that are drawn in all: past 1,600 pairs draws are fewer


class Cost(NamedTuple):
    """Regret over problems, or by how much it differs; `below` counts the problems where it is below 0."""

    problems: int
    mean: Interval
    median: Interval
    worst_decile: Interval
    below: int


def cost(regret: Floats) -> Cost:
    """The regret of one policy.

    >>> cost(np.arange(1.0, 12.0)).median.value
    6.0
    """
    return against(regret, np.zeros(regret.size))


def against(one: Floats, other: Floats) -> Cost:
    """By how much the regret of one exceeds that of another, on the problems that both met.

    The mean is that of paired differences; a median or decile is taken of each sample, and then subtracted.
    """
    n = min(one.size, other.size)
    one, other = one[:n], other[:n]
    gap = paired(one, other)
    mean = Interval(gap.mean, gap.low, gap.high)
    return Cost(n, mean, quantile(one, other, 0.5), quantile(one, other, WORST_DECILE), gap.below)


def ratio(one: Floats, other: Floats) -> Interval:
    """How many times as much one loses as the other in the mean, on the problems that both met.

    The interval of 95 % is a bootstrap-t, as of paired differences: pairs are drawn again with
    replacement, and each ratio so drawn is measured in standard errors of its own draw. Those are of the
    mean of one - ratio * other, divided by the mean of the other (Fieller, 1954). It is NaN for fewer than 12
    pairs, and where the other loses nothing.

    >>> ratio(np.arange(12.0) + 3, 2 * np.arange(12.0) + 6).value
    0.5
    """
    n = min(one.size, other.size)
    pairs = np.stack([one[:n], other[:n]])
    if np.array_equal(*pairs) and n:
        return Interval(1.0, 1.0, 1.0)
    means = pairs.mean(axis=1) if n else np.zeros(2)
    if not means[1] > 0.0:
        return Interval(math.inf if n and means[0] > 0.0 else math.nan, math.nan, math.nan)
    value = float(means[0] / means[1])
    if n < RATIO_PAIRS:
        return Interval(value, math.nan, math.nan)
    scaled = pairs / means[1]
    gaps = scaled[0] - value * scaled[1]
    error = float(gaps.std(ddof=1)) / math.sqrt(n)
    if error <= RELATIVE_ROUNDING * value:
        return Interval(value, value, value)
    redrawn = _redrawn_ratios(gaps / error, scaled[1])
    low, high = np.quantile(redrawn, INTERVAL_ENDS, method="inverted_cdf")
    return Interval(value, max(value - float(high) * error, 0.0), value - float(low) * error)


def _redrawn_ratios(gaps: Floats, other: Floats) -> Floats:
    """How far ratios of pairs drawn again are from that of all, in standard errors of each draw.

    `gaps` are one - ratio * other, of mean 0, so that a draw's ratio is off by the mean of its gaps over
    that of its others. A draw counts how often it holds each pair: all its means are one product.
    """
    n, rng, parts = gaps.size, stream(0, "redrawn ratios", gaps.size), []
    columns = np.stack([gaps, other, gaps * gaps, gaps * other, other * other], axis=1)
    count = min(RATIO_RESAMPLES, max(RATIOS_AT_ONCE, RATIO_NUMBERS // n))
    for first in range(0, count, RATIOS_AT_ONCE):
        rows = min(RATIOS_AT_ONCE, count - first)
        drawn = rng.integers(0, n, (rows, n)) + np.arange(rows)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        gap, mean, squares, products, others = (counts.astype(np.float64) @ columns / n).T
        with np.errstate(divide="ignore", invalid="ignore"):
            off = gap / mean
            spread = np.maximum(squares - 2.0 * off * products + off**2 * others, 0.0)
            parts.append(off / (np.sqrt(spread / (n - 1)) / mean))
    redrawn: Floats = np.nan_to_num(np.concatenate(parts), nan=0.0, posinf=np.inf, neginf=-np.inf)
    return redrawn


# The menu


MENU_FACTORS = (1.1, 1.25, 1.5)  # of the least regret, within which the least exploration is named
BENEFIT_OF_DOUBT = 1.0  # standard errors
LEAST_REGRET, KNEE = "least regret", "the knee"


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


def least(some: Sequence[Candidate]) -> Candidate:
    """The candidate of the least regret, by careful means."""
    return min(some, key=lambda each: each.careful())


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
    return min([best, *near], key=lambda each: (each.explorations, each.careful()))


def nearest(some: Sequence[Candidate], best: Candidate) -> Candidate | None:
    """The one of the least regret among those that explore less often than the best, if there is one."""
    rare = [
        each
        for each in some
        if each.rounds == best.rounds
        and each.regret.size >= PROBLEMS_TO_SHOW
        and each.explorations < best.explorations
    ]
    return min(rare, key=lambda each: relative(each, best), default=None)


def relative(one: Candidate, best: Candidate) -> float:
    """How many times as much one loses as the best, by careful means on the problems that both met."""
    n = min(one.regret.size, best.regret.size)
    there = float(best.regret[:n].mean()) + best.careful() - best.mean
    return one.careful() / there if there > 0.0 else math.inf if one.careful() > 0.0 else 1.0


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


def front(some: Sequence[Candidate], best: Candidate) -> list[Candidate]:
    """Those that none beats both in explorations and in regret, rarest first; the best is the last.

    One that was given up met fewer problems; it does not count if it seems as good as the best.
    """
    tried = [each for each in some if each.regret.size >= PROBLEMS_TO_SHOW and relative(each, best) > 1.0]
    rare = [each for each in tried if each.explorations < best.explorations]
    found: list[Candidate] = []
    for each in sorted(rare, key=lambda each: (each.explorations, relative(each, best))):
        if not found or relative(each, best) < relative(found[-1], best):
            found.append(each)
    return [*found, best]


# Fresh problems


SITTINGS = 6  # at most; in the last one the best is recommended
SITTING_SHARE = 0.85  # of the time that is left
MOST_JUDGED = 8192  # problems
LOOKS = ((1 / 16, 2.0), (1 / 4, 1.0))  # parts of the problems; so many standard errors beyond are refused
JUDGED_AT_ONCE = 128  # problems that all play before the clock is looked at
LEVEL_PROBLEMS = 256  # of candidates that are drawn beside the menu
FRESH_TO_SETTLE = 256  # problems; after several sittings few are left to one that was lucky


@final
class Sitting:
    """The candidates of a menu, played on problems of their own: all of them the same ones.

    `entries` are those of the menu by their names, `chosen` is the recommended one, and `nearest` comes
    nearest to the best of those that explore less often, where the best is recommended.
    """

    def __init__(
        self,
        race: Race,
        place: int,
        keep_within: float,
        entries: dict[str, Candidate],
        nearest: Candidate | None = None,
    ) -> None:
        self.race, self.keep_within = race, keep_within
        self.entries, self.nearest = entries, nearest
        self.pool = Pool(race.pool.source, race.pool.seed, place)
        self.rounds = self.best.rounds
        self._fresh: dict[str, Candidate] = {}

    @property
    def best(self) -> Candidate:
        """The one of the least regret: in the race and, after `judge`, on fresh problems."""
        return self.entries[LEAST_REGRET]

    @property
    def chosen(self) -> Candidate:
        """The recommended one."""
        return self.entries[within_name(self.keep_within)]

    def of(self, candidate: Candidate) -> Candidate:
        """Its runs on the fresh problems; none if it was not played."""
        return self._fresh.get(candidate.label, _unplayed(candidate))

    def play(self, some: Sequence[Candidate], problems: int, deadline: float = math.inf) -> None:
        """Plays so many problems with all of them; past the deadline no more than it has begun."""
        fresh = [self._of(each) for each in some]
        for count in range(min(JUDGED_AT_ONCE, problems), problems + JUDGED_AT_ONCE, JUDGED_AT_ONCE):
            for each in fresh:
                self.pool.run(each, min(count, problems), self.rounds, self.race.workers)
            if time.monotonic() >= deadline:
                return

    def affordable(self, some: Sequence[Candidate], most: int, seconds: float) -> int:
        """How many problems all of them can play in a time: at least one, and so many at most."""
        unfinished = [each for each in map(self._of, some) if each.regret.size < most]
        each = sum(candidate.seconds for candidate in unfinished) / self.race.workers
        return math.floor(min(max(seconds / each if each > 0.0 else math.inf, 1.0), most))

    def _of(self, candidate: Candidate) -> Candidate:
        return self._fresh.setdefault(candidate.label, _unplayed(candidate))

    def judge(self, seconds: float) -> bool:
        """Plays fresh problems with all of the menu; does the recommended one keep its promise?

        A few problems first: if these show that it does not, the best of the race keeps its name. Else the
        name of least regret goes to the one that has it on the fresh problems.
        """
        menu = self._menu()
        begun = time.monotonic()
        problems = self.affordable(menu, MOST_JUDGED, seconds)
        for part, errors in LOOKS:
            few = math.ceil(part * problems)
            self.play(menu, few)
            if self.chosen is not self.best and not self._holds(self.chosen, errors):
                return False
        left = begun + seconds - time.monotonic()
        self.play(menu, few + self.affordable(menu, MOST_JUDGED - few, left), begun + seconds)
        self._rename(min(menu, key=lambda each: self.of(each).mean))
        return self.chosen is self.best or self._holds(self.chosen)

    def _menu(self) -> list[Candidate]:
        """The candidates of the menu and the nearest one, each once."""
        some = [*self.entries.values(), *([] if self.nearest is None else [self.nearest])]
        return list({id(each): each for each in some}.values())

    def _holds(self, candidate: Candidate, errors: float = 0.0) -> bool:
        """Is it within the limits in the mean over the fresh problems?

        With `errors` it may be beyond `keep_within` by so many standard errors.
        """
        fresh, best = self.of(candidate), self.of(self.best)
        return is_near(fresh, best, self.keep_within, errors) and (
            errors > 0.0 or self.race.is_allowed(fresh)
        )

    def _rename(self, best: Candidate) -> None:
        """Gives the name of least regret to another, and all names of those that explore as often or more."""
        if best is self.best:
            return
        most = best.explorations if self.race.is_allowed(self.of(best)) else math.inf
        self.entries = {
            name: best if each.explorations >= most else each for name, each in self.entries.items()
        } | {LEAST_REGRET: best}
        self.nearest = None

    def prefer_nearest(self) -> None:
        """Recommends the nearest in place of the best, if it keeps the promise on the same problems."""
        if self.nearest is not None and self._holds(self.nearest):
            self.entries = self.entries | {within_name(self.keep_within): self.nearest}
            self.nearest = None


def _unplayed(candidate: Candidate) -> Candidate:
    return Candidate(candidate.policy, candidate.explorations, candidate.label, seconds=candidate.seconds)


def sittings(
    race: Race, fit: Sequence[Candidate], levels: Sequence[Candidate], keep_within: float, deadline: float
) -> Sitting:
    """The first sitting in which the recommended one keeps its promise, or the last one."""
    refused: list[Candidate] = []
    for place in range(1, SITTINGS + 1):
        entries = menu(fit, levels, keep_within, refused)
        best = entries[LEAST_REGRET]
        if place == SITTINGS:
            entries[within_name(keep_within)] = best
        chosen = entries[within_name(keep_within)]
        rival = nearest([*fit, *levels], best) if chosen is best else None
        sitting = Sitting(race, place, keep_within, entries, rival)
        if sitting.judge(SITTING_SHARE * (deadline - time.monotonic())):
            break
        refused.append(chosen)
    sitting.prefer_nearest()
    return sitting


# The verdict


Holds = Literal["yes", "no", "open", ""]


class Judged(NamedTuple):
    """A candidate on fresh problems, which did not choose it.

    `regret` is the mean over the problems, `ratio` how many times as much it is as that of the best on the
    same problems, each with an interval of 95 % (NaN with few problems); `cost` is the part of the regret in
    exploring rounds.
    """

    expression: str
    explorations: int
    problems: int
    regret: Interval
    ratio: Interval
    cost: float


class MenuEntry(NamedTuple):
    """One line of the menu; `factor` is how near the least regret it was chosen to be, if it was."""

    name: str
    factor: float | None
    judged: Judged

    @property
    def holds(self) -> Holds:
        """Do the fresh problems show that it is as near as that? "open" where they do not tell."""
        if self.factor is None:
            return ""
        ratio = self.judged.ratio
        if ratio.value == ratio.low == ratio.high == 1.0 or ratio.high <= self.factor:
            return "yes"
        return "no" if ratio.low > self.factor else "open"


@final
@dataclass(frozen=True)
class Verdict:
    """How a race ended and its choice was judged.

    `alive` are the candidates not given up, `fit` those of them that went farthest and are within the
    limits, and `levels` has one for each number of explorations. `linucb` and `greedy` are fresh runs to
    compare with.
    """

    race: Race
    entered: list[Candidate]
    alive: list[Candidate]
    fit: list[Candidate]
    levels: list[Candidate]
    sitting: Sitting
    linucb: Candidate
    greedy: Candidate
    known: dict[str, Judged] = field(default_factory=dict, init=False, repr=False)

    @property
    def keep_within(self) -> float:
        """How many times the least regret the recommended one may lose."""
        return self.sitting.keep_within

    @property
    def slack(self) -> float:
        """The part by which the regret may exceed that of the best."""
        return self.keep_within - 1.0

    @property
    def best(self) -> Candidate:
        """The one of the menu that has the least regret on fresh problems."""
        return self.sitting.best

    @property
    def chosen(self) -> Candidate:
        """The recommended one."""
        return self.sitting.chosen

    @property
    def recommended(self) -> Judged:
        """The figures of the recommended one."""
        return self.judged(self.chosen)

    @property
    def rival(self) -> Judged | None:
        """The figures of the one nearest to the recommended one, where that is the best."""
        return None if self.sitting.nearest is None else self.judged(self.sitting.nearest)

    @cached_property
    def is_settled(self) -> bool:
        """Is the choice shown to be right, by the race and by the fresh problems?

        The race must show that none is better than the best by more than `keep_within`. Fresh problems must
        show that the recommended one is within it; or that the nearest is beyond it, where the best is
        recommended because none that explores less is near.
        """
        return self.is_complete and self.is_allowed and self.is_best_shown and self.is_choice_shown

    @property
    def is_complete(self) -> bool:
        """Did all that were not given up play all rounds of enough problems?"""
        return self.best.regret.size >= PROBLEMS_TO_SETTLE and all(
            each.rounds == self.race.horizon for each in self.alive
        )

    @property
    def is_allowed(self) -> bool:
        """Does exploring cost no more than is allowed, on fresh problems?"""
        return self.race.is_allowed(self.sitting.of(self.chosen))

    @property
    def is_best_shown(self) -> bool:
        """Does the race show that no other is better than the best by more than `keep_within`?"""
        return all(is_within(self.best, each, self.slack) for each in self.fit if each is not self.best)

    @cached_property
    def is_choice_shown(self) -> bool:
        """Do fresh problems show that the recommended one is within `keep_within`, or the nearest beyond?"""
        if self.recommended.problems < FRESH_TO_SETTLE:
            return False
        if self.chosen is not self.best:
            return self.recommended.ratio.high <= self.keep_within
        return not self.open and (self.rival is None or self.rival.ratio.low > self.keep_within)

    @cached_property
    def open(self) -> int:
        """How many that explore less than the recommended one may be as near, as far as the race tells."""
        rarer = [each for each in self.alive if each.explorations < self.chosen.explorations]
        return sum(not is_beyond(each, self.best, self.slack) for each in rarer)

    def judged(self, candidate: Candidate) -> Judged:
        """Its figures on fresh problems."""
        if candidate.label not in self.known:
            fresh, best = self.sitting.of(candidate), self.sitting.of(self.best)
            (regret,) = mean_intervals([fresh.regret])
            low = float(np.maximum(regret.low, 0.0))  # unlike Python's max, it gives nan for nan
            self.known[candidate.label] = Judged(
                candidate.label,
                candidate.explorations,
                int(fresh.regret.size),
                regret._replace(low=low),
                ratio(fresh.regret, best.regret),
                float(fresh.cost.mean()) if fresh.cost.size else math.nan,
            )
        return self.known[candidate.label]

    def menu(self) -> tuple[MenuEntry, ...]:
        """The menu in figures, from the least regret to the knee."""
        factors = {within_name(factor): factor for factor in (*MENU_FACTORS, self.keep_within)}
        entries = self.sitting.entries.items()
        return tuple(MenuEntry(name, factors.get(name), self.judged(each)) for name, each in entries)

    def judged_levels(self) -> tuple[Judged, ...]:
        """The figures of the levels that met enough problems, fewest explorations first."""
        known = [each for each in self.levels if self.sitting.of(each).regret.size >= PROBLEMS_TO_SETTLE]
        return tuple(sorted(map(self.judged, known), key=lambda each: each.explorations))

    def compared(self) -> dict[str, Floats]:
        """Regret on fresh problems of what the plan compares, by name; what took too long is left out."""
        named = {
            "recommended": self.sitting.of(self.chosen),
            "best": self.sitting.of(self.best),
            "LinUCB": self.linucb,
            "greedy": self.greedy,
        }
        return {name: each.regret for name, each in named.items() if each.regret.size}
