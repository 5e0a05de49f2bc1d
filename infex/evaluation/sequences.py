"""Confidence sequences: bounds on a target's value that hold in all rounds at once, however the log learnt.

With the model's help (Waudby-Smith et al., 2022): a draw of weight w says d + w (r - g), where g is the
model's value of the arm and d the target's mean of g. It is unbiased whatever g is, as long as g does not
depend on the draw. With g <= k/w it is never below -k, so that (draw + k)/(1 + k) is never negative and has a
mean of at most 1: what `lower_bound` needs. Rewards and model are scaled to [0, 1]; k is the number of arms,
which is known before the first round.
"""

from __future__ import annotations

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import NoSupport
from infex.evaluation.design import logging_propensities
from infex.evaluation.intervals import NO_BOUNDS, Bounds, Ground
from infex.evaluation.model import LogAnalysis
from infex.evaluation.overlap import Overlap
from infex.logs.arm_features import spans

ROOT_WITHIN = 1e-14
ROUNDS_AT_ONCE = 1 << 12  # of which the values of all arms are in memory


def log_wealth(excess: Floats | float, spread: Floats | float) -> Floats:
    """The log of a mixture of bets, a martingale: `excess` is S - t mu, `spread` the summed squares.

    Howard et al. (2021), as in Mineiro (2022): a gamma distribution of bets with rho = 1.
    """
    from scipy.special import gammainc, loggamma

    def lower(a: Floats | float, x: Floats | float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(gammainc(a, x)) + loggamma(a))

    v, both = spread + 1.0, excess + spread + 1.0
    found: Floats = np.asarray(excess + spread - v * np.log(both) + lower(v, both) - lower(1.0, 1.0))
    return found


def squared_deviations(terms: Floats) -> Floats:
    """Summed squares of terms less their prediction from the terms before, after every round."""
    before = np.r_[0.0, np.cumsum(terms)[:-1]] + 0.5
    squares: Floats = np.cumsum((terms - before / np.arange(1, terms.size + 1)) ** 2)
    return squares


def lower_bound(terms: Floats, error_rate: float) -> float:
    """A lower bound on the mean of terms >= 0 with means <= 1 each, given the past (Mineiro, 2022)."""
    from scipy.optimize import brentq

    if not terms.size:
        return 0.0
    spread, total, n = float(squared_deviations(terms)[-1]), float(terms.sum()), terms.size

    def gap(mean: float) -> float:
        return float(log_wealth(total - n * mean, spread)) + math.log(error_rate)

    if gap(0.0) <= 0.0:
        return 0.0
    top = min(1.0, total / n)
    return top if gap(top) >= 0.0 else float(brentq(gap, 0.0, top, xtol=ROOT_WITHIN))


def confidence_sequence(weight: Floats, reward: Floats, confidence: float) -> Bounds:
    """The value of the target by ips, with rewards in [0, 1].

    With wrong propensities the lower bound may be above the upper one.
    """
    error_rate = 0.5 * (1.0 - confidence)
    low = lower_bound(weight * reward, error_rate)
    high = 1.0 - lower_bound(weight * (1.0 - reward), error_rate)
    return Bounds(low, high, "confidence sequence", "guaranteed")


def anytime_bounds(estimator: str, analysis: LogAnalysis, overlap: Overlap, confidence: float) -> Bounds:
    """The interval that holds in all rounds at once: for `dr` with the model's help, otherwise by ips."""
    log, design = analysis.log, analysis.design
    assert analysis.rewards is not None
    if log.inverse_kept is not None:
        raise NoSupport(
            "anytime intervals need all rows, and some of this log were left out (`kept`): leave out anytime"
        )
    if design.shares is not None:
        raise NoSupport("anytime intervals need blocks of one length, and those of this log differ")
    if estimator == "dr":
        found = _robust_sequence(analysis, overlap, confidence)
    else:
        weight, reward = overlap.probability[design.rows] / design.propensity, log.reward[design.rows]
        if overlap.target.is_logged:  # all rewards of the log, each once
            reward = log.reward[log.rewarded & design.covered]
            weight = np.ones(reward.size)
        found = confidence_sequence(weight, analysis.unit_rewards(reward), confidence)
    if not found.low < found.high:
        return NO_BOUNDS
    ground: Ground = "assumed" if design.kind == "fixed" else "guaranteed"
    return found._replace(ground=ground).scaled(analysis.rewards)


