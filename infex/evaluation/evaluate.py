"""`evaluate`: what a log says about policies that did not write it."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from infex.arrays import Floats, Integers
from infex.checks import one_of, real
from infex.errors import InvalidLog, InvalidSetting, InvalidTarget, NoSupport
from infex.evaluation import report
from infex.evaluation.compare import Comparison, NeededExplorations, compare, needed
from infex.evaluation.diagnostics import (
    Carrier,
    LogFinding,
    carriers,
    log_findings,
    misfit_findings,
    model_findings,
    weighted_findings,
)
from infex.evaluation.estimators import (
    ESTIMATORS,
    MODELLED,
    SETTINGS,
    WeightedTerms,
    draw_weights,
    frozen_value,
    weighted_terms,
)
from infex.evaluation.intervals import (
    FEWEST_EFFECTIVE,
    NO_BOUNDS,
    Bounds,
    cressie_read,
    effective_size,
    power_sums,
    standard_error,
    student,
)
from infex.evaluation.model import LogAnalysis, analyse
from infex.evaluation.overlap import Overlap, has_gaps, overlap_of, require_support, why_unsupported
from infex.evaluation.sequences import anytime_bounds, has_all_propensities
from infex.evaluation.targets import targets_of
from infex.logs import Log
from infex.logs.log import refuse

FEWEST_TO_WARN = 10.0  # below which that is a warning, whichever interval is shown
MODEL_IS_OFF = ("correction", "beyond")  # kinds of findings


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TargetValue:
    """What a log says about one target.

    `value` with `low` and `high`; `estimator` and `method` say how; `ground`: is the interval guaranteed,
    asymptotic, or does it rest on an assumption? `support` is the share of the target's choices that the
    log could have played (None: unknown), `effective` how many explorations of equal weight carry as much
    information, `explorations` how many there are. `model` is the frozen model's value and `correction` what
    weighted residuals add to it. `error` is the standard error of a weighted estimator.

    `name` is the target's, `bounds` the whole interval, `why` says why this estimator was chosen, and
    `correction_error` is the standard error of the correction. `findings` contradict it, `carriers` are the
    rounds with the largest weights. It was computed from `terms`, `weights`, `draws` and `overlap`.
    """

    name: str
    value: float
    bounds: Bounds
    estimator: str
    why: str
    support: float | None
    effective: float
    explorations: int
    model: float
    correction: float = math.nan
    correction_error: float = math.nan
    error: float = math.nan
    findings: tuple[LogFinding, ...] = ()
    carriers: tuple[Carrier, ...] = ()
    terms: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    draws: Integers = field(repr=False)
    overlap: Overlap = field(repr=False)

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self.bounds.low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self.bounds.high

    @property
    def ground(self) -> str:
        """What the interval rests on."""
        return self.bounds.ground

    @property
    def method(self) -> str:
        """How the interval was made."""
        return self.bounds.method

    @property
    def is_weighted(self) -> bool:
        """Whether it rests on drawn rounds, and not on the model alone."""
        return self.estimator != "dm"

    @property
    def is_model_off(self) -> bool:
        """Whether explorations, or the range of rewards, contradict the model's value."""
        return any(each.kind in MODEL_IS_OFF for each in self.findings)

    def as_record(self) -> dict[str, object]:
        """All of it as plain data."""

        def known(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "target": self.name,
            "value": self.value,
            "low": known(self.low),
            "high": known(self.high),
            "estimator": self.estimator,
            "interval": self.method,
            "ground": self.ground,
            "why": self.why,
            "support": self.support,
            "effective": self.effective,
            "explorations": self.explorations,
            "model": known(self.model),
            "correction": known(self.correction),
            "error": known(self.error),
            "findings": [each._asdict() for each in self.findings],
            "carriers": [each._asdict() for each in self.carriers],
        }


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evaluation:
    """All targets on one log, by name; `print` tells it in words.

    `found["mine"]` is a `TargetValue`: value, low, high, estimator and more. `findings` are those of the log.

    `values` are all targets, `against` is the name that the others are compared with, `analysis` is what was
    found about the log, and `known` keeps the comparisons that were asked for.
    """

    values: tuple[TargetValue, ...]
    against: str | None
    findings: tuple[LogFinding, ...]
    analysis: LogAnalysis = field(repr=False)
    known: dict[tuple[str, str], Comparison] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> TargetValue:
        for each in self.values:
            if each.name == name:
                return each
        raise InvalidTarget(f"no target is called {name!r}; there are {', '.join(map(repr, self))}")

    def __iter__(self) -> Iterator[str]:
        return (each.name for each in self.values)

    def __len__(self) -> int:
        return len(self.values)

    def compare(self, first: str, second: str) -> Comparison:
        """The paired difference of two targets with its interval, and the verdict."""
        return compare(self, first, second)

    def needed(self, first: str, second: str, half: float | None = None) -> NeededExplorations:
        """How many more explorations would bring the difference within -+`half`.

        Without `half`: within its own size, so that the verdict is settled if it is what it seems.
        """
        return needed(self, first, second, half)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every other target with `against`."""
        if self.against is None:
            return ()
        return tuple(self.compare(name, self.against) for name in self if name != self.against)

    def table(self) -> list[dict[str, object]]:
        """A row for each target, as plain data: what a data frame takes."""
        rows = [each.as_record() for each in self.values]
        return [{name: value for name, value in row.items() if name != "carriers"} for row in rows]

    def as_record(self) -> dict[str, object]:
        """All of it as plain data."""
        return {
            "rounds": len(self.analysis.log),
            "arms": self.analysis.log.count,
            "confidence": self.analysis.confidence,
            "targets": [each.as_record() for each in self.values],
            "comparisons": [each._asdict() for each in self.comparisons],
            "findings": [each._asdict() for each in self.findings],
        }

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(self.as_record(), indent=1, default=str)

    def page(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained HTML file that tells all of it."""
        report.write_page(self, path)

    def plot(self) -> str:
        """The intervals of all targets as an SVG picture."""
        return report.interval_picture(self)

    def __str__(self) -> str:
        return report.text(self)


