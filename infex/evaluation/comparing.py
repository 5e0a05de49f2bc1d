"""Two targets on the same rounds: which is better, how sure that is, and what would settle it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.errors import OutOfReach
from infex.evaluation import intervals
from infex.evaluation.estimators import MODELLED, direct_values
from infex.evaluation.groundwork import Groundwork
from infex.evaluation.interval_choice import NO_BOUNDS, at_any_time, ground_of, groups_of
from infex.evaluation.intervals import Bounds
from infex.evaluation.target_value import TargetValue, spread_of

if TYPE_CHECKING:
    from infex.evaluation.evaluation import Evaluation

Outcome = Literal["better", "worse", "cannot tell"]


REFUTED = "dm, refuted"


class Comparison(NamedTuple):
    """`first` less `second` on the same rounds: the difference with its interval, and the verdict.

    `low` and `high` are the ends of its interval, `estimator` and `ground` how it was found and what it rests
    on, and `explorations` how many it uses.
    Where it rests on the model alone, and explorations speak against that, the log cannot tell.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    verdict: Outcome
    estimator: str
    ground: str
    explorations: int

    def __str__(self) -> str:
        words = {"better": "is better than", "worse": "is worse than"}.get(
            self.verdict, "may or may not beat"
        )
        return f"{self.first} {words} {self.second}: {self._reason()}"

    def _reason(self) -> str:
        if self.estimator == REFUTED:
            return f"explorations speak against the linear model, which says {self.difference:+.4g}"
        interval = f"[{self.low:+.4g}, {self.high:+.4g}]" if math.isfinite(self.low) else "no interval"
        return f"{self.difference:+.4g} {interval}, {self.estimator}, {self.ground}"


class NeededExplorations(NamedTuple):
    """How many more explorations, and rounds at the log's own pace, bring the half-width down to `half`.

    `now` is the half-width that there is.
    """

    explorations: int
    rounds: int
    half: float
    now: float


def compare(found: Evaluation, first: str, second: str) -> Comparison:
    """The paired difference of two targets of what `evaluate` has `found`, with its interval and the verdict.

    `first` and `second` are names of targets; `found.compare(first, second)` is the same.

    >>> from infex import evaluation
    >>> log = evaluation.Log(arm=[0, 1] * 100, reward=[1.0, 0.0] * 100, propensity=[0.5] * 200)
    >>> found = evaluation.evaluate(log, {"first": 0, "other": 1}, rewards=(0, 1), estimator="snips")
    >>> evaluation.compare(found, "first", "other").verdict
    'better'
    """
    if (first, second) not in found.known:
        found.known[first, second] = compared(found[first], found[second], found.work)
    return found.known[first, second]


def needed(found: Evaluation, first: str, second: str, half: float | None = None) -> NeededExplorations:
    """How many more explorations would bring the difference of two targets of `found` within -+`half`.

    `first` and `second` are names of targets. Without `half`: within its own size, so that the verdict is
    settled if it is what it seems. `found.needed(first, second, half)` is the same.

    >>> from infex import evaluation
    >>> log = evaluation.Log(arm=[0, 1, 1, 0] * 50, reward=[1.0, 0.0, 1.0, 0.0] * 50, propensity=[0.5] * 200)
    >>> found = evaluation.evaluate(log, {"first": 0, "other": 1}, rewards=(0, 1), estimator="snips")
    >>> 500 < evaluation.needed(found, "first", "other", half=0.05).explorations < 2000
    True
    """
    pair = compare(found, first, second)
    return _needed_for(pair, _apart_by(found[first], found[second], found.work), found.work, half)


class _Apart(NamedTuple):
    """The difference of two targets, its interval before it is cut, how it was found, of how many draws."""

    difference: float
    bounds: Bounds
    estimator: str
    draws: int


def compared(first: TargetValue, second: TargetValue, work: Groundwork) -> Comparison:
    """The paired difference, its interval cut to what differences can be, and the verdict."""
    found = _apart_by(first, second, work)
    bounds, estimator = _attainable(found.bounds, work.rewards), found.estimator
    verdict: Outcome = "better" if bounds.low > 0.0 else "worse" if bounds.high < 0.0 else "cannot tell"
    if estimator == "dm" and (first.is_model_off or second.is_model_off):
        verdict, estimator = "cannot tell", REFUTED
    return Comparison(
        first.name,
        second.name,
        found.difference,
        bounds.low,
        bounds.high,
        verdict,
        estimator,
        bounds.ground,
        found.draws,
    )


def _apart_by(first: TargetValue, second: TargetValue, work: Groundwork) -> _Apart:
    """By the draws that both share or, if one has the model alone, by the model."""
    if "manski" in (first.estimator, second.estimator):
        count = min(first.draws.size, second.draws.size)
        return _Apart(first.value - second.value, _between(first.bounds, second.bounds), "manski", count)
    if "slope" in (first.estimator, second.estimator) and not work.anytime:
        bounds, count = _between(first.bounds, second.bounds), min(first.draws.size, second.draws.size)
        return _Apart(first.value - second.value, bounds, "both intervals", count)
    if first.is_weighted and second.is_weighted and np.array_equal(first.draws, second.draws):
        bounds = (_at_any_time if work.anytime else _by_draws)(first, second, work)
        return _Apart(first.value - second.value, bounds, "paired draws", first.draws.size)
    row = first.rounds.mean_row - second.rounds.mean_row
    bounds = work.model.bounds(row) if row.any() else NO_BOUNDS
    return _Apart(float(row @ work.model.theta), bounds, "dm", work.sums.count)


