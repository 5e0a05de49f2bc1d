"""What a race offers, judged on fresh problems, and what it costs."""

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
    Lane,
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
    return Cost(
        n,
        Interval(gap.mean, gap.low, gap.high),
        quantile(one, other, 0.5),
        quantile(one, other, WORST_DECILE),
        gap.below,
    )


def ratio(one: Floats, other: Floats) -> Interval:
    """How many times as much one loses as the other in the mean, on the problems that both met.

    The interval of 95 % is a bootstrap-t like that of `statistics.paired`: pairs are drawn again with
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


MENU_FACTORS = (1.1, 1.25, 1.5)  # of the least regret, within which the least exploration is named
BENEFIT_OF_DOUBT = 1.0  # standard errors
LEAST_REGRET, KNEE = "least regret", "the knee"


def menu(
    alive: Sequence[Lane], levels: Sequence[Lane], keep_within: float, refused: Sequence[Lane] = ()
) -> dict[str, Lane]:
    """The lane of each entry, by its name; a knee only where there is one.

    `alive` are the lanes that were not given up; all of them played as many rounds of as many problems.
    `levels` has a lane for each number of explorations, perhaps one that was given up, to find the knee.
    `refused` are those found to be farther from the best than `keep_within`, which has an entry too.
    """
    best = least(alive)
    near = [lane for lane in alive if lane is best or lane not in refused]
    entries = {LEAST_REGRET: best}
    for factor in sorted({*MENU_FACTORS, keep_within}):
        entries[within_name(factor)] = rarest(alive if factor > keep_within else near, best, factor)
    bend = knee(levels, best)
    return entries if bend is None else entries | {KNEE: bend}


def within_name(factor: float) -> str:
    """The name of an entry.

    >>> within_name(1.1), within_name(1.025), within_name(3)
    ('within 10 %', 'within 2.5 %', 'within 200 %')
    """
    return f"within {100 * (factor - 1):.4g} %"


def least(lanes: Sequence[Lane]) -> Lane:
    """The lane of the least regret, by careful means."""
    return min(lanes, key=lambda lane: lane.careful())


def rarest(lanes: Sequence[Lane], best: Lane, factor: float) -> Lane:
    """The lane that explores least of those whose regret may be within a factor of the best one's.

    It has the benefit of a standard error, for fresh problems refuse what does not deserve it. With few
    problems nothing is known to be near the best but itself.
    """
    near = [
        lane
        for lane in lanes
        if lane.regret.size >= PROBLEMS_TO_SHOW and is_near(lane, best, factor, BENEFIT_OF_DOUBT)
    ]
    return min([best, *near], key=lambda lane: (lane.candidate.explorations, lane.careful()))


def nearest(lanes: Sequence[Lane], best: Lane) -> Lane | None:
    """The lane of the least regret among those that explore less often than the best, if there is one."""
    rare = [
        lane
        for lane in lanes
        if lane.rounds == best.rounds
        and lane.regret.size >= PROBLEMS_TO_SHOW
        and lane.candidate.explorations < best.candidate.explorations
    ]
    return min(rare, key=lambda lane: relative(lane, best), default=None)


def relative(lane: Lane, best: Lane) -> float:
    """How many times as much a lane loses as the best one, by careful means on the problems that both met."""
    n = min(lane.regret.size, best.regret.size)
    there = float(best.regret[:n].mean()) + best.careful() - best.mean
    return lane.careful() / there if there > 0.0 else math.inf if lane.careful() > 0.0 else 1.0


def knee(lanes: Sequence[Lane], best: Lane) -> Lane | None:
    """Where the front bends most: there is more regret to the left, and hardly less to the right.

    It lies farthest below the straight line from the rarest lane of the front to the best, where both
    scales are logarithmic (Satopää et al., 2011). None, if no lane lies below it.
    """
    points = [(*_place(lane, best), lane) for lane in front(lanes, best)]
    if len(points) < 3 or points[0][1] == math.inf:
        return None
    (left, high, _), (right, low, _) = points[0], points[-1]
    slope = (low - high) / (right - left)
    below, bend = max(
        ((high + slope * (x - left) - y, lane) for x, y, lane in points), key=lambda pair: pair[0]
    )
    return bend if below > 0.0 else None


def _place(lane: Lane, best: Lane) -> tuple[float, float]:
    return math.log(max(lane.candidate.explorations, 0.5)), math.log(relative(lane, best))


def front(lanes: Sequence[Lane], best: Lane) -> list[Lane]:
    """The lanes that none beats both in explorations and in regret, rarest first; the best is the last.

    A lane that was given up met fewer problems; it does not count if it seems as good as the best.
    """
    tried = [lane for lane in lanes if lane.regret.size >= PROBLEMS_TO_SHOW and relative(lane, best) > 1.0]
    rare = [lane for lane in tried if lane.candidate.explorations < best.candidate.explorations]
    found: list[Lane] = []
    for lane in sorted(rare, key=lambda lane: (lane.candidate.explorations, relative(lane, best))):
        if not found or relative(lane, best) < relative(found[-1], best):
            found.append(lane)
    return [*found, best]


SITTINGS = 6  # at most; in the last one the best lane is recommended
SITTING_SHARE = 0.85  # of the time that is left
MOST_JUDGED = 8192  # problems
TIMES_LOOKED = (
    (1 / 16, 2.0),
    (1 / 4, 1.0),
)  # parts of the problems; a lane so many standard errors beyond is refused
JUDGED_AT_ONCE = 128  # problems that all lanes play before the clock is looked at
LEVEL_PROBLEMS = 256  # of lanes that are drawn beside the menu


@final
class Judge:
    """Plays lanes on problems of its own; `rounds` as the race went."""

    def __init__(self, race: Race, place: int, rounds: int) -> None:
        self.pool = Pool(race.pool.belief, race.pool.seed, place)
        self.rounds = rounds
        self.workers = race.workers
        self.lanes: dict[str, Lane] = {}

    def of(self, lane: Lane) -> Lane:
        """The runs of a lane's candidate on the fresh problems; none if it was not played."""
        return self.lanes.get(lane.candidate.expression, Lane(lane.candidate))

    def hear(self, lanes: Sequence[Lane], problems: int, deadline: float = math.inf) -> None:
        """Plays so many problems with all lanes; past the deadline no more than it has begun."""
        fresh = [self._fresh(lane) for lane in lanes]
        for count in range(min(JUDGED_AT_ONCE, problems), problems + JUDGED_AT_ONCE, JUDGED_AT_ONCE):
            for lane in fresh:
                self.pool.run(lane, min(count, problems), self.rounds, self.workers)
            if time.monotonic() >= deadline:
                return

    def affordable(self, lanes: Sequence[Lane], most: int, seconds: float) -> int:
        """How many problems all lanes can play in a time: at least one, and so many at most."""
        each = sum(lane.seconds for lane in map(self._fresh, lanes) if lane.regret.size < most) / self.workers
        return math.floor(min(max(seconds / each if each > 0.0 else math.inf, 1.0), most))

    def _fresh(self, lane: Lane) -> Lane:
        name = lane.candidate.expression
        return self.lanes.setdefault(name, Lane(lane.candidate, seconds=lane.seconds))


