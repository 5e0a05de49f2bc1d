"""Quantiles of Student's distribution, for any degrees of freedom above 0, without SciPy.

The core install has none, and an interval is asked for there, too. P(|T| > t) = I_x(n/2, 1/2) with
x = n/(n + t^2), where I is the regularised incomplete beta function, by its continued fraction; its inverse
is found by halving. With many degrees of freedom it is the series about the normal quantile (Fisher and
Cornish, 1960).
"""

import math
from statistics import NormalDist

TINY_BETA = 1e-300
MOST_TERMS = 10_000
SERIES_FROM = 1e5  # degrees of freedom from which on the series is right to 1e-13


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
