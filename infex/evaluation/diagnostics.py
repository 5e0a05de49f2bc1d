"""What a log shows about itself and about an estimate, and `check`, which asks the log alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.evaluation.estimators import WeightedTerms
from infex.evaluation.intervals import effective_size
from infex.evaluation.model import LogAnalysis, analyse
from infex.evaluation.overlap import Overlap, overlap_of, why_unsupported
from infex.evaluation.targets import TargetPolicy, one_hot
from infex.logs import Log
from infex.logs.arm_features import spans
from infex.logs.log import NOT_OF_POLICY

FAR_IN_ERRORS = 4.0  # valid logs reach 2.6 in the mean weight
MODEL_IN_ERRORS = 2.576  # 1 % of right models are beyond
SIGNIFICANCE = 1e-4
CARRIERS = 5
FEWEST_TO_TEST, FULL_SUPPORT = 10.0, 0.999  # effective explorations by which the model is tested
STRETCHES = 10  # of rounds, that residuals are compared over, if there are no months
ARMS_LISTED = 10
WHY_LEFT_OUT = {
    "held_out": "decisions for those held out are left out: a fixed rule took them; "
    "log.take(log.held_out) is a log of these alone, which can evaluate policies too",
    "sticky": "decisions in which a unit kept its arm are left out: nothing was chosen in them; values are "
    "those of the decisions in which units were given their arms",
    "apprentice": "decisions as an apprentice are left out: the caller played their arms",
}
"""By the columns that tell of decisions that no policy took."""


class LogFinding(NamedTuple):
    """Something that the log shows about an estimate: its `kind`, in `words`, and whether it is a warning.

    That is `warns`.
    """

    kind: str
    words: str
    warns: bool = True


class Carrier(NamedTuple):
    """A round that carries an estimate: its number, arm, weight, reward, and the share of all weights."""

    round: int
    arm: object
    weight: float
    reward: float
    share: float


# Of the log


def log_findings(analysis: LogAnalysis) -> tuple[LogFinding, ...]:
    """What concerns all targets."""
    tests = (_left_out, _missing_rewards, _coverage, _arm_shares, _played_too_often, _drift, _features)
    return tuple(finding for test in tests for finding in test(analysis))


def misfit_findings(analysis: LogAnalysis) -> tuple[LogFinding, ...]:
    """What contradicts the model's noise and bound."""
    return (LogFinding("large rewards", analysis.model.misfit),) if analysis.model.misfit else ()


def _left_out(analysis: LogAnalysis) -> Iterator[LogFinding]:
    for name, count in analysis.left_out.items():
        if count:
            yield LogFinding(NOT_OF_POLICY[name], f"{count:,} {WHY_LEFT_OUT[name]}", warns=False)


def _missing_rewards(analysis: LogAnalysis) -> Iterator[LogFinding]:
    log = analysis.log
    gone = ~log.rewarded
    count = int(gone.sum())
    if not count:
        return
    words = (
        f"{count:,} of {len(log):,} rewards never came ({count / len(log):.1%}); these rounds are left out"
    )
    p = _evenness(log.arm, gone, log.count)
    if p < SIGNIFICANCE:
        pulls = np.bincount(log.arm, minlength=log.count)
        share = np.bincount(log.arm[gone], minlength=log.count) / np.maximum(pulls, 1)
        worst = int(share.argmax())
        words += f"; the share differs by arm, up to {share[worst]:.1%} of {log.label(worst)!r}: "
        words += "estimates are biased"
    yield LogFinding("missing rewards", words, warns=p < SIGNIFICANCE)


def _evenness(groups: Integers, hit: np.ndarray, count: int) -> float:
    """The p-value of shares as uneven as these, if all groups had the same (chi-squared)."""
    from scipy.special import chdtrc

    pulls = np.bincount(groups, minlength=count).astype(float)
    hits = np.bincount(groups[hit], minlength=count).astype(float)
    used = pulls > 0
    share = hits.sum() / pulls.sum()
    if used.sum() < 2 or not 0.0 < share < 1.0:
        return 1.0
    expected = pulls[used] * share
    square = float(((hits[used] - expected) ** 2 / (expected * (1.0 - share))).sum())
    return float(chdtrc(int(used.sum()) - 1, square))


