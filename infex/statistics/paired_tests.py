"""Tests of paired differences, exact where pairs are few, and Holm's correction for many of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of

TESTS = ("wilcoxon", "sign")


class PairedTest(NamedTuple):
    """What a test says: pairs that differ, in how many the first is lower, and the two-sided p-value."""

    differing: int
    below: int
    p: float


def paired_test(one: Floats, other: Floats, test: Literal["wilcoxon", "sign"] = "wilcoxon") -> PairedTest:
    """The two-sided p-value of one - other, pair by pair; pairs that are equal say nothing.

    "wilcoxon" is Wilcoxon's signed-rank test, whose hypothesis is that differences lie evenly about 0;
    "sign" counts which is lower, and its hypothesis is a median of 0. Neither speaks of the mean: where few
    runs lose much, as greedy's do, the mean and the sign of most pairs may point to different sides. The sign
    test is exact. So is Wilcoxon's up to 13 pairs, and up to 50 where no two differences have one size;
    beyond that its law is taken for normal. Without any difference p is 1.

    >>> paired_test(np.zeros(6), np.arange(1.0, 7.0)).p, paired_test(np.zeros(6), np.ones(6), "sign").p
    (0.03125, 0.03125)
    """
    from scipy.stats import binomtest, wilcoxon

    one_of("test", test, TESTS)
    gaps = np.asarray(one, dtype=np.float64) - np.asarray(other)
    gaps = gaps[gaps != 0]
    below = int(np.count_nonzero(gaps < 0))
    if not gaps.size:
        return PairedTest(0, 0, 1.0)
    found = binomtest(below, gaps.size) if test == "sign" else wilcoxon(gaps)
    return PairedTest(int(gaps.size), below, float(found.pvalue))


def holm(p_values: Sequence[float]) -> Floats:
    """p-values of many tests, corrected: the chance of any false one is at most the level (Holm, 1979).

    The smallest of m is multiplied by m, the next by m - 1, ..., none becomes smaller than one before it,
    and none passes 1. A NaN is no test: it stays, and is not counted.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    corrected = np.full(p.size, np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = p[order] * np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