def evaluate(
    log: Log,
    targets: object,
    *,
    rewards: tuple[float, float] | None = None,
    confidence: float = 0.95,
    against: str | None = None,
    estimator: str = "auto",
    anytime: bool = False,
    noise: float | None = None,
    bound: float | None = None,
    setting: float | None = None,
    limit: float | None = None,
    embedding_probabilities: ArrayLike | None = None,
    bound_missing: bool = False,
) -> Evaluation:
    """The values of targets on the rounds of a log, with intervals and what they rest on.

    `targets` maps names to what is to be evaluated: `evaluation.logged` (what the log played), a bandit as it
    stands (its greedy arm), `Greedy()` (by all that this log has taught), `Uniform()`, a label (always that
    arm), probabilities of the arms, or a function of (offers, context) that gives probabilities or arms of
    many rounds.
    A policy that learns is refused: `evaluation.replay` and `evaluation.simulate` are for these.

    `rewards` is the smallest and the largest possible reward, which some intervals need. `against` names the
    target that all others are compared with. `estimator` is one of `estimators.ESTIMATORS`: "auto" takes `dr`
    (the model frozen at block starts, corrected by drawn rounds) if the log supports the target and has 50
    effective explorations, otherwise `dm` (the linear model, with an interval that holds for all targets at
    once); `ips`, `snips`, `clipped`, `switch`, `shrinkage`, `subgaussian`, `slope` and `mips` are those of
    the literature. With `anytime` intervals hold however often one looks. `noise` and `bound` are those of
    the model if the log does not say them; `LargeReward` warns if a value is the model's and the rewards do
    not fit them. `setting` is that of `clipped`, `switch`, `shrinkage` and `subgaussian`, `limit` the largest
    possible weight, and `embedding_probabilities` (n, K) are for `mips`. With `bound_missing` a target that
    the log could not always play is evaluated by `ips`, and what is missing counts as any of the `rewards`.

    `confidence` is that of every interval.

    If rows were left out of the log (`log.kept`), values are those of all rounds, and a row counts 1/kept. A
    log of blocks is then evaluated by `dm` alone, and `anytime` is refused.

    Decisions that the policy did not take are left out, unless there are no others: those of the holdout
    (`log.held_out`; `evaluate(log.take(log.held_out), ...)` evaluates by these alone, with their rule's
    propensities), those in which a unit kept its arm (`log.sticky`), and those as an apprentice. So the value
    on a sticky log is that of a unit's first decision.

    >>> from infex.evaluation import Log, logged
    >>> log = Log(arm=[0, 1] * 100, reward=[1.0, 0.0] * 100, propensity=[0.5] * 200)
    >>> found = evaluate(log, {"first": 0, "now": logged}, rewards=(0, 1), estimator="snips")
    >>> round(found["first"].value, 12)
    1.0
    """
    one_of("estimator", estimator, ESTIMATORS)
    if setting is not None and estimator not in SETTINGS:
        raise InvalidSetting(
            f"setting is for estimator={' or '.join(map(repr, SETTINGS))}, got {estimator!r}"
        )
    embedding = None if embedding_probabilities is None else np.asarray(embedding_probabilities, np.float64)
    if embedding is not None and estimator != "mips":
        raise InvalidSetting(f"embedding_probabilities are for estimator='mips', got {estimator!r}")
    most = math.inf if limit is None else real("limit", limit, above=0)
    analysis = analyse(log, rewards=rewards, confidence=confidence, noise=noise, bound=bound, anytime=anytime)
    _check_rewards(log, analysis.rewards)
    if anytime and analysis.rewards is None and estimator != "dm":
        raise InvalidSetting("anytime intervals of weighted estimators need rewards=(smallest, largest)")
    if bound_missing and (analysis.rewards is None or estimator not in ("auto", "ips") or anytime):
        raise InvalidSetting("bound_missing is for ips, and needs rewards=(smallest, largest)")
    policies = targets_of(targets, analysis)
    if against is not None and against not in [policy.name for policy in policies]:
        raise InvalidTarget(f"against must name one of the targets, got {against!r}")
    values = []
    for policy in policies:
        overlap = overlap_of(policy, analysis)
        if bound_missing and has_gaps(analysis, overlap):
            values.append(_manski_value(analysis, overlap, most))
        else:
            values.append(_value(analysis, overlap, estimator, setting, most, embedding))
    findings = log_findings(analysis)
    if any(each.estimator == "dm" for each in values):
        findings += misfit_findings(analysis)
        analysis.model.warn_of_misfit()
    return Evaluation(analysis=analysis, values=tuple(values), against=against, findings=findings)