class Sitting(NamedTuple):
    """The lanes of the menu by their names, the recommended one, and the judge who heard them.

    `nearest` comes nearest to the best of those that explore less often, where the best is recommended.
    """

    judge: Judge
    entries: dict[str, Lane]
    chosen: Lane
    nearest: Lane | None

    @property
    def best(self) -> Lane:
        """The lane of the least regret: in the race and, once the sitting is `renamed`, on fresh problems."""
        return self.entries[LEAST_REGRET]

    def lanes(self) -> list[Lane]:
        """The lanes that play the fresh problems, all of them the same ones."""
        lanes = [*self.entries.values(), *([] if self.nearest is None else [self.nearest])]
        return list({id(lane): lane for lane in lanes}.values())

    def holds(self, keep_within: float, race: Race, doubts: float = 0.0) -> bool:
        """Is the recommended lane within the limits in the mean over the fresh problems?

        With `doubts` it may be beyond `keep_within` by so many standard errors.
        """
        chosen, best = self.judge.of(self.chosen), self.judge.of(self.best)
        return is_near(chosen, best, keep_within, doubts) and (doubts > 0.0 or race.is_allowed(chosen))


def sittings(
    race: Race, fit: Sequence[Lane], levels: Sequence[Lane], keep_within: float, deadline: float
) -> Sitting:
    """The first sitting in which the recommended lane keeps its promise, or the last one."""
    refused: list[Lane] = []
    for place in range(1, SITTINGS + 1):
        entries = menu(fit, levels, keep_within, refused)
        best = entries[LEAST_REGRET]
        if place == SITTINGS:
            entries[within_name(keep_within)] = best
        chosen = entries[within_name(keep_within)]
        rival = nearest([*fit, *levels], best) if chosen is best else None
        sitting = Sitting(Judge(race, place, best.rounds), entries, chosen, rival)
        if _sit(sitting, race, keep_within, SITTING_SHARE * (deadline - time.monotonic())):
            sitting = renamed(sitting, race, keep_within)
            if sitting.chosen is sitting.best or sitting.holds(keep_within, race):
                break
        refused.append(chosen)
    return _unless_near(sitting, race, keep_within)


