"""Means that count rounds by how even propensities were (Hadad et al., 2021; Zhan et al., 2021)."""

from __future__ import annotations

import math

import numpy as np

from infex.arrays import Floats
from infex.evaluation.estimators import Estimate


def weighted_mean(scores: Floats, counts: Floats) -> Estimate:
    """sum h x/sum h, and its standard error sqrt(sum h^2 (x - mean)^2)/sum h; h is known before each round.

    >>> weighted_mean(np.array([0.0, 1.0]), np.array([3.0, 1.0])).value
    0.25
    """
    total = float(counts.sum())
    value = float(counts @ scores) / total
    return Estimate(value, math.sqrt(float(counts**2 @ (scores - value) ** 2)) / total)


def stable_variance(spread: Floats, power: float = 0.5) -> Floats:
    """h = (mean over the rounds before of sum_a target^2/propensity)^-power; 1 in the first round."""
    before = np.cumsum(spread)[:-1] / np.arange(1, spread.size)
    counts: Floats = np.r_[1.0, before] ** -power
    return counts


def two_point_allocation(propensity: Floats, decay: float = 0.5) -> Floats:
    """h of one arm, whose propensity may fall like t^-decay (Hadad et al., 2021, section 2.4).

    h_t^2 = l_t (1 - sum_{s<t} h_s^2/e_s) e_t, with l_t between what suits an arm that is hardly played
    and what suits one that always is.
    """
    n = propensity.size
    t = np.arange(1, n + 1)
    rare = (1.0 - decay) / ((1.0 - decay) + n * (t / n) ** decay - t)
    share = np.clip((1.0 - propensity) * rare + propensity / (1.0 + n - t), 0.0, 1.0)
    left = np.r_[1.0, np.cumprod(1.0 - share)[:-1]]
    counts: Floats = np.sqrt(np.maximum(share * left, 0.0) * propensity)
    return counts