def _check_rewards(log: Log, rewards: tuple[float, float] | None) -> None:
    if not log.rewarded.any():
        raise InvalidLog("no round of this log has a reward")
    if rewards is not None:
        with np.errstate(invalid="ignore"):
            beyond = (log.reward < rewards[0]) | (log.reward > rewards[1])
        refuse("reward", beyond, log.round, f"must lie from {rewards[0]:g} to {rewards[1]:g}")


def _value(
    analysis: LogAnalysis,
    overlap: Overlap,
    estimator: str,
    setting: float | None,
    limit: float,
    embedding: Floats | None,
) -> TargetValue:
    """One target by the estimator that was asked for, or the best that the log allows."""
    why = "as asked for"
    if estimator == "auto":
        estimator, why = _best_estimator(analysis, overlap)
    if estimator == "dm":
        return _model_value(analysis, overlap, why)
    if overlap.target.is_logged:
        return _weighted_value(analysis, overlap, "on_policy", why, limit)
    require_support(analysis, overlap)
    if analysis.anytime and not (estimator == "dr" and has_all_propensities(analysis)):
        estimator, why = "ips", f"{why}; anytime intervals are those of ips"
    return _weighted_value(analysis, overlap, estimator, why, limit, setting, embedding)


def _best_estimator(analysis: LogAnalysis, overlap: Overlap) -> tuple[str, str]:
    """The estimator that the log allows for a target, and why."""
    if overlap.target.is_logged:
        return "dr", "what was played"
    reason = why_unsupported(analysis, overlap)
    if reason is not None:
        return "dm", reason
    effective = effective_size(draw_weights(analysis, overlap))
    if effective >= FEWEST_EFFECTIVE or analysis.anytime:
        return "dr", "the log supports it"
    few = f"only {effective:.0f} effective explorations"
    if analysis.log.dim is not None:
        return "dm", few
    if effective == 0.0:
        return "dm", f"{few}, and no features: by the mean of each arm"
    return "snips", f"{few}, and no features for a model"


