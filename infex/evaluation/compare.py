"""Two targets on the same rounds: which is better, how sure that is, and what would settle it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.errors import OutOfReach
from infex.evaluation.estimators import MODELLED, direct_values
from infex.evaluation.intervals import NO_BOUNDS, Bounds, dot, reweighted, standard_error, student
from infex.evaluation.model import LogAnalysis
from infex.evaluation.sequences import anytime_bounds

if TYPE_CHECKING:
    from infex.evaluation.evaluate import Evaluation, TargetValue

Verdict = Literal["better", "worse", "cannot tell"]
REFUTED = "dm, refuted"


class Comparison(NamedTuple):
    """`first` less `second` on the same rounds: the difference with its interval, and the verdict.

    `low` and `high` are the ends of the interval, `estimator` and `ground` say how it was found and what it
    rests on, and `explorations` how many it uses. If it rests on the model alone, and explorations contradict
    the model, the verdict is "cannot tell".
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    verdict: Verdict
    estimator: str
    ground: str
    explorations: int

    def __str__(self) -> str:
        verb = {"better": "is better than", "worse": "is worse than"}.get(self.verdict, "may or may not beat")
        if self.estimator == REFUTED:
            reason = f"explorations contradict the linear model, which says {self.difference:+.4g}"
        else:
            interval = f"[{self.low:+.4g}, {self.high:+.4g}]" if math.isfinite(self.low) else "no interval"
            reason = f"{self.difference:+.4g} {interval}, {self.estimator}, {self.ground}"
        return f"{self.first} {verb} {self.second}: {reason}"


def verdict_of(low: float, high: float) -> Verdict:
    """The verdict on a difference with this interval."""
    return "better" if low > 0.0 else "worse" if high < 0.0 else "cannot tell"


