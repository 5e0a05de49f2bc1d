"""What a log shows of itself, and of an estimate, that its reader must know."""

from __future__ import annotations

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.evaluation.estimators import Drawn, effective
from infex.evaluation.groundwork import Groundwork, TargetRounds
from infex.evaluation.target_value import Carrier, LogFinding
from infex.logs.arm_features import spans

FAR_IN_ERRORS = 4.0  # right logs reach 2.6 in the mean weight
MODEL_IN_ERRORS = 2.576  # 1 % of right models are beyond
RARE = 1e-4  # a chance at which a test is believed
CARRIERS = 5
FEWEST_TO_TEST, FULL_SUPPORT = 10.0, 0.999  # effective explorations by which the model is tested
STRETCHES = 10  # of rounds, that residuals are compared over, where there are no months


def of_log(work: Groundwork) -> tuple[LogFinding, ...]:
    """What concerns all targets."""
    found = [
        *_held_out(work),
        *_missing(work),
        *_covered(work),
        *_shares(work),
        *_played_too_often(work),
        *_drift(work),
        *_looks(work),
    ]
    return tuple(found)


def _held_out(work: Groundwork) -> list[LogFinding]:
    if not work.held_out:
        return []
    words = f"{work.held_out:,} decisions for those held out are left out: a fixed rule took them; "
    words += "log.take(log.held_out) is a log of these alone, by which policies can be judged too"
    return [LogFinding("held out", words, warns=False)]


def misfit(work: Groundwork) -> tuple[LogFinding, ...]:
    """What speaks against the model's noise and bound."""
    return (LogFinding("large rewards", work.model.misfit),) if work.model.misfit else ()


def of_target(work: Groundwork, rounds: TargetRounds, drawn: Drawn, *, modelled: bool) -> list[LogFinding]:
    """What concerns a weighted estimate of one target."""
    found = []
    if rounds.support is None:
        words = "support is assumed: the log does not say which other arms it could have played"
        found.append(LogFinding("support", words, warns=False))
    found += _mean_weight(drawn.weight)
    if modelled:
        found += _correction(work, drawn)
    if work.design.kind == "fixed":
        found += season(work, rounds)
    return found


def of_model(work: Groundwork, rounds: TargetRounds, weight: Floats, value: float) -> list[LogFinding]:
    """What speaks against the model's value of a target: what rewards can be, and what explorations say."""
    found = []
    if work.rewards is not None and not work.rewards[0] <= value <= work.rewards[1]:
        least, most = work.rewards
        words = f"the linear model says {value:.4g}, and rewards are from {least:g} to {most:g}: it is off"
        found.append(LogFinding("beyond", f"{words} (is there a feature that is always 1?)"))
    rows = work.design.rows
    supported = rounds.support is None or rounds.support >= FULL_SUPPORT
    if supported and not rounds.target.is_logged and effective(weight) >= FEWEST_TO_TEST:
        found += _correction(work, Drawn(0.0, np.zeros(0), rows, weight, work.log.reward[rows]))
    return found


def carriers(work: Groundwork, drawn: Drawn) -> tuple[Carrier, ...]:
    """The five rounds of the largest weights."""
    log, total = work.log, float(drawn.weight.sum())
    if drawn.weight.size != work.design.rows.size or not total > 0.0:
        return ()
    order = largest_first(drawn.weight, CARRIERS)
    return tuple(
        Carrier(
            int(log.round[row]),
            log.label(int(log.arm[row])),
            float(weight),
            float(log.reward[row]),
            weight / total,
        )
        for row, weight in zip(work.design.rows[order], drawn.weight[order].tolist(), strict=True)
    )


def _mean_weight(weight: Floats) -> list[LogFinding]:
    """Weights have the mean 1 if propensities are right and support is there."""
    if weight.size < 2:
        return []
    error = float(weight.std(ddof=1)) / math.sqrt(weight.size)
    apart = float(weight.mean()) - 1.0
    if abs(apart) <= FAR_IN_ERRORS * error or abs(apart) < 1e-9:
        return []
    far = f", {abs(apart) / error:.1f} standard errors from 1" if error > 0.0 else ""
    return [
        LogFinding(
            "mean weight",
            f"weights have a mean of {1.0 + apart:.3f}{far}: the logged propensities are wrong, or some "
            "arms could not be played",
        )
    ]