def _model_value(analysis: LogAnalysis, overlap: Overlap, why: str) -> TargetValue:
    row, model, rewards = overlap.mean_features, analysis.model, analysis.rewards
    value, bounds = float(row @ model.theta), model.bounds(row)
    weight = draw_weights(analysis, overlap) if analysis.design.rows.size else np.zeros(0)
    words = f"holds if rewards are linear in the features; {model.words}"
    notes = [LogFinding("model", words, warns=False), *model_findings(analysis, overlap, weight, value)]
    if not bounds.low < bounds.high:
        notes.append(LogFinding("no interval", "no interval: its arms have no features but 0"))
        bounds = NO_BOUNDS
    elif rewards is not None and rewards[0] <= value <= rewards[1]:
        bounds = bounds.within(*rewards)
    return TargetValue(
        name=overlap.target.name,
        value=value,
        bounds=bounds,
        estimator="dm",
        why=why,
        support=overlap.support,
        effective=effective_size(weight),
        explorations=int(analysis.design.rows.size),
        model=value,
        findings=tuple(notes),
        terms=np.zeros(0),
        weights=np.zeros(0),
        draws=np.zeros(0, dtype=np.int64),
        overlap=overlap,
    )


def _weighted_value(
    analysis: LogAnalysis,
    overlap: Overlap,
    estimator: str,
    why: str,
    limit: float,
    setting: float | None = None,
    embedding: Floats | None = None,
) -> TargetValue:
    target = overlap.target
    terms = weighted_terms(estimator, analysis, overlap, setting, embedding)
    if not terms.terms.size:
        raise NoSupport(f"the log has no drawn round with a reward by which to evaluate {target.name!r}")
    mean, error, _ = _mean_and_error(analysis, terms)
    effective, limit = effective_size(terms.weight), min(limit, overlap.largest_weight)
    bounds, notes = _weighted_bounds(estimator, analysis, overlap, terms, effective, limit)
    if analysis.rewards is not None and math.isfinite(bounds.low):
        bounds = bounds.within(*analysis.rewards)
    modelled, correction_error = estimator in MODELLED, error
    if terms.direct is not None:
        correction_error, _ = standard_error(terms.terms - terms.direct, analysis.units(terms.rows))
    if not target.is_logged:
        notes = notes + weighted_findings(analysis, overlap, terms, modelled=modelled)
    return TargetValue(
        name=target.name,
        value=terms.model + mean,
        bounds=bounds,
        estimator=estimator,
        why=why,
        support=1.0 if target.is_logged else overlap.support,
        effective=effective,
        explorations=int(terms.weight.size),
        model=terms.model if modelled else frozen_value(analysis, overlap),
        correction=mean if modelled else math.nan,
        correction_error=correction_error if modelled else math.nan,
        error=error,
        findings=tuple(notes),
        carriers=() if target.is_logged else carriers(analysis, terms),
        terms=terms.terms,
        weights=terms.weight if terms.changed is None else terms.changed,
        draws=terms.rows,
        overlap=overlap,
    )