def _attainable(bounds: Bounds, rewards: tuple[float, float] | None) -> Bounds:
    """An interval cut to what differences of rewards can be: all of that where it lies wholly outside."""
    if rewards is None or not math.isfinite(bounds.low):
        return bounds
    widest = rewards[1] - rewards[0]
    if bounds.low >= widest or bounds.high <= -widest:
        return bounds._replace(low=-widest, high=widest)
    return bounds.within(-widest, widest)


def _between(first: Bounds, second: Bounds) -> Bounds:
    """What lies between two intervals, if both hold."""
    return first._replace(low=first.low - second.high, high=first.high - second.low)


def _by_draws(first: TargetValue, second: TargetValue, work: Groundwork) -> Bounds:
    """The interval of a mean with a draw more, not seen, that speaks for the first or for the second.

    Where targets seldom differ, or rewards are rare, few draws or none say anything of the difference, and
    their spread says too little of what others would have said. The unseen draw is of the usual size: its
    weight is the mean weight of what targets play, its reward as far off as rewards can be.
    """
    if _are_alike(first, second):
        return NO_BOUNDS
    gains = _evenly_kept(_scores(first, second, work) - _scores(second, first, work), first, work)
    unseen = _usual_weight(first, second) * max(_farthest(first, work), _farthest(second, work))
    if gains.size < 2 or not unseen > 0.0:
        return NO_BOUNDS
    groups, modelled = groups_of(work, first.draws), first.value - second.value - float(gains.mean())
    low, high = (_with_unseen(gains, each, groups, work) for each in (-unseen, unseen))
    method = "martingale normal, one draw unseen"
    return Bounds(modelled + low.low, modelled + high.high, method, low.ground)


def _are_alike(first: TargetValue, second: TargetValue) -> bool:
    """Do both play the same in all rounds of the log? Their difference is then no estimate."""
    one, other = first.rounds, second.rounds
    return np.array_equal(one.of_arm, other.of_arm) and np.array_equal(one.mean_row, other.mean_row)


def _with_unseen(gains: Floats, unseen: float, groups: Integers | None, work: Groundwork) -> Bounds:
    values = np.append(gains, unseen)
    together = None if groups is None else np.append(groups, groups.max() + 1)
    error, count = spread_of(values, together)
    return intervals.student(float(values.mean()), error, count, work.confidence, ground_of(work))


def _evenly_kept(gains: Floats, one: TargetValue, work: Groundwork) -> Floats:
    """Gains whose plain mean and spread are those of rows that were kept with different chances."""
    if work.log.kept is None:
        return gains
    inverse = 1.0 / work.log.kept[one.draws]
    mean = float(inverse @ gains / inverse.sum())
    found: Floats = mean + (gains - mean) * inverse / inverse.mean()
    return found


def _usual_weight(first: TargetValue, second: TargetValue) -> float:
    """The mean weight of draws, each counted as often as it weighs: sum w^2/sum w over both targets."""
    both = (first.weights, second.weights)
    total = sum(float(weights.sum()) for weights in both)
    return (
        sum(float(np.einsum("i,i->", weights, weights)) for weights in both) / total if total > 0.0 else 0.0
    )


def _farthest(one: TargetValue, work: Groundwork) -> float:
    """How far a reward can lie from what is expected of it; without a range, how far they usually do."""
    expected = _expected(one, work)
    if work.rewards is not None:
        return max(work.rewards[1] - float(expected.min()), float(expected.max()) - work.rewards[0])
    off = work.log.reward[work.design.rows] - expected
    return math.sqrt(float(np.mean(off**2)))


def _expected(one: TargetValue, work: Groundwork) -> Floats:
    """What is taken off a drawn reward before it is weighed: 0, the value itself, or what the model says."""
    if one.estimator == "snips":
        return np.array([one.value])
    if one.estimator in ("ips", "mips") or (one.estimator == "on_policy" and not work.design.drawn_blocks):
        return np.zeros(1)
    return work.fitted_draws


def _scores(one: TargetValue, other: TargetValue, work: Groundwork) -> Floats:
    """What each draw says of a target; with the model's part where the other one is what the log has drawn.

    Rewards of a log that draws in every round vary with the arm it drew, which the model's part answers.
    """
    if other.estimator != "on_policy" or one.estimator not in MODELLED or work.design.kind != "every round":
        return one.gains
    return one.gains + direct_values(work, one.rounds, one.draws)


def _at_any_time(first: TargetValue, second: TargetValue, work: Groundwork) -> Bounds:
    """Both hold at once if each holds with half the doubt."""
    each = 0.5 * (1.0 + work.confidence)
    a, b = (_sequence(one, work, each) for one in (first, second))
    return Bounds(a.low - b.high, a.high - b.low, "confidence sequences", a.ground)


def _sequence(one: TargetValue, work: Groundwork, confidence: float) -> Bounds:
    return at_any_time(one.estimator, work, one.rounds, confidence)


def _needed_for(found: Comparison, apart: _Apart, work: Groundwork, half: float | None) -> NeededExplorations:
    """Half-widths fall like one over the root of the number of explorations, before they are cut."""
    if found.estimator == REFUTED:
        raise OutOfReach(
            "explorations speak against the model, and more of them will not mend it: use other features"
        )
    now = apart.bounds.half
    goal = abs(found.difference) if half is None else real("half", half, above=0)
    if not math.isfinite(now):
        raise OutOfReach(
            f"there is no interval of {found.first!r} less {found.second!r} that could be narrowed"
        )
    if not goal > 0.0:
        raise OutOfReach(
            f"{found.first!r} and {found.second!r} are equal in this log: say half=, as in half=0.01"
        )
    more = max(math.ceil(found.explorations * ((now / goal) ** 2 - 1.0)), 0)
    pace = 1 if found.estimator in ("dm", REFUTED) else work.design.period
    return NeededExplorations(more, more * pace, goal, now)
