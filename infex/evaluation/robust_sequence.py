"""Bounds that hold in all rounds at once, made narrower by the frozen model (Waudby-Smith et al., 2022).

A draw of weight w says d + w (r - g), where g is the model's value of the arm and d the target's mean of g:
unbiased whatever g is, as long as g knows nothing of the draw. With g <= k/w it is never below -k, so that
(draw + k)/(1 + k) is never negative and has a mean of at most 1: what `sequences.lower_bound` needs. Rewards
and model are brought to [0, 1]; k is the number of arms, which is known before the first round.
"""

from __future__ import annotations

import numpy as np

from infex.arrays import Floats, Integers
from infex.evaluation.designs import logging_propensities
from infex.evaluation.groundwork import Groundwork, TargetRounds
from infex.evaluation.intervals import Bounds
from infex.evaluation.sequences import lower_bound
from infex.logs.arm_features import spans

ROWS_CAPPED = 1 << 12  # rounds of which the values of all arms are in memory


def has_all_laws(work: Groundwork, rounds: TargetRounds) -> bool:
    """Is the propensity of every arm known in every drawn round?"""
    propensities, rows = work.log.base_propensities, work.design.rows
    return (
        rounds.has_propensities
        and propensities is not None
        and rows.size > 0
        and not bool(np.isnan(propensities[rows]).any())
    )


def robust_sequence(work: Groundwork, rounds: TargetRounds, confidence: float) -> Bounds:
    """The value of a target, with rewards in [0, 1], after any number of draws at once."""
    doubt, most = 0.5 * (1.0 - confidence), float(work.log.count)
    low = _lower(capped_draws(work, rounds, most, flipped=False), most, doubt)
    high = 1.0 - _lower(capped_draws(work, rounds, most, flipped=True), most, doubt)
    return Bounds(low, high, "robust confidence sequence", "guaranteed")


def _lower(draws: Floats, most: float, doubt: float) -> float:
    """A lower bound on the mean of draws that are never below -(`most` + 1), with means from 0 to 1."""
    far = most + 1.0
    return max((1.0 + far) * lower_bound((draws + far) / (1.0 + far), doubt) - far, 0.0)


def capped_draws(work: Groundwork, rounds: TargetRounds, most: float, *, flipped: bool) -> Floats:
    """What each draw says of the target, never below -(`most` + 1); `flipped`: of 1 less each reward.

    In a drawn block, what the model says of the mean round, less of the drawn one, is added: at most 1.
    """
    design, log = work.design, work.log
    direct, drawn = np.zeros(len(log)), np.zeros(design.rows.size)
    first = 0
    for span in spans(len(log), ROWS_CAPPED):
        probabilities, values = rounds.target.probabilities(span), model_values(work, span, flipped)
        direct[span] = np.einsum("nk,nk->n", probabilities, values)
        last = first + int(np.searchsorted(design.rows[first:], span.stop))
        rows = design.rows[first:last] - span.start
        propensities = logging_propensities(log, design, span)
        assert propensities is not None
        drawn[first:last] = _capped(
            probabilities[rows], propensities[rows], values[rows], log.arm[span][rows], most
        )
        drawn[first:last] += _weighted_rewards(
            work, probabilities, rows + span.start, rows, flipped, first, last
        )
        first = last
    if not design.drawn_blocks:
        return drawn
    return drawn + _of_block(work, direct)


def model_values(work: Groundwork, span: slice, flipped: bool) -> Floats:
    """What the frozen model says of every arm, brought to [0, 1], (rounds, K)."""
    assert work.rewards is not None
    least, most = work.rewards
    block = np.maximum(work.design.of_round[span], 0)
    found: Floats = (work.looks.scores_by(span, work.thetas, block) - least) / (most - least)
    found = np.clip(found, 0.0, 1.0)
    return 1.0 - found if flipped else found


def _capped(target: Floats, propensities: Floats, values: Floats, arm: Integers, most: float) -> Floats:
    """d - w g of each draw, with g = min(value, most/w)."""
    weight = np.divide(target, propensities, out=np.zeros(target.shape), where=propensities > 0.0)
    cap = np.divide(most, weight, out=np.full(target.shape, np.inf), where=weight > 0.0)
    capped, rows = np.minimum(values, cap), np.arange(arm.size)
    found: Floats = np.einsum("nk,nk->n", target, capped) - weight[rows, arm] * capped[rows, arm]
    return found


def _weighted_rewards(
    work: Groundwork,
    probabilities: Floats,
    rows: Integers,
    inside: Integers,
    flipped: bool,
    first: int,
    last: int,
) -> Floats:
    """w r of each draw."""
    assert work.rewards is not None
    least, most = work.rewards
    reward = (work.log.reward[rows] - least) / (most - least)
    weight = probabilities[inside, work.log.arm[rows]] / work.design.propensity[first:last]
    found: Floats = weight * ((1.0 - reward) if flipped else reward)
    return found


def _of_block(work: Groundwork, direct: Floats) -> Floats:
    """The mean of what the model says in each draw's block, less what it says in the drawn round."""
    design, size = work.design, work.design.starts.size
    covered = design.covered
    total = np.bincount(design.of_round[covered], weights=direct[covered], minlength=size)
    count = np.bincount(design.of_round[covered], minlength=size)
    means = total / np.maximum(count, 1)
    found: Floats = means[design.block] - direct[design.rows]
    return found
