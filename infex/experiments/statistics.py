"""Means, spreads and paired differences, with intervals that ask for no normal law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.linear.kernels import Floats
from infex.streams import stream

RESAMPLES = 10_000
LEVEL = 0.95


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
    """one - other, pair by pair, with a bootstrap interval of 95 % for the mean.

    Regret is skewed, greedy's most of all, so pairs are drawn again with replacement instead of
    trusting a normal law. The draws are the same in every call. One pair has no interval (NaN).
    """
    gaps = np.asarray(one) - np.asarray(other)
    below = int(np.count_nonzero(gaps < 0))
    if gaps.size < 2:
        return Difference(int(gaps.size), float(gaps.mean()), float("nan"), float("nan"), below)
    rng = stream(0, "bootstrap", gaps.size)
    means = gaps[rng.integers(0, gaps.size, (RESAMPLES, gaps.size))].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(int(gaps.size), float(gaps.mean()), float(low), float(high), below)
