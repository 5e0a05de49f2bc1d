"""Means, quantiles, spreads, paired differences and slopes, with intervals that assume no normal law.

SciPy is imported only by the functions that need it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Floats, Integers
from infex.checks import one_of
from infex.errors import InvalidSetting
from infex.streams import stream

# Spreads


class Spread(NamedTuple):
    """How a figure is spread over runs; `std` is the sample's (n - 1), NaN for one run."""

    runs: int
    mean: float
    std: float
    median: float


def spread(values: Floats) -> Spread:
    """Count, mean, standard deviation and median.

    >>> spread(np.array([1.0, 2.0, 6.0]))._asdict()
    {'runs': 3, 'mean': 3.0, 'std': 2.6457513110645907, 'median': 2.0}
    """
    std = float(np.std(values, ddof=1)) if values.size > 1 else float("nan")
    return Spread(int(values.size), float(np.mean(values)), std, float(np.median(values)))


# Means, quantiles and paired differences; pairs are drawn again for their intervals

MEAN_RESAMPLES = 10_000
QUANTILE_RESAMPLES = 2000  # fewer, because a quantile takes longer than a mean
NUMBERS_DRAWN_AT_ONCE = 1 << 18
NUMBERS_REMEMBERED = 1 << 18  # 2 MB
MEAN_NUMBERS, QUANTILE_NUMBERS = 1 << 24, 1 << 22  # that are drawn in all: past 1,600 pairs draws are fewer
FEWEST_RESAMPLES = 500
MOST_PRODUCTS_OF_A_THREAD = 1 << 18  # from which on OpenBLAS takes several threads
FEWEST_DRAWS_OF_A_PRODUCT = 64
INTERVAL_ENDS = ((1 - 0.95) / 2, (1 + 0.95) / 2)  # the quantiles between which 95 % lie
SLOPE_RESAMPLES = 2000
PAIRS_OF_AN_INTERVAL = 12  # fewer are too few for an interval
TOO_FEW = "too few"
PAIRS_BEYOND_A_QUANTILE = 3  # on either side, which its interval needs
RELATIVE_ROUNDING = 1e-12  # errors as small as this come of rounding alone


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

    def __str__(self) -> str:
        return f"{self.mean:+,.4g} {_ends(self.low, self.high, '+,.4g')} of {self.pairs} pairs"


def paired(one: Floats, other: Floats) -> Difference:
    """one - other, pair by pair, with a bootstrap-t interval of 95 % for the mean.

    Regret is skewed, greedy's most of all, so pairs are drawn again with replacement instead of
    trusting a normal law, and each mean so drawn is measured in standard errors of its own draw
    (Efron and Tibshirani, 1993, section 12.5). Of 20 pairs such intervals hold the true mean of a
    normal law in 95 of 100 cases, of an exponential one in 94, of a mixture like greedy's in 97;
    quantiles of the means alone would in 93, 90 and 92, and BCa's in 93, 89 and 94. The draws are the same in
    every call.

    Far out, bootstrap-t knows no limits, so its ends are cut to the least and the greatest
    difference that was seen. Each of these can be had, so every number between them is a mean that
    can be had, whatever the horizon and the gaps. From 12 pairs on the cut costs no coverage that can be
    measured: where it bites, the end was past all that was seen, and the mean is not. Fewer than 12 pairs are
    too few for an interval (NaN). No interval knows of runs that it has not seen: where one problem in
    twenty ruins a policy, that of 20 pairs holds the true mean in 64 of 100 cases, and so does BCa's.
    """
    gaps = np.asarray(one, dtype=np.float64) - np.asarray(other)
    (interval,) = mean_intervals([gaps])
    return Difference(int(gaps.size), *interval, int(np.count_nonzero(gaps < 0)))