def _coverage(analysis: LogAnalysis) -> Iterator[LogFinding]:
    design, size = analysis.design, len(analysis.log)
    left = int((~design.covered).sum())
    if design.drawn_blocks and left:
        words = f"{left:,} of {size:,} rounds are in blocks that are incomplete, or did not explore"
        words += ": weighted estimators leave them out"
        yield LogFinding("rounds left out", words, warns=left > 0.1 * size)
    if design.kind == "fixed":
        words = "exploring rounds are fixed" + (" in a part of the log" if design.drawn.any() else "")
        words += ": they represent the others only if these are alike; "
        words += "rounds drawn by jittered(m) always do"
        yield LogFinding("fixed rounds", words, warns=False)
    if design.kind == "thinned blocks":
        words = "rows of blocks were left out (`kept`): weighted estimators need whole blocks"
        yield LogFinding("rounds left out", words)
    elif design.unknown:
        words = f"in {design.unknown:,} exploring rounds the propensity of the arm is not known"
        words += ": weighted estimators leave them out" if design.rows.size else ""
        yield LogFinding("unknown propensities", words)


def _arm_shares(analysis: LogAnalysis) -> Iterator[LogFinding]:
    """Were arms explored as often as their propensities say?"""
    log, rows = analysis.log, analysis.design.rows
    if log.base_propensities is None or not analysis.design.drawn_blocks or not rows.size:
        return
    propensities = log.base_propensities[rows]
    if np.isnan(propensities).any():
        return
    seen = np.bincount(log.arm[rows], minlength=log.count) - propensities.sum(axis=0)
    error = np.sqrt((propensities * (1.0 - propensities)).sum(axis=0))
    z = np.divide(seen, error, out=np.zeros(log.count), where=error > 0.0)
    worst = int(np.abs(z).argmax())
    if abs(z[worst]) > FAR_IN_ERRORS:
        words = f"arm {log.label(worst)!r} was explored {seen[worst]:+.0f} times against its propensity, "
        words += f"{abs(z[worst]):.1f} standard errors off"
        yield LogFinding("shares", words)


def _played_too_often(analysis: LogAnalysis) -> Iterator[LogFinding]:
    """Was an arm played more often than the logged propensities allow?

    The weight of "always this arm" is 1/propensity where it was played, otherwise 0. Its mean is 1 if the arm
    could be played in every round, and less if it could not; it cannot be more.
    """
    log = analysis.log
    if analysis.design.kind != "every round" or log.propensity is None or log.kept is not None:
        return
    known = ~np.isnan(log.propensity)
    arm, weight, count = log.arm[known], 1.0 / log.propensity[known], int(known.sum())
    if count < 2:
        return
    mean = np.bincount(arm, weight, log.count) / count
    square = np.bincount(arm, weight**2, log.count) / count
    error = np.sqrt(np.maximum(square - mean**2, 0.0) / (count - 1))
    z = np.divide(mean - 1.0, error, out=np.zeros(log.count), where=error > 0.0)
    worst = int(z.argmax())
    if z[worst] > FAR_IN_ERRORS:
        words = f"arm {log.label(worst)!r} was played {mean[worst]:.3g} times as often as the logged "
        words += (
            f"propensities allow, {z[worst]:.1f} standard errors off: they are wrong, and so is every weight"
        )
        yield LogFinding("propensities", words)


def _drift(analysis: LogAnalysis) -> Iterator[LogFinding]:
    """Do residuals of the model change over months, or tenths of the rounds?"""
    from scipy.special import fdtrc

    left = analysis.log.reward - analysis.estimates
    if analysis.shares is not None:
        left = left * analysis.shares
    rows = np.flatnonzero(analysis.log.rewarded)
    if rows.size < left.size:
        left = left[rows]
    parts, name = _stretches(analysis.log, rows)
    count = int(parts.max()) + 1 if parts.size else 0
    sizes = np.bincount(parts, minlength=count)
    if count < 2 or rows.size - count < 2 or (sizes < 2).any():
        return
    means = np.bincount(parts, weights=left) / sizes
    inside = float(((left - means[parts]) ** 2).sum()) / (rows.size - count)
    between = float((sizes * (means - left.mean()) ** 2).sum()) / (count - 1)
    if inside > 0.0 and fdtrc(count - 1, rows.size - count, between / inside) < SIGNIFICANCE:
        words = f"the model's errors move from {float(means.min()):+.3g} to {float(means.max()):+.3g} over "
        words += f"{count} {name}: rewards drift, or are not linear"
        yield LogFinding("drift", words)