def has_all_propensities(analysis: LogAnalysis) -> bool:
    """Whether the propensity of every arm is known in every drawn round."""
    propensities, rows = analysis.log.base_propensities, analysis.design.rows
    return propensities is not None and rows.size > 0 and not bool(np.isnan(propensities[rows]).any())


def _robust_sequence(analysis: LogAnalysis, overlap: Overlap, confidence: float) -> Bounds:
    error_rate, cap = 0.5 * (1.0 - confidence), float(analysis.log.count)
    far = cap + 1.0

    def lower(draws: Floats) -> float:
        """A lower bound on the mean of draws that are never below -far, with means from 0 to 1."""
        return max((1.0 + far) * lower_bound((draws + far) / (1.0 + far), error_rate) - far, 0.0)

    low = lower(capped_draws(analysis, overlap, cap, flipped=False))
    high = 1.0 - lower(capped_draws(analysis, overlap, cap, flipped=True))
    return Bounds(low, high, "robust confidence sequence", "guaranteed")


def capped_draws(analysis: LogAnalysis, overlap: Overlap, cap: float, *, flipped: bool) -> Floats:
    """The value of the target by each draw, never below -(`cap` + 1); with `flipped`, of 1 less each reward.

    In a drawn block, the model's value of the mean round less that of the drawn round is added: at most 1.
    """
    design, log = analysis.design, analysis.log
    direct, draws = np.zeros(len(log)), np.zeros(design.rows.size)
    first = 0
    for span in spans(len(log), ROUNDS_AT_ONCE):
        probabilities, values = overlap.target.probabilities(span), _model_values(analysis, span, flipped)
        direct[span] = np.einsum("nk,nk->n", probabilities, values)
        last = first + int(np.searchsorted(design.rows[first:], span.stop))
        rows = design.rows[first:last] - span.start
        propensities = logging_propensities(log, design, span)
        assert propensities is not None
        arm = log.arm[span][rows]
        draws[first:last] = _capped(probabilities[rows], propensities[rows], values[rows], arm, cap)
        reward = analysis.unit_rewards(log.reward[rows + span.start])
        weight = probabilities[rows, arm] / design.propensity[first:last]
        draws[first:last] += weight * ((1.0 - reward) if flipped else reward)
        first = last
    if not design.drawn_blocks:
        return draws
    covered, size = design.covered, design.starts.size
    total = np.bincount(design.of_round[covered], weights=direct[covered], minlength=size)
    count = np.bincount(design.of_round[covered], minlength=size)
    means = total / np.maximum(count, 1)
    found: Floats = draws + (means[design.block] - direct[design.rows])
    return found


def _model_values(analysis: LogAnalysis, span: slice, flipped: bool) -> Floats:
    """The frozen model's values of every arm, scaled to [0, 1], (rounds, K)."""
    block = np.maximum(analysis.design.of_round[span], 0)
    found = np.clip(
        analysis.unit_rewards(analysis.features.scores_by(span, analysis.thetas, block)), 0.0, 1.0
    )
    return 1.0 - found if flipped else found


def _capped(target: Floats, propensities: Floats, values: Floats, arm: Integers, cap: float) -> Floats:
    """d - w g of each draw, with g = min(value, cap/w)."""
    weight = np.divide(target, propensities, out=np.zeros(target.shape), where=propensities > 0.0)
    limit = np.divide(cap, weight, out=np.full(target.shape, np.inf), where=weight > 0.0)
    capped, rows = np.minimum(values, limit), np.arange(arm.size)
    found: Floats = np.einsum("nk,nk->n", target, capped) - weight[rows, arm] * capped[rows, arm]
    return found
