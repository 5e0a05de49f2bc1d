"""What a choice costs: mean, median and worst decile of regret, each with its interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.statistics import Interval, paired, quantile

WORST_DECILE = 0.9  # one problem in ten costs more than this quantile


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