def _stretches(log: Log, rows: Integers) -> tuple[Integers, str]:
    """The month of each round, or its tenth of all rounds; and what these are called."""
    time = log.time
    if time is not None and time.dtype.kind == "M" and rows.size and not np.isnat(time).any():
        _, months = np.unique(time[rows].astype("datetime64[M]"), return_inverse=True)
        if months.max() > 0:
            return months, "months"
    return np.arange(rows.size) * STRETCHES // max(rows.size, 1), "tenths of the rounds"


def _features(analysis: LogAnalysis) -> Iterator[LogFinding]:
    if analysis.log.dim is None:
        words = "the log has no features: the model estimates each arm by itself"
        yield LogFinding("no features", words, warns=False)
    elif (longest := analysis.rows.longest()) > 1.0 + 1e-9:
        words = f"arms are up to {longest:.3g} long; evaluation needs no unit ball"
        yield LogFinding("length", words, warns=False)


# Of an estimate


def weighted_findings(
    analysis: LogAnalysis, overlap: Overlap, terms: WeightedTerms, *, modelled: bool
) -> list[LogFinding]:
    """What concerns a weighted estimate of one target."""
    found = []
    if overlap.support is None:
        words = "support is assumed: the log does not say which other arms it could have played"
        found.append(LogFinding("support", words, warns=False))
    found += _mean_weight(terms.weight, analysis.design.shares)
    if modelled:
        found += _correction(analysis, terms.weight, terms.reward)
    if analysis.design.kind == "fixed":
        found += _season(analysis, overlap)
    return found


def model_findings(analysis: LogAnalysis, overlap: Overlap, weight: Floats, value: float) -> list[LogFinding]:
    """What contradicts the model's value of a target: the range of rewards, and explorations."""
    found = []
    if analysis.rewards is not None and not analysis.rewards[0] <= value <= analysis.rewards[1]:
        least, most = analysis.rewards
        words = f"the linear model says {value:.4g}, and rewards are from {least:g} to {most:g}: it is off"
        found.append(LogFinding("beyond", f"{words} (is there a feature that is always 1?)"))
    supported = overlap.support is None or overlap.support >= FULL_SUPPORT
    if supported and not overlap.target.is_logged and effective_size(weight) >= FEWEST_TO_TEST:
        found += _correction(analysis, weight, analysis.log.reward[analysis.design.rows])
    return found


def carriers(analysis: LogAnalysis, terms: WeightedTerms) -> tuple[Carrier, ...]:
    """The five rounds with the largest weights; of equal ones the first."""
    log, weight, total = analysis.log, terms.weight, float(terms.weight.sum())
    if weight.size != analysis.design.rows.size or not total > 0.0:
        return ()
    left, found = weight.copy(), []
    for _ in range(min(CARRIERS, weight.size)):
        place = int(left.argmax())
        left[place] = -np.inf
        row, own = analysis.design.rows[place], float(weight[place])
        label = log.label(int(log.arm[row]))
        found.append(Carrier(int(log.round[row]), label, own, float(log.reward[row]), own / total))
    return tuple(found)


def _mean_weight(weight: Floats, shares: Floats | None) -> Iterator[LogFinding]:
    """Weights have mean 1 if propensities are right and there is support; they are times the `shares`."""
    if weight.size < 2:
        return
    off = weight - (1.0 if shares is None else shares)
    error = float(off.std(ddof=1)) / math.sqrt(weight.size)
    apart = float(off.mean())
    if abs(apart) <= FAR_IN_ERRORS * error or abs(apart) < 1e-9:
        return
    far = f", {abs(apart) / error:.1f} standard errors from 1" if error > 0.0 else ""
    words = f"weights have a mean of {1.0 + apart:.3f}{far}: the logged propensities are wrong, or some "
    yield LogFinding("mean weight", f"{words}arms could not be played")


def _correction(analysis: LogAnalysis, weight: Floats, reward: Floats) -> Iterator[LogFinding]:
    """The weighted residual of drawn rounds tests the model of all rounds."""
    rows = analysis.design.rows
    if rows.size < 2:
        return
    left = weight * (reward - analysis.estimates[rows])
    mean, error = float(left.mean()), float(left.std(ddof=1)) / math.sqrt(rows.size)
    if abs(mean) > MODEL_IN_ERRORS * error > 0.0:
        words = (
            f"explorations correct the linear model by {mean:+.4g} (standard error {error:.2g}): it is off"
        )
        yield LogFinding("correction", words)


