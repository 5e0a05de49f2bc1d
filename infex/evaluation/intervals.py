"""Intervals of a weighted mean, each with what it rests on: guaranteed, asymptotic, or assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from infex.arrays import Floats, Integers

Ground = Literal["guaranteed", "asymptotic", "assumed"]


class Bounds(NamedTuple):
    """Both ends of an interval, how it was made, and what it rests on."""

    low: float
    high: float
    method: str
    ground: Ground

    @property
    def half(self) -> float:
        """Half of its width."""
        return 0.5 * (self.high - self.low)

    def within(self, least: float, most: float) -> Bounds:
        """The same interval, cut to the values that there can be."""
        low, high = min(max(self.low, least), most), max(min(self.high, most), least)
        return self._replace(low=low, high=high)


def normal(value: float, error: float, confidence: float, ground: Ground = "asymptotic") -> Bounds:
    """value -+ z error.

    >>> normal(0.0, 1.0, 0.95).high.__round__(3)
    1.96
    """
    from scipy.special import ndtri

    half = float(ndtri(0.5 + 0.5 * confidence)) * error
    return Bounds(value - half, value + half, "normal", ground)


def student(
    value: float, error: float, count: int, confidence: float, ground: Ground = "asymptotic"
) -> Bounds:
    """value -+ t error sqrt(n/(n-1)), `error` being that of n values about their mean, summed over n."""
    from scipy.special import stdtrit

    half = float(stdtrit(count - 1, 0.5 + 0.5 * confidence)) * error * math.sqrt(count / (count - 1))
    return Bounds(value - half, value + half, "martingale normal", ground)


def clopper_pearson(weight: Floats, reward: Floats, confidence: float) -> Bounds:
    """The binomial interval of sum w r/max w hits in n/max w tries; rewards lie in [0, 1]."""
    from scipy.special import betaincinv

    top = float(weight.max())
    hits, tries, tail = float(weight @ reward) / top, weight.size / top, 0.5 * (1.0 - confidence)
    low = float(betaincinv(hits, tries - hits + 1.0, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1.0, tries - hits, 1.0 - tail)) if hits < tries else 1.0
    return Bounds(low, high, "Clopper-Pearson", "asymptotic")


def lower_hoeffding(values: Floats, most: float, doubt: float) -> float:
    """A lower bound on the mean of independent values from 0 to `most`."""
    return float(values.mean()) - most * math.sqrt(math.log(1.0 / doubt) / (2.0 * values.size))


def lower_bernstein(values: Floats, most: float, doubt: float) -> float:
    """A lower bound by the empirical Bernstein inequality (Maurer and Pontil, 2009)."""
    n, log = values.size, math.log(2.0 / doubt)
    spread = math.sqrt(2.0 * log * float(values.var()) / (n - 1))
    return float(values.mean()) - 7.0 * most * log / (3.0 * (n - 1)) - spread


def lower_student(values: Floats, doubt: float) -> float:
    """A lower bound by Student's law."""
    from scipy.special import stdtrit

    mean, freedom = float(values.mean()), values.size - 1
    return mean - float(stdtrit(freedom, 1.0 - doubt)) * math.sqrt(float(values.var()) / freedom)


def resampled(values: Floats, draws: Iterable[Integers], confidence: float) -> Bounds:
    """The bootstrap's percentile interval of a mean; values are of blocks, or clusters, that go together.

    `draws` gives the places of each resample.
    """
    means = np.array([values[places].mean() for places in draws])
    ends = np.percentile(means, [50.0 * (1.0 - confidence), 50.0 * (1.0 + confidence)])
    return Bounds(float(ends[0]), float(ends[1]), "bootstrap by blocks", "asymptotic")
