"""Empirical likelihood of weights whose mean is 1 (Karampatziakis, Langford and Mineiro, 2020).

Rounds are weighed anew so that the mean weight is 1, as near to equal as the Cressie-Read(-2) measure allows;
one round that was not seen, with the least or the greatest weight there can be, joins them. All is in
closed form from five sums. Rewards lie in [0, 1].
"""

from __future__ import annotations

import math
from typing import NamedTuple

from infex.arrays import Floats
from infex.evaluation.estimators import dot
from infex.evaluation.intervals import Bounds


class PowerSums(NamedTuple):
    """n, the sums of w, w^2, w r, w^2 r and w^2 r^2, and the least and greatest weight that there can be."""

    size: int
    w: float
    ww: float
    wr: float
    wwr: float
    wwrr: float
    least: float
    most: float


class _Moments(NamedTuple):
    """Means of w, w^2, w r, w^2 r and w^2 r^2 with the unseen round among them."""

    w: float
    ww: float
    wr: float
    wwr: float
    wwrr: float


def sums_of(
    weight: Floats, reward: Floats, most: float = math.inf, rewards: tuple[float, float] = (0.0, 1.0)
) -> PowerSums:
    """The five sums; `most` is the greatest weight that propensities allow, `rewards` what becomes [0, 1]."""
    weighted = weight * ((reward - rewards[0]) / (rewards[1] - rewards[0]))
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


def cressie_read(sums: PowerSums, mean_reward: float) -> float:
    """The value under the likeliest weighing; what mass is left has the mean reward."""
    n = sums.size
    fake = _unseen(sums)
    if math.isinf(fake):
        gamma, beta = -(1.0 + n) / n, 0.0
    else:
        a, b = (fake + sums.w) / (1 + n), (fake**2 + sums.ww) / (1 + n)
        gamma, beta = (b - a) / (a * a - b), (1.0 - a) / (a * a - b)
    value = (-gamma * sums.wr - beta * sums.wwr) / (1 + n)
    missing = max(0.0, 1.0 - (-gamma * sums.w - beta * sums.ww) / (1 + n))
    return value + missing * mean_reward


def cressie_read_interval(sums: PowerSums, confidence: float) -> Bounds:
    """All values that a weighing allows which is as likely as the law F(1, n) asks for.

    Where propensities are wrong there may be none: the interval is then all of [0, 1].
    """
    from scipy.special import fdtri

    n = sums.size
    fake = _unseen(sums)
    if math.isinf(fake):
        best = 1.0 + 1.0 / n
    else:
        a, b = (fake + sums.w) / (1 + n), (fake**2 + sums.ww) / (1 + n)
        best = (1 + n) * (a - 1.0) ** 2 / (b - a * a) if b > a * a else 0.0
    phi = (-best - float(fdtri(1, n, confidence))) / (2.0 * (1 + n))
    low, high = _end(sums, phi, 0.0, 1.0), _end(sums, phi, 1.0, -1.0)
    if not low <= high:
        low, high = 0.0, 1.0
    return Bounds(low, high, "Cressie-Read", "asymptotic")


def _unseen(sums: PowerSums) -> float:
    """The weight of the unseen round: the greatest where weights are too small on average, else the least."""
    return sums.most if sums.w < sums.size else sums.least


def _end(sums: PowerSums, phi: float, reward: float, sign: float) -> float:
    """The least (sign 1) or greatest (sign -1) value; the unseen round has this reward."""
    options = []
    for fake in (sums.least, sums.most):
        x, y, z = (_endless if math.isinf(fake) else _ended)(sums, phi, reward, sign, fake)
        if z <= 0.0 and y * z >= 0.0:
            options.append(x - math.sqrt(2.0 * y * z))
    if not options:
        return 0.0 if sign > 0 else 1.0
    return min(max(sign * min(options), 0.0), 1.0)


def _endless(
    sums: PowerSums, phi: float, reward: float, sign: float, fake: float
) -> tuple[float, float, float]:
    """An unseen round of unbounded weight."""
    n, r = sums.size, reward
    x = sign * (r + (sums.wr - sums.w * r) / n)
    y = (r * sums.w - sums.wr) ** 2 / (n * (1 + n))
    y -= (r * r * sums.ww - 2.0 * r * sums.wwr + sums.wwrr) / (1 + n)
    return x, y, phi + 1.0 / (2.0 * n)


def _ended(
    sums: PowerSums, phi: float, reward: float, sign: float, fake: float
) -> tuple[float, float, float]:
    m = _Moments(
        fake + sums.w,
        fake**2 + sums.ww,
        sign * (fake * reward + sums.wr),
        sign * (fake**2 * reward + sums.wwr),
        (fake * reward) ** 2 + sums.wwrr,
    )
    m = _Moments(*(each / (1 + sums.size) for each in m))
    spread, joint = m.ww - m.w**2, m.wwr - m.w * m.wr
    if spread <= 0.0:
        return 0.0, 0.0, 1.0
    x = m.wr + (1.0 - m.w) * joint / spread
    y = joint**2 / spread - (m.wwrr - m.wr**2)
    return x, y, phi + (1.0 - m.w) ** 2 / (2.0 * spread)


def most_likely(weight: Floats, reward: Floats, most: float = math.inf) -> float:
    """The value under the likeliest weighing by empirical likelihood itself, a root in one number.

    Round i has the mass 1/(n (1 + b (w_i - 1))), with b such that the mean weight is 1; b stays where no
    weight from 0 to `most` would have a negative mass. What mass is left has the mean reward.
    """
    from scipy.optimize import brentq

    top = max(most, float(weight.max()))
    low, high = (0.0 if math.isinf(top) else -1.0 / max(top - 1.0, 1e-300)), 1.0

    def slope(b: float) -> float:
        return float(((weight - 1.0) / (1.0 + b * (weight - 1.0))).sum())

    inner = low + 1e-12 * (high - low), high - 1e-12 * (high - low)
    if slope(inner[0]) <= 0.0:
        found = low if low == 0.0 else inner[0]
    else:
        found = inner[1] if slope(inner[1]) >= 0.0 else float(brentq(slope, *inner, xtol=1e-15))
    mass = 1.0 / (weight.size * (1.0 + found * (weight - 1.0)))
    left = max(0.0, 1.0 - float(mass @ weight))
    return float(mass @ (weight * reward)) + left * float(reward.mean())