class Interval(NamedTuple):
    """A figure, and the bounds of its interval of 95 %; NaN where there are too few pairs."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:,.4g} {_ends(self.low, self.high, ',.4g')}"


def _ends(low: float, high: float, form: str) -> str:
    """An interval in words.

    >>> print(Interval(3.0, 1.5, 4.25), "and", Interval(3.0, float("nan"), float("nan")))
    3 [1.5, 4.25] and 3 (too few)
    """
    return f"({TOO_FEW})" if math.isnan(low) or math.isnan(high) else f"[{low:{form}}, {high:{form}}]"


RATIO_RESAMPLES = 2000


def ratio(one: Floats, other: Floats) -> Interval:
    """The mean of one sample over that of another, paired, with a bootstrap-t interval of 95 %.

    It is that of `product_of_means`, but ends are cut to the least and the greatest ratio of a pair: every
    number between them is a ratio that can be had.

    >>> round(ratio(np.arange(1.0, 14.0), 2 * np.arange(1.0, 14.0)).value, 12)
    0.5
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    found = product_of_means(np.array([one, other]), np.array([1.0, -1.0]))
    if math.isnan(found.low):
        return found
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = one / other
    low, high = max(found.low, np.nanmin(pairs)), min(found.high, np.nanmax(pairs))
    if not math.isfinite(high):
        return Interval(found.value, math.nan, math.nan)
    return Interval(found.value, float(min(low, found.value)), float(max(high, found.value)))


def product_of_means(rows: Floats, weights: Floats) -> Interval:
    """The product of means of samples, each to the power of its weight, with a bootstrap-t interval of 95 %.

    `rows` are (samples, runs), paired run by run, with a weight for each sample: 1 and -1 give a ratio, 1/n
    and -1/n for n pairs of samples the geometric mean of ratios. Runs are drawn again, of all samples
    together. The logarithm of the product is measured in standard errors of each draw, by the delta method.
    For regrets of 20 runs on each of five problems such an interval held the true ratio in 94 of 100 cases,
    and lay below it in 4; the quantiles of the products drawn held it in 91, and lay below it in 8.

    NaN with fewer than 12 runs, where a mean is 0, and where that of a draw is: then too few runs say
    anything.

    >>> product_of_means(np.full((2, 12), [[4.0], [1.0]]), np.array([0.5, -0.5]))
    Interval(value=2.0, low=2.0, high=2.0)
    """
    ((value,), (error,)) = _log_products(rows, weights, np.arange(rows.shape[1])[None])
    middle = math.exp(value)
    unknown = Interval(middle, math.nan, math.nan)
    if rows.shape[1] < PAIRS_OF_AN_INTERVAL or not math.isfinite(error):
        return unknown
    if error <= RELATIVE_ROUNDING:
        return Interval(middle, middle, middle)
    blocks = [_log_products(rows, weights, drawn) for drawn in resamples(rows.shape[1], RATIO_RESAMPLES)]
    values, errors = np.concatenate(blocks, axis=1)
    if not np.isfinite(values).all():
        return unknown
    apart, flat = values - value, errors <= RELATIVE_ROUNDING
    scaled = np.where(flat, np.copysign(np.inf, apart), apart / np.where(flat, 1.0, errors))
    scaled[flat & (np.abs(apart) <= RELATIVE_ROUNDING)] = 0.0
    first, last = _ends_of(scaled[None])[:, 0]
    with np.errstate(over="ignore"):
        low, high = np.exp(value - np.array([last, first]) * error)
    return Interval(middle, float(min(low, middle)), float(max(high, middle)))