def _season(analysis: LogAnalysis, overlap: Overlap) -> Iterator[LogFinding]:
    """Do the exploring rounds of a fixed schedule differ from the others, by the model's values?"""
    size, features = len(analysis.log), analysis.features
    drawn = np.zeros(size, dtype=bool)
    drawn[analysis.design.rows] = True
    value, theta = np.empty(size), features.across(analysis.model.theta)
    for span in spans(size):
        value[span] = features.parts(span, overlap.target.probabilities(span)) @ theta
    inside, outside = value[drawn], value[~drawn]
    if inside.size < 2 or outside.size < 2:
        return
    error = math.sqrt(inside.var(ddof=1) / inside.size + outside.var(ddof=1) / outside.size)
    apart = float(inside.mean() - outside.mean())
    if abs(apart) > FAR_IN_ERRORS * error and abs(apart) >= 1e-9:
        words = f"exploring rounds differ from the others ({apart:+.3g} by the model): "
        yield LogFinding("season", f"{words}a season in step with the schedule")


# `check`


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LogCheck:
    """What a log can tell: `arms` that weights can evaluate if always played, why not the others, `can_tell`.

    `model` says what the linear model rests on; None if there are too few rewards for any.

    `words` describe the log, and `findings` say what contradicts it.
    """

    words: str
    arms: tuple[object, ...]
    others: dict[object, str]
    model: str | None
    findings: tuple[LogFinding, ...] = field(repr=False)

    @property
    def can_tell(self) -> bool:
        """Whether it can evaluate anything."""
        return bool(self.arms) or self.model is not None

    def __str__(self) -> str:
        lines = [self.words]
        if self.arms:
            lines.append(f"weights can evaluate {_listed(self.arms)}")
        for reason in sorted(set(self.others.values())):
            arms = tuple(arm for arm, why in self.others.items() if why == reason)
            lines.append(f"weights cannot evaluate {_listed(arms)}: {reason}")
        model = f"the model: {self.model or 'too few rewards'}"
        lines.append(model if self.can_tell else "nothing can be evaluated")
        return "\n".join([*lines, *(f"- {each.words}" for each in self.findings)])

    def as_record(self) -> dict[str, object]:
        """All of it as plain data."""
        return {
            "log": self.words,
            "weights can evaluate": list(self.arms),
            "weights cannot evaluate": {str(arm): why for arm, why in self.others.items()},
            "model": self.model,
            "findings": [each._asdict() for each in self.findings],
        }


def _listed(arms: tuple[object, ...]) -> str:
    some = ", ".join(str(arm) for arm in arms[:ARMS_LISTED])
    left = len(arms) - ARMS_LISTED
    return f"{'arm' if len(arms) == 1 else 'arms'} {some}{f' and {left:,} more' if left > 0 else ''}"


def check(log: Log, *, rewards: tuple[float, float] | None = None) -> LogCheck:
    """What a log can tell: which arms weights can evaluate, what the model rests on, and what was noticed.

    `rewards` are the smallest and the largest reward, if they are known.

    >>> from infex.logs import Log
    >>> found = check(Log(arm=[0, 1] * 50, reward=[1.0, 0.0] * 50, propensity=[1.0, 0.5] * 50))
    >>> found.arms, found.can_tell
    ((0,), True)
    """
    analysis = analyse(log, rewards=rewards)
    reasons = {log.label(arm): _why_not(analysis, arm) for arm in range(log.count)}
    enough = analysis.sums.count >= 2
    features = "each arm is estimated by itself" if log.dim is None else f"{log.dim} features"
    return LogCheck(
        words=str(analysis),
        arms=tuple(arm for arm, why in reasons.items() if why is None) if enough else (),
        others={arm: why for arm, why in reasons.items() if why is not None},
        model=f"{features}; {analysis.model.words}" if enough else None,
        findings=log_findings(analysis) + (misfit_findings(analysis) if enough else ()),
    )


def _why_not(analysis: LogAnalysis, arm: int) -> str | None:
    """Why weights cannot evaluate an arm that is always played where it is on offer."""
    log = analysis.log

    def probabilities(span: slice) -> Floats:
        size = len(range(*span.indices(len(log))))
        found = one_hot(np.full(size, arm), log.count)
        return found if log.offered is None else found * log.offered[span]

    overlap = overlap_of(TargetPolicy(f"arm {arm}", probabilities), analysis)
    reason = why_unsupported(analysis, overlap)
    if reason is not None:
        return "the log could not play that in all rounds" if "could not play" in reason else reason
    return None if overlap.probability[analysis.design.rows].any() else "never drawn"
