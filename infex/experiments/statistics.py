"""Means, spreads and paired differences, with intervals that ask for no normal law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.kernels import TIE
from infex.streams import stream

RESAMPLES = 10_000
FEWER = 2000  # for quantiles, which take longer
BLOCK = 1 << 18  # numbers that are drawn at a time
LEVEL = 0.95
LEAST = 6  # pairs that an interval needs
BEYOND = 3  # pairs on either side of a quantile that its interval needs


class Spread(NamedTuple):
    """How a figure is spread over runs; `std` is the sample's (n - 1), NaN for one run."""

    runs: int
    mean: float
    std: float
    median: float


class Difference(NamedTuple):
    """The mean of paired differences, the bounds of its interval, and in how many pairs it is below 0."""

    pairs: int
    mean: float
    low: float
    high: float
    below: int

    @property
    def settled(self) -> bool:
        """Is 0 outside the interval?"""
        return self.low > 0 or self.high < 0


def spread(values: Floats) -> Spread:
    """Count, mean, standard deviation and median.

    >>> spread(np.array([1.0, 2.0, 6.0]))._asdict()
    {'runs': 3, 'mean': 3.0, 'std': 2.6457513110645907, 'median': 2.0}
    """
    std = float(np.std(values, ddof=1)) if values.size > 1 else float("nan")
    return Spread(int(values.size), float(np.mean(values)), std, float(np.median(values)))


def paired(one: Floats, other: Floats) -> Difference:
    """one - other, pair by pair, with a bootstrap-t interval of 95 % for the mean.

    Regret is skewed, greedy's most of all, so pairs are drawn again with replacement instead of
    trusting a normal law, and each mean so drawn is measured in standard errors of its own draw
    (Efron and Tibshirani, 1993, section 12.5). Of 20 pairs such intervals hold the true mean of a
    normal law in 95 of 100 cases, of an exponential one in 94, of a mixture like greedy's in 97;
    quantiles of the means alone would in 93, 90 and 92. The draws are the same in every call. Fewer
    than 6 pairs have no interval (NaN), and a bound that they cannot tell is infinite.
    """
    gaps = np.asarray(one, dtype=np.float64) - np.asarray(other)
    below = int(np.count_nonzero(gaps < 0))
    if gaps.size == 0:
        return Difference(0, float("nan"), float("nan"), float("nan"), 0)
    mean = float(gaps.mean())
    if gaps.size < LEAST:
        return Difference(int(gaps.size), mean, float("nan"), float("nan"), below)
    error = float(gaps.std(ddof=1)) / np.sqrt(gaps.size)
    if error <= TIE * abs(mean):  # all alike
        return Difference(int(gaps.size), mean, mean, mean, below)
    shares = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(_drawn((gaps - mean) / error), shares, method="inverted_cdf")
    return Difference(int(gaps.size), mean, float(mean - high * error), float(mean - low * error), below)


class Interval(NamedTuple):
    """A figure, and the bounds of its interval of 95 %; NaN where there are too few pairs."""

    value: float
    low: float
    high: float


def quantile(one: Floats, other: Floats, share: float) -> Interval:
    """A quantile of one sample less that of another, paired; pairs are drawn again for the interval.

    >>> quantile(np.arange(9.0), np.zeros(9), 0.5).value
    4.0
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    value = float(np.quantile(one, share) - np.quantile(other, share))
    if one.size < LEAST or one.size * min(share, 1 - share) < BEYOND:
        return Interval(value, float("nan"), float("nan"))
    rng = stream(0, "bootstrap", one.size)
    size = max(1, BLOCK // one.size)
    found = []
    for first in range(0, FEWER, size):
        drawn = rng.integers(0, one.size, (min(size, FEWER - first), one.size))
        found.append(np.quantile(one[drawn], share, axis=1) - np.quantile(other[drawn], share, axis=1))
    low, high = np.quantile(np.concatenate(found), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def _drawn(gaps: Floats) -> Floats:
    """Means of gaps that are drawn again, in standard errors of each draw; infinite where it has none."""
    rng = stream(0, "bootstrap", gaps.size)
    size = max(1, BLOCK // gaps.size)
    found = []
    for first in range(0, RESAMPLES, size):
        draws = gaps[rng.integers(0, gaps.size, (min(size, RESAMPLES - first), gaps.size))]
        means = draws.mean(axis=1)
        squares = np.maximum((draws**2).mean(axis=1) - means**2, 0) / (gaps.size - 1)
        errors = np.where(squares > TIE, np.sqrt(squares), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(np.nan_to_num(means / errors, nan=0.0, posinf=np.inf, neginf=-np.inf))
    return np.concatenate(found)