def _log_products(rows: Floats, weights: Floats, drawn: Integers) -> Floats:
    """Logarithms of products of means and their standard errors, (2, draws), of runs drawn, (draws, runs)."""
    total, parts = np.zeros(len(drawn)), np.zeros(drawn.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        for row, weight in zip(rows, weights, strict=True):
            sample = row[drawn]
            means = sample.mean(axis=1)
            total += weight * np.log(np.where(means > 0.0, means, np.nan))
            parts += weight * (sample / means[:, None])
        runs = drawn.shape[1]
        errors = parts.std(axis=1, ddof=1) / math.sqrt(runs) if runs > 1 else np.full(len(drawn), np.nan)
    return np.array([total, errors])


def quantile(one: Floats, other: Floats, share: float) -> Interval:
    """A quantile of one sample less that of another, paired; pairs are drawn again for the interval.

    >>> quantile(np.arange(9.0), np.zeros(9), 0.5).value
    4.0
    """
    one, other = np.asarray(one, float), np.asarray(other, float)
    value = float(np.quantile(one, share) - np.quantile(other, share))
    few_beyond = one.size * min(share, 1 - share) < PAIRS_BEYOND_A_QUANTILE
    if one.size < PAIRS_OF_AN_INTERVAL or few_beyond:
        return Interval(value, float("nan"), float("nan"))
    differences = [
        np.quantile(one[drawn], share, axis=1) - np.quantile(other[drawn], share, axis=1)
        for drawn in resamples(one.size, QUANTILE_RESAMPLES, QUANTILE_NUMBERS)
    ]
    low, high = np.quantile(np.concatenate(differences), INTERVAL_ENDS)
    return Interval(value, float(low), float(high))


def mean_intervals(samples: Sequence[Floats], draws: int = MEAN_RESAMPLES) -> list[Interval]:
    """The mean of each sample with its bootstrap-t interval, as `paired` gives it against nil.

    Samples of one size share their draws, so that hundreds of them take little longer than one. Each mean
    is drawn again as often as `draws` says.

    >>> [round(interval.value, 1) for interval in mean_intervals([np.arange(9.0), np.ones(3)])]
    [4.0, 1.0]
    """
    by_size: dict[int, list[int]] = {}
    for place, sample in enumerate(samples):
        by_size.setdefault(sample.size, []).append(place)
    intervals: dict[int, Interval] = {}
    for places in by_size.values():
        intervals |= zip(
            places, _intervals_of_means(np.array([samples[k] for k in places]), draws), strict=True
        )
    return [intervals[place] for place in range(len(samples))]


def _intervals_of_means(rows: Floats, draws: int) -> list[Interval]:
    """The interval of the mean of each row."""
    count, size = rows.shape
    means = rows.mean(axis=1) if size else np.full(count, np.nan)
    if size < PAIRS_OF_AN_INTERVAL:
        return [Interval(float(mean), float("nan"), float("nan")) for mean in means]
    errors = rows.std(axis=1, ddof=1) / np.sqrt(size)
    spread_out = errors > RELATIVE_ROUNDING * np.abs(means)
    ends = np.zeros((2, count))
    if spread_out.any():
        scaled = (rows[spread_out] - means[spread_out, None]) / errors[spread_out, None]
        ends[:, spread_out] = _ends_of(_redrawn_means(scaled, draws))
    lows = np.maximum(means - ends[1] * errors, np.minimum(rows.min(axis=1), means))
    highs = np.minimum(means - ends[0] * errors, np.maximum(rows.max(axis=1), means))
    return [Interval(*map(float, bounds)) for bounds in zip(means, lows, highs, strict=True)]


def resamples(pairs: int, count: int, numbers: int = MEAN_NUMBERS) -> Iterator[Integers]:
    """Indices of pairs drawn again with replacement, `count` rows of them in all, in blocks.

    There are fewer rows where they would hold more than so many numbers.
    """
    rng = stream(0, "bootstrap", pairs)
    count = min(count, max(FEWEST_RESAMPLES, numbers // pairs))
    size = max(1, NUMBERS_DRAWN_AT_ONCE // pairs)
    for first in range(0, count, size):
        yield rng.integers(0, pairs, (min(size, count - first), pairs))


def _ends_of(rows: Floats) -> Floats:
    """The quantiles of each row between which 95 % of it lie, (2, rows); the rows are changed."""
    places = [max(math.ceil(rows.shape[1] * end) - 1, 0) for end in INTERVAL_ENDS]
    rows.partition(places, axis=1)
    return rows[:, places].T


def _redrawn_means(rows: Floats, draws: int) -> Floats:
    """Means of rows drawn again, (rows, draws), in standard errors of each draw; infinite where it has none.

    A draw is the shares that places have in it, so that means are one product of rows and shares.
    """
    size, squares = rows.shape[1], rows**2
    few = size * draws <= NUMBERS_REMEMBERED
    shares = _remembered_shares(size, draws) if few else _shares(size, draws)
    parts = [_in_errors(_product(rows, each), _product(squares, each), size) for each in shares]
    return np.concatenate(parts, axis=1)


def _product(rows: Floats, shares: Floats) -> Floats:
    """rows @ shares; small ones in pieces that BLAS leaves to one thread: waking others takes longer."""
    step = MOST_PRODUCTS_OF_A_THREAD // rows.size
    if step < FEWEST_DRAWS_OF_A_PRODUCT:
        return rows @ shares
    out = np.empty((len(rows), shares.shape[1]))
    for first in range(0, shares.shape[1], step):
        piece = slice(first, first + step)
        np.matmul(rows, shares[:, piece], out=out[:, piece])
    return out


def _in_errors(means: Floats, squares: Floats, size: int) -> Floats:
    """Means in standard errors of samples of that size, whose mean squares are given; changes both.

    Errors that come of rounding alone are none.
    """
    squares -= means**2
    squares /= size - 1
    flat = squares <= RELATIVE_ROUNDING
    squares[flat] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        means /= np.sqrt(squares, out=squares)
    means[flat & np.isnan(means)] = 0.0
    return means


def _shares(size: int, draws: int) -> Iterator[Floats]:
    """Which share of each draw each place has, (places, draws), in blocks of draws."""
    for drawn in resamples(size, draws, MEAN_NUMBERS):
        first = np.arange(len(drawn))[:, None] * size
        counts = np.bincount((drawn + first).ravel(), minlength=drawn.size)
        yield counts.reshape(drawn.shape).T / size


@functools.lru_cache(maxsize=4)
def _remembered_shares(size: int, draws: int) -> tuple[Floats, ...]:
    """The same for small samples: a page asks for hundreds of intervals from the same draws."""
    return tuple(_shares(size, draws))


# Quantiles of one sample, with exact intervals


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


# How fast a curve grows: its slope where both axes are logarithmic


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


# Tests of paired differences, exact where pairs are few, and Holm's correction for many of them

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


# Quantiles of Student's distribution
#
# The core install has none, and an interval is asked for there, too. P(|T| > t) = I_x(n/2, 1/2) with
# x = n/(n + t^2), where I is the regularised incomplete beta function, by its continued fraction; its inverse
# is found by halving. With many degrees of freedom it is the series about the normal quantile (Fisher and
# Cornish, 1960).

TINY_BETA = 1e-300
MOST_TERMS = 10_000
SERIES_FROM = 1e5  # degrees of freedom from which on the series is right to 1e-13


@functools.lru_cache(maxsize=256)
def student_quantile(level: float, freedom: float) -> float:
    """The t with P(|T| <= t) = level; infinite where there are no degrees of freedom.

    >>> round(student_quantile(0.95, 10.0), 6)
    2.228139
    """
    if freedom <= 0.0:
        return math.inf
    tail = 1.0 - level
    if freedom >= SERIES_FROM:
        return _series(-NormalDist().inv_cdf(0.5 * tail), freedom)
    low, high = 0.0, 1.0
    while beyond(high, freedom) > tail:
        low, high = high, 2.0 * high
        if high > 1e150:
            return math.inf
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (middle, high) if beyond(middle, freedom) > tail else (low, middle)
    return 0.5 * (low + high)


def _series(z: float, freedom: float) -> float:
    """The quantile by that of the normal distribution."""
    return z + (z**3 + z) / (4.0 * freedom) + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * freedom**2)


def beyond(t: float, freedom: float) -> float:
    """P(|T| > t)."""
    square = t * t
    return incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + square), square / (freedom + square))


def incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """I_x(a, b), regularised; `rest` is 1 - x, to all its digits."""
    if x <= 0.0 or rest <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(a * _log(x, rest) + b * _log(rest, x) - _log_beta(a, b))
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, rest) / b


def _log(x: float, rest: float) -> float:
    """log x, by 1 - x where that is smaller."""
    return math.log(x) if x < 0.5 else math.log1p(-rest)


def _log_beta(a: float, b: float) -> float:
    """log B(a, b); for b = 1/2 and a large by Stirling's series, as differences of lgamma lose digits."""
    if b == 0.5 and a > 1e3:
        return 0.5 * math.log(math.pi / a) + (1.0 / 8.0 - 1.0 / (192.0 * a * a)) / a
    if a == 0.5 and b > 1e3:
        return _log_beta(b, a)
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1.0 / _kept(1.0 - (a + b) * x / (a + 1.0))
    found = d
    for m in range(1, MOST_TERMS):
        for part in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _kept(1.0 + part * d)
            c = _kept(1.0 + part / c)
            found *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return found


def _kept(value: float) -> float:
    """A divisor that is not 0."""
    return TINY_BETA if abs(value) < TINY_BETA else value
