"""What a choice costs: mean, median and worst decile of regret, each with its interval."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.statistics import Interval, paired, quantile
from infex.statistics.resampling import INTERVAL_ENDS, RELATIVE_ROUNDING
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