def largest_first(values: Floats, count: int) -> Integers:
    """The places of the largest values; of equal ones the first.

    >>> largest_first(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    left, places = values.copy(), np.empty(min(count, values.size), dtype=np.int64)
    for place in range(places.size):
        places[place] = left.argmax()
        left[places[place]] = -np.inf
    return places


def _correction(work: Groundwork, drawn: Drawn) -> list[LogFinding]:
    """The weighted residual of drawn rounds tests the model of all rounds."""
    rows = work.design.rows
    if rows.size < 2:
        return []
    left = drawn.weight * (drawn.reward - work.modelled[rows])
    mean, error = float(left.mean()), float(left.std(ddof=1)) / math.sqrt(rows.size)
    if not abs(mean) > MODEL_IN_ERRORS * error > 0.0:
        return []
    words = f"explorations correct the linear model by {mean:+.4g} (standard error {error:.2g}): it is off"
    return [LogFinding("correction", words)]


def _missing(work: Groundwork) -> list[LogFinding]:
    log = work.log
    gone = ~log.rewarded
    count = int(gone.sum())
    if not count:
        return []
    words = (
        f"{count:,} of {len(log):,} rewards never came ({count / len(log):.1%}); these rounds are left out"
    )
    p = _evenness(log.arm, gone, log.count)
    if p < RARE:
        pulls = np.bincount(log.arm, minlength=log.count)
        share = np.bincount(log.arm[gone], minlength=log.count) / np.maximum(pulls, 1)
        worst = int(share.argmax())
        words += (
            f"; the share differs by arm, up to {share[worst]:.1%} of {log.label(worst)!r}: estimates lean"
        )
    return [LogFinding("missing rewards", words, warns=p < RARE)]


def _evenness(groups: Integers, hit: np.ndarray, count: int) -> float:
    """The chance of shares as uneven as these, if all groups had the same (chi-squared)."""
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


def _covered(work: Groundwork) -> list[LogFinding]:
    found, design = [], work.design
    left = int((~design.covered).sum())
    if design.drawn_blocks and left:
        words = f"{left:,} of {len(work.log):,} rounds are in blocks that are not whole, or did not explore"
        words += ": weighted estimators leave them out"
        found.append(LogFinding("rounds left out", words, warns=left > 0.1 * len(work.log)))
    if design.kind == "fixed":
        words = "exploring rounds are fixed: they speak for the others only if these are alike; "
        words += "rounds drawn by jittered(m) always do"
        found.append(LogFinding("fixed rounds", words, warns=False))
    if design.unknown:
        words = f"in {design.unknown:,} exploring rounds the propensity of the arm is not known"
        words += ": weighted estimators leave them out" if design.rows.size else ""
        found.append(LogFinding("unknown propensities", words))
    return found


def _shares(work: Groundwork) -> list[LogFinding]:
    """Were arms played as often as their propensities say?"""
    log, rows = work.log, work.design.rows
    if log.base_propensities is None or not work.design.drawn_blocks or not rows.size:
        return []
    propensities = log.base_propensities[rows]
    if np.isnan(propensities).any():
        return []
    seen = np.bincount(log.arm[rows], minlength=log.count) - propensities.sum(axis=0)
    error = np.sqrt((propensities * (1.0 - propensities)).sum(axis=0))
    z = np.divide(seen, error, out=np.zeros(log.count), where=error > 0.0)
    worst = int(np.abs(z).argmax())
    if abs(z[worst]) <= FAR_IN_ERRORS:
        return []
    words = f"arm {log.label(worst)!r} was explored {seen[worst]:+.0f} times against its propensity, "
    words += f"{abs(z[worst]):.1f} standard errors off"
    return [LogFinding("shares", words)]


def _played_too_often(work: Groundwork) -> list[LogFinding]:
    """Was an arm played more often than the logged propensities allow?

    The weight of "always this arm" is 1/probability where it was played, else 0. Its mean is 1 if the arm
    could be played in every round, and less if it could not; it cannot be more.
    """
    log = work.log
    if work.design.kind != "every round" or log.propensity is None or log.kept is not None:
        return []
    known = ~np.isnan(log.propensity)
    arm, weight, count = log.arm[known], 1.0 / log.propensity[known], int(known.sum())
    if count < 2:
        return []
    mean = np.bincount(arm, weight, log.count) / count
    square = np.bincount(arm, weight**2, log.count) / count
    error = np.sqrt(np.maximum(square - mean**2, 0.0) / (count - 1))
    z = np.divide(mean - 1.0, error, out=np.zeros(log.count), where=error > 0.0)
    worst = int(z.argmax())
    if z[worst] <= FAR_IN_ERRORS:
        return []
    words = (
        f"arm {log.label(worst)!r} was played {mean[worst]:.3g} times as often as the logged propensities "
    )
    words += f"allow, {z[worst]:.1f} standard errors off: they are wrong, and so is every weight"
    return [LogFinding("propensities", words)]


def season(work: Groundwork, rounds: TargetRounds) -> list[LogFinding]:
    """Are the exploring rounds of a fixed schedule unlike the others, by what the model says of them?"""
    log, drawn = work.log, np.zeros(len(work.log), dtype=bool)
    drawn[work.design.rows] = True
    value, theta = np.empty(len(log)), work.looks.across(work.model.theta)
    for span in spans(len(log)):
        value[span] = work.looks.parts(span, rounds.target.probabilities(span)) @ theta
    inside, outside = value[drawn], value[~drawn]
    if inside.size < 2 or outside.size < 2:
        return []
    error = math.sqrt(inside.var(ddof=1) / inside.size + outside.var(ddof=1) / outside.size)
    apart = float(inside.mean() - outside.mean())
    if abs(apart) <= FAR_IN_ERRORS * error or abs(apart) < 1e-9:
        return []
    words = f"exploring rounds are unlike the others ({apart:+.3g} by the model): "
    words += "a season in step with the schedule"
    return [LogFinding("season", words)]


def _drift(work: Groundwork) -> list[LogFinding]:
    """Do residuals of the model change over months, or tenths of the rounds?"""
    from scipy.special import fdtrc

    left = work.log.reward - work.modelled
    rows = np.flatnonzero(work.log.rewarded)
    if rows.size < left.size:
        left = left[rows]
    parts, name = stretches(work, rows)
    count = int(parts.max()) + 1 if parts.size else 0
    sizes = np.bincount(parts, minlength=count)
    if count < 2 or rows.size - count < 2 or (sizes < 2).any():
        return []
    means = np.bincount(parts, weights=left) / sizes
    inside = float(((left - means[parts]) ** 2).sum()) / (rows.size - count)
    between = float((sizes * (means - left.mean()) ** 2).sum()) / (count - 1)
    if not inside > 0.0 or fdtrc(count - 1, rows.size - count, between / inside) >= RARE:
        return []
    low, high = float(means.min()), float(means.max())
    words = f"the model's errors move from {low:+.3g} to {high:+.3g} over {count} {name}: "
    words += "rewards drift, or are not linear"
    return [LogFinding("drift", words)]


def stretches(work: Groundwork, rows: Integers) -> tuple[Integers, str]:
    """The month of each round, or its tenth of all rounds; and what these are called."""
    time = work.log.time
    if time is not None and time.dtype.kind == "M" and rows.size and not np.isnat(time).any():
        _, months = np.unique(time[rows].astype("datetime64[M]"), return_inverse=True)
        if months.max() > 0:
            return months, "months"
    return np.arange(rows.size) * STRETCHES // max(rows.size, 1), "tenths of the rounds"


def _looks(work: Groundwork) -> list[LogFinding]:
    if work.log.dim is None:
        words = "the log has no features: the model knows arms by their places alone"
        return [LogFinding("no features", words, warns=False)]
    longest = work.rows.longest()
    if longest <= 1.0 + 1e-9:
        return []
    return [
        LogFinding("length", f"arms are up to {longest:.3g} long; evaluation needs no unit ball", warns=False)
    ]
