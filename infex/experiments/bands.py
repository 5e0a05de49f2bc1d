"""Curves of many runs as one line with a band."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.statistics import Interval, mean_intervals, quantile_intervals, slope

BAND_RESAMPLES = 1000  # a band has a hundred points, so each is drawn again less often than a figure


class Band(NamedTuple):
    """Rounds, a figure of regret up to each, and the ends of its interval of 95 %."""

    rounds: Integers
    value: Floats
    low: Floats
    high: Floats


def band_of(rounds: Integers, curves: Floats, of: Literal["mean"] | float) -> Band:
    """The mean of curves, one row for each run, or a quantile of them, with an interval at each round."""
    return Band(rounds, *(_means(curves) if of == "mean" else _quantiles(curves, of)))


def _means(curves: Floats) -> Floats:
    """Value, low and high of each round, of means."""
    return np.array(mean_intervals(list(curves.T), BAND_RESAMPLES)).T


def _quantiles(curves: Floats, of: float) -> Floats:
    """Value, low and high of each round, of the quantile `of`."""
    return quantile_intervals(curves.T, real("of", of, least=0, most=1))


def slope_of(rounds: Integers, curves: Floats, since: int | None) -> Interval:
    """How fast the mean of curves grows from a round on, or from a tenth of the last."""
    kept = rounds >= (rounds[-1] / 10 if since is None else since)
    return slope(rounds[kept], curves[:, kept])
