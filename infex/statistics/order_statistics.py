"""Quantiles of one sample, with exact intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Floats
from infex.statistics.resampling import INTERVAL_ENDS, PAIRS_OF_AN_INTERVAL


def quantile_intervals(rows: Floats, share: float) -> NDArray[np.float64]:
    """A quantile of each row of numbers, and the ends of its interval of 95 %: shape (3, rows).

    The ends are two numbers of the row itself: how many lie below the true quantile is binomial,
    whatever the law, so that the interval holds it in at least 95 % of cases (David and Nagaraja, *Order
    Statistics*, 2003, section 7.1), with at most 2.5 % beyond either end. Fewer than 12 runs are too few; a
    decile needs 36. An end that the runs do not reach is NaN.

    >>> quantile_intervals(np.arange(20.0)[None], 0.5).ravel().tolist()
    [9.5, 5.0, 14.0]
    """
    ordered = np.sort(rows, axis=1)
    size = ordered.shape[1]
    open_end = np.full(len(ordered), np.nan)
    first, last = _ranks(size, share)
    return np.array(
        [
            np.quantile(ordered, share, axis=1) if size else open_end,
            ordered[:, first - 1] if first >= 1 else open_end,
            ordered[:, last - 1] if last <= size else open_end,
        ]
    )


def _ranks(size: int, share: float) -> tuple[int, int]:
    """The ranks, from 1, of the interval's ends; 0 or `size` + 1 for an end that is open.

    With B binomial (size, share): the greatest l with P(B < l) <= 2.5 %, the least u with P(B >= u) <= 2.5 %.
    """
    from scipy.stats import binom

    tail = INTERVAL_ENDS[0]
    if size < PAIRS_OF_AN_INTERVAL:
        return 0, size + 1
    below = binom.cdf(np.arange(size + 1), size, share)  # P(B <= k)
    first = int(np.count_nonzero(below <= tail * (1 + 1e-12)))
    reached = binom.sf(np.arange(-1, size), size, share)  # P(B >= k), k from 0
    last = int(np.count_nonzero(reached > tail * (1 + 1e-12)))
    return first, last