def _manski_value(analysis: LogAnalysis, overlap: Overlap, limit: float) -> TargetValue:
    """ips for what the log could play; the rest may have earned any reward."""
    assert analysis.rewards is not None
    least, most = analysis.rewards
    gap = overlap.share_missing
    why = f"{gap:.1%} of its choices could not be played: they count as anything from {least:g} to {most:g}"
    unbounded = dataclasses.replace(analysis, rewards=None)  # a part may lie outside the range of rewards
    found = _weighted_value(unbounded, overlap, "ips", why, limit)
    bounds = found.bounds._replace(low=found.low + gap * least, high=found.high + gap * most)
    middle = gap * 0.5 * (least + most)
    return dataclasses.replace(
        found,
        value=found.value + middle,
        bounds=bounds.within(least, most)._replace(method=f"{bounds.method}, gaps bounded"),
        estimator="manski",
        terms=found.terms + middle,
    )


# Intervals of weighted estimates


def _mean_and_error(analysis: LogAnalysis, terms: WeightedTerms) -> tuple[float, float, int]:
    """The mean of terms, its standard error, and the number of terms, or of units that they belong to."""
    if not terms.terms.size:
        return math.nan, math.nan, 0
    error, count = standard_error(terms.terms, analysis.units(terms.rows))
    return float(terms.terms.mean()), error, count


def _weighted_bounds(
    estimator: str,
    analysis: LogAnalysis,
    overlap: Overlap,
    terms: WeightedTerms,
    effective: float,
    limit: float,
) -> tuple[Bounds, list[LogFinding]]:
    """The interval of a weighted estimate, and what there is to say about it."""
    is_logged = overlap.target.is_logged
    if analysis.anytime:
        found = anytime_bounds(estimator, analysis, overlap, analysis.confidence)
        crossed = "no interval: bounds from below and above cross, so that logged propensities are wrong"
        return found, [] if math.isfinite(found.low) else [LogFinding("no interval", crossed)]
    if estimator == "slope" and not is_logged:
        return _slope_bounds(analysis, overlap, terms, effective, limit)
    mean, error, count = _mean_and_error(analysis, terms)
    few = effective < FEWEST_EFFECTIVE
    by_likelihood = estimator in ("ips", "snips", "mips") and analysis.rewards is not None and not is_logged
    if by_likelihood and analysis.rewards is not None and (few or not error > 0.0):
        most = limit if analysis.design.shares is None else math.inf  # shares of unseen rounds are not known
        sums = power_sums(terms.weight, analysis.unit_rewards(terms.reward), most)
        found = cressie_read(sums, analysis.confidence)
        found = found._replace(ground=analysis.ground).scaled(analysis.rewards)
        if found.low < found.high:
            words = f"{effective:.0f} effective explorations are too few for a normal interval: "
            words += "Cressie-Read's is shown"
            return found, [LogFinding("few", words, warns=effective < FEWEST_TO_WARN)]
    if count < 2 or not error > 0.0:
        reason = "there are fewer than 2 explorations" if count < 2 else "all draws say exactly the same"
        return NO_BOUNDS, [LogFinding("no interval", f"no interval: {reason}")]
    notes = []
    if few and not is_logged:
        words = f"with {effective:.0f} effective explorations (below {FEWEST_EFFECTIVE:.0f}) "
        words += "the interval is too short"
        notes.append(LogFinding("few", words))
    return student(terms.model + mean, error, count, analysis.confidence, analysis.ground), notes


def _slope_bounds(
    analysis: LogAnalysis, overlap: Overlap, terms: WeightedTerms, effective: float, limit: float
) -> tuple[Bounds, list[LogFinding]]:
    """The interval of dr, stretched to the estimate: SLOPE's choice may be biased."""
    plain = weighted_terms("dr", analysis, overlap)
    found, notes = _weighted_bounds("dr", analysis, overlap, plain, effective, limit)
    value = terms.model + _mean_and_error(analysis, terms)[0]
    if math.isfinite(found.low):
        found = found._replace(low=min(found.low, value), high=max(found.high, value))
    return found, notes
