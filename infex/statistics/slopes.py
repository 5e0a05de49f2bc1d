"""How fast a curve grows: its slope where both axes are logarithmic."""

from __future__ import annotations

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting
from infex.statistics.resampling import PAIRS_OF_AN_INTERVAL, SLOPE_RESAMPLES, Interval, resamples


def slope(rounds: Integers, curves: Floats) -> Interval:
    """The slope of log(mean curve) against log(round), with its interval of 95 %.

    `curves` has a row for each run. 1 is linear growth, 0.5 that of a square root, and a power of log t
    comes near 0. The line is the least squares one through all points. Runs are drawn again with
    replacement, for points of one run depend on each other, and the interval is BCa's (Efron and Tibshirani,
    1993, section 14.3), so that its ends are slopes of curves that can be: never below 0 where no
    curve falls. NaN with fewer than 12 runs, or where some draw has a point without regret.

    >>> t = np.array([10, 100, 1000])
    >>> round(slope(t, np.sqrt(t) * np.ones((12, 1))).value, 6)
    0.5
    """
    if len(rounds) < 2:
        raise InvalidSetting(f"a slope needs at least two rounds, got {len(rounds)}")
    weights = _weights(np.log(np.asarray(rounds, np.float64)))
    value = float(_slopes(curves.mean(axis=0), weights)) if len(curves) else float("nan")
    if len(curves) < PAIRS_OF_AN_INTERVAL or not np.isfinite(value):
        return Interval(value, float("nan"), float("nan"))
    redrawn = np.concatenate(
        [_slopes(curves[drawn].mean(axis=1), weights) for drawn in resamples(len(curves), SLOPE_RESAMPLES)]
    )
    if not np.isfinite(redrawn).all():
        return Interval(value, float("nan"), float("nan"))
    left_out = _slopes((curves.sum(axis=0) - curves) / (len(curves) - 1), weights)
    return Interval(value, *_bca(value, redrawn, left_out))


def _weights(logs: Floats) -> Floats:
    """What each logarithm counts in the least-squares slope."""
    centred = logs - logs.mean()
    weights: Floats = centred / (centred @ centred)
    return weights


def _slopes(means: Floats, weights: Floats) -> Floats:
    """The slope of each row; NaN where a mean is not above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes: Floats = np.where(np.all(means > 0, axis=-1), np.log(means) @ weights, np.nan)
    return slopes


def _bca(value: float, redrawn: Floats, left_out: Floats) -> tuple[float, float]:
    """The ends of the BCa interval: quantiles of what was drawn again, moved for bias and skewness."""
    from scipy.special import ndtr, ndtri

    if np.ptp(redrawn) == 0:
        return value, value
    bias = ndtri(
        (np.count_nonzero(redrawn < value) + 0.5 * np.count_nonzero(redrawn == value)) / redrawn.size
    )
    influence = left_out.mean() - left_out
    spread = np.sum(influence**2)
    skewness = np.sum(influence**3) / (6 * spread**1.5) if spread > 0 else 0.0
    normal = bias + ndtri(np.array([0.025, 0.975]))
    shares = ndtr(bias + normal / (1 - skewness * normal))
    low, high = np.quantile(redrawn, np.nan_to_num(shares, nan=0.0))
    return float(low), float(high)