class NeededExplorations(NamedTuple):
    """How many more explorations, and rounds at the log's own pace, bring the half-width down to `half`.

    `now` is the present half-width. If rows were left out of the log (`kept`), `explorations` are those that
    are kept, and `rounds` all of them.
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
        found.known[first, second] = _compare(found[first], found[second], found.analysis)
    return found.known[first, second]


def needed(found: Evaluation, first: str, second: str, half: float | None = None) -> NeededExplorations:
    """How many more explorations would bring the difference of two targets of `found` within -+`half`.

    `first` and `second` are names of targets. Without `half`: within its own size, so that the verdict is
    settled if the difference is what it seems. `found.needed(first, second, half)` is the same.

    >>> from infex import evaluation
    >>> log = evaluation.Log(arm=[0, 1, 1, 0] * 50, reward=[1.0, 0.0, 1.0, 0.0] * 50, propensity=[0.5] * 200)
    >>> found = evaluation.evaluate(log, {"first": 0, "other": 1}, rewards=(0, 1), estimator="snips")
    >>> 500 < evaluation.needed(found, "first", "other", half=0.05).explorations < 2000
    True
    """
    pair = compare(found, first, second)
    if pair.estimator == REFUTED:
        raise OutOfReach(
            "explorations contradict the model, and more of them will not mend it: use other features"
        )
    now = _difference(found[first], found[second], found.analysis).bounds.half  # before it is clipped
    goal = abs(pair.difference) if half is None else real("half", half, above=0)
    if not math.isfinite(now):
        raise OutOfReach(f"there is no interval of {first!r} less {second!r} that could be narrowed")
    if not goal > 0.0:
        raise OutOfReach(f"{first!r} and {second!r} are equal in this log: say half=, as in half=0.01")
    more = max(math.ceil(pair.explorations * ((now / goal) ** 2 - 1.0)), 0)  # widths fall like 1/sqrt(n)
    pace = 1 if pair.estimator == "dm" else found.analysis.design.period
    counts = found.analysis.log.inverse_kept
    rounds = more * pace if counts is None else math.ceil(more * float(counts.mean()))
    return NeededExplorations(more, rounds, goal, now)


class _Difference(NamedTuple):
    """The difference of two targets, its interval before clipping, the estimator, the number of draws."""

    value: float
    bounds: Bounds
    estimator: str
    draws: int


def _compare(first: TargetValue, second: TargetValue, analysis: LogAnalysis) -> Comparison:
    found = _difference(first, second, analysis)
    bounds, estimator = _clipped(found.bounds, analysis.rewards), found.estimator
    verdict = verdict_of(bounds.low, bounds.high)
    if estimator == "dm" and (first.is_model_off or second.is_model_off):
        verdict, estimator = "cannot tell", REFUTED
    return Comparison(
        first.name, second.name, found.value, bounds.low, bounds.high,
        verdict, estimator, bounds.ground, found.draws,
    )  # fmt: skip


def _difference(first: TargetValue, second: TargetValue, analysis: LogAnalysis) -> _Difference:
    """By the draws that both share or, if one has the model alone, by the model."""
    estimators = (first.estimator, second.estimator)
    value, count = first.value - second.value, min(first.draws.size, second.draws.size)
    if "manski" in estimators or ("slope" in estimators and not analysis.anytime):
        one, other = first.bounds, second.bounds
        between = one._replace(low=one.low - other.high, high=one.high - other.low)
        return _Difference(value, between, "manski" if "manski" in estimators else "both intervals", count)
    if first.is_weighted and second.is_weighted and np.array_equal(first.draws, second.draws):
        bounds = (_anytime if analysis.anytime else _by_draws)(first, second, analysis)
        return _Difference(value, bounds, "paired draws", first.draws.size)
    row = first.overlap.mean_features - second.overlap.mean_features
    bounds = analysis.model.bounds(row) if row.any() else NO_BOUNDS
    return _Difference(float(row @ analysis.model.theta), bounds, "dm", analysis.sums.count)


def _clipped(bounds: Bounds, rewards: tuple[float, float] | None) -> Bounds:
    """An interval clipped to the possible differences of rewards; all of these if it lies wholly outside."""
    if rewards is None or not math.isfinite(bounds.low):
        return bounds
    widest = rewards[1] - rewards[0]
    if bounds.low >= widest or bounds.high <= -widest:
        return bounds._replace(low=-widest, high=widest)
    return bounds.within(-widest, widest)


def _by_draws(first: TargetValue, second: TargetValue, analysis: LogAnalysis) -> Bounds:
    """The interval of a mean with one more, unseen draw that speaks for the first or for the second.

    If targets seldom differ, or rewards are rare, few draws or none say anything about the difference, and
    their spread says too little about what others would have said. The unseen draw is of the usual size: its
    weight is the mean weight of what targets play, its reward as far off as rewards can be.
    """
    one, other = first.overlap, second.overlap
    if np.array_equal(one.probability, other.probability) and np.array_equal(
        one.mean_features, other.mean_features
    ):
        return NO_BOUNDS  # both play the same in all rounds
    terms = _terms(first, second, analysis) - _terms(second, first, analysis)
    unseen = _usual_weight(first, second) * max(_farthest(first, analysis), _farthest(second, analysis))
    if terms.size < 2 or not unseen > 0.0:
        return NO_BOUNDS
    groups, modelled = analysis.units(first.draws), first.value - second.value - float(terms.mean())
    low, high = (_with_unseen(terms, each, groups, analysis) for each in (-unseen, unseen))
    method = "martingale normal, one draw unseen"
    return Bounds(modelled + low.low, modelled + high.high, method, low.ground)


def _with_unseen(terms: Floats, unseen: float, groups: Integers | None, analysis: LogAnalysis) -> Bounds:
    values = np.append(terms, unseen)
    together = None if groups is None else np.append(groups, groups.max() + 1)
    error, count = standard_error(values, together)
    return student(float(values.mean()), error, count, analysis.confidence, analysis.ground)


def _usual_weight(first: TargetValue, second: TargetValue) -> float:
    """The mean weight of draws, each counted as often as it weighs: sum w^2/sum w over both targets."""
    both = (first.weights, second.weights)
    total = sum(float(weights.sum()) for weights in both)
    return sum(dot(weights, weights) for weights in both) / total if total > 0.0 else 0.0


def _farthest(one: TargetValue, analysis: LogAnalysis) -> float:
    """How far a reward can lie from its expectation; without a range of rewards, how far they usually do."""
    expected = _expected(one, analysis)
    if analysis.rewards is not None:
        least, most = analysis.rewards
        return max(most - float(expected.min()), float(expected.max()) - least)
    off = analysis.log.reward[analysis.design.rows] - expected
    return math.sqrt(float(reweighted(off**2, analysis.design.shares).mean()))


def _expected(one: TargetValue, analysis: LogAnalysis) -> Floats:
    """What is subtracted from a drawn reward before it is weighted: 0, the value itself, or the estimate."""
    if one.estimator == "snips":
        return np.array([one.value])
    plain = one.estimator == "on_policy" and not analysis.design.drawn_blocks
    if one.estimator in ("ips", "mips") or plain:
        return np.zeros(1)
    return analysis.drawn_estimates


def _terms(one: TargetValue, other: TargetValue, analysis: LogAnalysis) -> Floats:
    """The terms of a target; with the model's values if the other one is what the log played.

    The rewards of a log that draws in every round vary with the arm it drew, which the model's values cancel.
    """
    varies = analysis.design.kind == "every round" and analysis.shares is None  # else they are in the terms
    if other.estimator != "on_policy" or one.estimator not in MODELLED or not varies:
        return one.terms
    return one.terms + direct_values(analysis, one.overlap, one.draws)


def _anytime(first: TargetValue, second: TargetValue, analysis: LogAnalysis) -> Bounds:
    """Both intervals hold at once if each holds with half the error rate."""
    confidence = 0.5 * (1.0 + analysis.confidence)
    a, b = (anytime_bounds(one.estimator, analysis, one.overlap, confidence) for one in (first, second))
    return Bounds(a.low - b.high, a.high - b.low, "confidence sequences", a.ground)