def renamed(sitting: Sitting, race: Race, keep_within: float) -> Sitting:
    """The sitting with the name of least regret on the lane that has it on the fresh problems.

    That lane takes the other names, too, of all lanes that do not explore less often than it does.
    """
    fresh = sitting.judge.of
    best = min(sitting.lanes(), key=lambda lane: fresh(lane).mean)
    if best is sitting.best:
        return sitting
    most = best.candidate.explorations if race.is_allowed(fresh(best)) else math.inf
    entries = {
        name: best if lane.candidate.explorations >= most else lane for name, lane in sitting.entries.items()
    } | {LEAST_REGRET: best}
    chosen = entries[within_name(keep_within)]
    return sitting._replace(entries=entries, chosen=chosen, nearest=None)


def _unless_near(sitting: Sitting, race: Race, keep_within: float) -> Sitting:
    """Recommends the nearest in place of the best, if it is within the limits on the same fresh problems."""
    if sitting.nearest is None:
        return sitting
    other = sitting._replace(
        chosen=sitting.nearest,
        nearest=None,
        entries=sitting.entries | {within_name(keep_within): sitting.nearest},
    )
    return other if other.holds(keep_within, race) else sitting


def _sit(sitting: Sitting, race: Race, keep_within: float, seconds: float) -> bool:
    """Plays fresh problems with all lanes of a sitting, a few first.

    False if these few show that the recommended lane does not keep its promise; the best of the race stays.
    """
    judge, lanes = sitting.judge, sitting.lanes()
    begun = time.monotonic()
    problems = judge.affordable(lanes, MOST_JUDGED, seconds)
    for part, doubts in TIMES_LOOKED:
        few = math.ceil(part * problems)
        judge.hear(lanes, few)
        if sitting.chosen is not sitting.best and not sitting.holds(keep_within, race, doubts):
            return False
    left = begun + seconds - time.monotonic()
    judge.hear(lanes, few + judge.affordable(lanes, MOST_JUDGED - few, left), begun + seconds)
    return True


