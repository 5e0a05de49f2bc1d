"""Intervals of a weighted mean, each with what it rests on: guaranteed, asymptotic, or assumed."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from infex.arrays import Floats, Integers

Ground = Literal["guaranteed", "asymptotic", "assumed"]
EQUAL_WITHIN = 1e-14
FEWEST_EFFECTIVE = 50.0  # explorations, below which a normal interval is too short


class Bounds(NamedTuple):
    """Both ends of an interval, the method that made it, and what it rests on."""

    low: float
    high: float
    method: str
    ground: Ground

    @property
    def half(self) -> float:
        """Half of its width."""
        return 0.5 * (self.high - self.low)

    def within(self, least: float, most: float) -> Bounds:
        """The same interval, clipped to the possible values."""
        low, high = min(max(self.low, least), most), max(min(self.high, most), least)
        return self._replace(low=low, high=high)

    def scaled(self, rewards: tuple[float, float]) -> Bounds:
        """The interval of rewards in [0, 1] in the units of rewards from the smallest to the largest."""
        least, most = rewards
        return self._replace(low=least + self.low * (most - least), high=least + self.high * (most - least))


NO_BOUNDS = Bounds(math.nan, math.nan, "none", "assumed")


def dot(a: Floats, b: Floats) -> float:
    """The sum of a_i b_i, infinite on overflow. (BLAS would start threads.)"""
    return float(np.einsum("i,i->", a, b))


def effective_size(weight: Floats) -> float:
    """The number of equal weights that carry as much information: (sum w)^2/sum w^2."""
    squares = dot(weight, weight)
    return float(weight.sum()) ** 2 / squares if squares > 0.0 else 0.0


def standard_error(values: Floats, groups: Integers | None = None) -> tuple[float, int]:
    """The standard error of a mean, and the number of values or, if these are correlated, of groups.

    >>> standard_error(np.array([0.0, 2.0]))
    (0.7071067811865476, 2)
    """
    size = values.size
    if size < 2:
        return math.nan, size
    mean = float(values.mean())
    apart = values - mean
    square, most, largest = dot(apart, apart), float(np.abs(apart).max()), float(np.abs(values).max())
    equal = square < math.inf and most <= EQUAL_WITHIN * largest  # but for rounding
    if groups is None:
        return (0.0 if equal else math.sqrt(square) / size), size
    sums = np.bincount(groups, weights=np.zeros(size) if equal else apart)
    return math.sqrt(float(sums @ sums)) / size, sums.size


def reweighted(values: Floats, shares: Floats | None) -> Floats:
    """Values whose mean is sum h x/sum h, and whose standard error is that of this ratio (delta method).

    `shares` are h, divided by their mean; None if they are all the same.

    >>> reweighted(np.array([0.0, 1.0]), np.array([1.5, 0.5])).tolist()
    [-0.125, 0.625]
    """
    if shares is None or not values.size:
        return values
    mean = dot(shares, values) / values.size
    found: Floats = mean + shares * (values - mean)
    return found


def student(
    value: float, error: float, count: int, confidence: float, ground: Ground = "asymptotic"
) -> Bounds:
    """value -+ t error sqrt(n/(n-1)), where `error` is that of n values about their mean, summed over n."""
    from scipy.special import stdtrit

    half = float(stdtrit(count - 1, 0.5 + 0.5 * confidence)) * error * math.sqrt(count / (count - 1))
    return Bounds(value - half, value + half, "martingale normal", ground)


# Empirical likelihood (Karampatziakis, Langford and Mineiro, 2020)
#
# Rounds are reweighted so that the mean importance weight is 1, as close to equal as the Cressie-Read(-2)
# divergence allows; one unseen round, with the smallest or the largest possible weight, joins them. All is in
# closed form from five sums. Rewards lie in [0, 1].


class PowerSums(NamedTuple):
    """n, the sums of w, w^2, w r, w^2 r and w^2 r^2, and the smallest and largest possible weight."""

    size: int
    w: float
    ww: float
    wr: float
    wwr: float
    wwrr: float
    least: float
    most: float


def power_sums(weight: Floats, reward: Floats, most: float = math.inf) -> PowerSums:
    """The five sums; `most` is the largest weight that propensities allow."""
    weighted = weight * reward
    return PowerSums(
        weight.size,
        float(weight.sum()),
        dot(weight, weight),
        float(weighted.sum()),
        dot(weight, weighted),
        dot(weighted, weighted),
        float(weight.min(initial=0.0)),
        float(weight.max(initial=most)),
    )


def cressie_read(sums: PowerSums, confidence: float) -> Bounds:
    """All values under reweightings that are likely enough by the F(1, n) distribution.

    With wrong propensities there may be none: the interval is then all of [0, 1].
    """
    from scipy.special import fdtri

    n = sums.size
    unseen = sums.most if sums.w < sums.size else sums.least
    if math.isinf(unseen):
        best = 1.0 + 1.0 / n
    else:
        a, b = (unseen + sums.w) / (1 + n), (unseen**2 + sums.ww) / (1 + n)
        best = (1 + n) * (a - 1.0) ** 2 / (b - a * a) if b > a * a else 0.0
    phi = (-best - float(fdtri(1, n, confidence))) / (2.0 * (1 + n))
    low, high = _extreme(sums, phi, 0.0, 1.0), _extreme(sums, phi, 1.0, -1.0)
    if not low <= high:
        low, high = 0.0, 1.0
    return Bounds(low, high, "Cressie-Read", "asymptotic")


def _extreme(sums: PowerSums, phi: float, reward: float, sign: float) -> float:
    """The smallest (sign 1) or largest (sign -1) value; the unseen round has this reward."""
    options = []
    for unseen in (sums.least, sums.most):
        if math.isinf(unseen):
            x, y, z = _unbounded_weight(sums, phi, reward, sign)
        else:
            x, y, z = _bounded_weight(sums, phi, reward, sign, unseen)
        if z <= 0.0 and y * z >= 0.0:
            options.append(x - math.sqrt(2.0 * y * z))
    if not options:
        return 0.0 if sign > 0 else 1.0
    return min(max(sign * min(options), 0.0), 1.0)


def _unbounded_weight(sums: PowerSums, phi: float, reward: float, sign: float) -> tuple[float, float, float]:
    n, r = sums.size, reward
    x = sign * (r + (sums.wr - sums.w * r) / n)
    y = (r * sums.w - sums.wr) ** 2 / (n * (1 + n))
    y -= (r * r * sums.ww - 2.0 * r * sums.wwr + sums.wwrr) / (1 + n)
    return x, y, phi + 1.0 / (2.0 * n)


def _bounded_weight(
    sums: PowerSums, phi: float, reward: float, sign: float, unseen: float
) -> tuple[float, float, float]:
    w, ww, wr, wwr, wwrr = (
        each / (1 + sums.size)
        for each in (
            unseen + sums.w,
            unseen**2 + sums.ww,
            sign * (unseen * reward + sums.wr),
            sign * (unseen**2 * reward + sums.wwr),
            (unseen * reward) ** 2 + sums.wwrr,
        )
    )
    spread, joint = ww - w**2, wwr - w * wr
    if spread <= 0.0:
        return 0.0, 0.0, 1.0
    x = wr + (1.0 - w) * joint / spread
    y = joint**2 / spread - (wwrr - wr**2)
    return x, y, phi + (1.0 - w) ** 2 / (2.0 * spread)