FRESH_TO_SETTLE = 256  # problems; after several sittings few are left to one that was lucky
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
class Finish:
    """All lanes of a race, those not given up, one of each number of explorations, and how they were judged.

    `fit` are those not given up that went farthest and are within the limits: the ones to choose from.
    """

    race: Race
    keep_within: float
    lanes: list[Lane]
    alive: list[Lane]
    fit: list[Lane]
    levels: list[Lane]
    sitting: Sitting
    linucb: Lane
    greedy: Lane
    known: dict[str, Judged] = field(default_factory=dict, init=False, repr=False)

    @property
    def best(self) -> Lane:
        """The lane of the menu that has the least regret on fresh problems."""
        return self.sitting.best

    @property
    def chosen(self) -> Lane:
        """The recommended lane."""
        return self.sitting.chosen

    @cached_property
    def is_complete(self) -> bool:
        """Did all that were not given up play all rounds of enough problems?"""
        return self.best.regret.size >= PROBLEMS_TO_SETTLE and all(
            lane.rounds == self.race.horizon for lane in self.alive
        )

    @cached_property
    def open(self) -> int:
        """How many that explore less than the recommended one may be as near, as far as the race tells."""
        most = self.chosen.candidate.explorations
        rarer = [lane for lane in self.alive if lane.candidate.explorations < most]
        return sum(not is_beyond(lane, self.best, self.slack) for lane in rarer)

    @cached_property
    def recommended(self) -> Judged:
        """The figures of the recommended lane."""
        return self.judged(self.chosen)

    @cached_property
    def rival(self) -> Judged | None:
        """The figures of the lane nearest to the recommended one, where that is the best."""
        return None if self.sitting.nearest is None else self.judged(self.sitting.nearest)

    @cached_property
    def is_settled(self) -> bool:
        """Is the choice shown to be right, by the race and by the fresh problems?

        The race must show that none is better than the best by more than `keep_within`. Fresh problems must
        show that the recommended lane is within it; or that the nearest is beyond it, where the best is
        recommended because none that explores less is near.
        """
        return self.is_complete and self.is_allowed and self.is_best_shown and self.is_choice_shown

    @property
    def slack(self) -> float:
        """The part by which the regret may exceed that of the best."""
        return self.keep_within - 1.0

    @property
    def is_allowed(self) -> bool:
        """Does exploring cost no more than is allowed, on fresh problems?"""
        return self.race.is_allowed(self.sitting.judge.of(self.chosen))

    @cached_property
    def is_best_shown(self) -> bool:
        """Does the race show that no other is better than the best by more than `keep_within`?"""
        others = [lane for lane in self.fit if lane is not self.best]
        return all(is_within(self.best, lane, self.slack) for lane in others)

    @cached_property
    def is_choice_shown(self) -> bool:
        """Do fresh problems show that the recommended lane is within `keep_within`, or the nearest beyond?"""
        if self.recommended.problems < FRESH_TO_SETTLE:
            return False
        if self.chosen is not self.best:
            return self.recommended.ratio.high <= self.keep_within
        return not self.open and (self.rival is None or self.rival.ratio.low > self.keep_within)

    def judged(self, lane: Lane) -> Judged:
        """A lane's figures on fresh problems."""
        if (name := lane.candidate.expression) not in self.known:
            self.known[name] = self._judge(lane)
        return self.known[name]

    def _judge(self, lane: Lane) -> Judged:
        fresh, best = self.sitting.judge.of(lane), self.sitting.judge.of(self.best)
        (regret,) = mean_intervals([fresh.regret])
        low = float(np.maximum(regret.low, 0.0))  # unlike Python's max, it gives nan for nan
        return Judged(
            lane.candidate.expression,
            lane.candidate.explorations,
            int(fresh.regret.size),
            regret._replace(low=low),
            ratio(fresh.regret, best.regret),
            float(fresh.cost.mean()) if fresh.cost.size else math.nan,
        )

    def menu(self) -> tuple[MenuEntry, ...]:
        """The menu in figures, from the least regret to the knee."""
        factors = {within_name(factor): factor for factor in (*MENU_FACTORS, self.keep_within)}
        return tuple(
            MenuEntry(name, factors.get(name), self.judged(lane))
            for name, lane in self.sitting.entries.items()
        )

    def compared(self) -> dict[str, Lane]:
        """The fresh runs whose costs the plan shows, by name; one that took too long is left out."""
        judge = self.sitting.judge
        named = {
            "recommended": judge.of(self.chosen),
            "best": judge.of(self.best),
            "LinUCB": self.linucb,
            "greedy": self.greedy,
        }
        return {name: lane for name, lane in named.items() if lane.regret.size}
