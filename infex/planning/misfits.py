"""Logged rewards that noise and bound do not allow, and the words that say so."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from infex.arrays import ROUNDING
from infex.errors import LargeReward
from infex.logs.log_sums import LogSums

ERRORS_ALLOWED = 4.0
LENGTH_HALVINGS = 100


def misfit_words(sums: Sequence[LogSums], left: float, noise: float, bound: float, unit: float) -> str:
    """Why logged rewards do not fit noise and bound, or nothing; `left` is the summed square of residuals.

    There are sums for each regression, whose features are divided by `unit`, as `bound` is multiplied by it.
    """
    count = sum(each.count for each in sums)
    if not count:
        return ""
    noise = max(noise, ROUNDING * math.sqrt(sum(each.square for each in sums) / count))
    least = max(least_length(each, noise) for each in sums)
    longer = ""
    if least > bound * (1.0 + ROUNDING):
        longer = f"they need a bound of at least {rounded_up(least / unit):g}"
    surprise = left / noise**2 if left > 0.0 else 0.0
    if surprise > count + 6.0 * math.sqrt(2.0 * count):
        words = f"do not fit noise {noise:.3g} and bound {bound / unit:g}: they lie "
        words += f"{math.sqrt(surprise / count):.3g} times as far off as these allow"
        words += f" ({longer})" if longer else ""
    elif longer:
        words = f"lie beyond what bound {bound / unit:g} allows: {longer}"
    else:
        return ""
    return f"{count:,} logged rewards {words}"


def warn_of_misfit(sums: Sequence[LogSums], left: float, noise: float, bound: float, unit: float) -> None:
    """Warns of logged rewards that do not fit the noise and the bound of a plan, as `misfit_words` says."""
    words = misfit_words(sums, left, noise, bound, unit)
    if words:
        warnings.warn(
            f"{words}, so that the plan would be of problems unlike yours", LargeReward, stacklevel=6
        )


def rounded_up(length: float) -> float:
    """The next number of three digits, which is easy to type.

    >>> rounded_up(3.99643), rounded_up(1.0), rounded_up(12345.6)
    (4.0, 1.0, 12400.0)
    """
    digit = 10.0 ** (math.floor(math.log10(length)) - 2)
    return float(f"{math.ceil(length / digit * (1.0 - 1e-12)) * digit:.3g}")


def least_length(sums: LogSums, noise: float) -> float:
    """The length of the shortest parameter that logged rewards may come from, by their noise.

    Among all theta with |theta - estimate| in V at most noise (sqrt d + 4): where logs say little, a short
    one fits. It is a ridge estimate whose penalty makes it just so far off, which is found by halving.
    """
    values, turned = np.linalg.eigh(sums.gram)
    seen = values > 1e-12 * max(float(values[-1]), 1e-300)
    spread, moment = values[seen], (turned.T @ sums.moment)[seen]
    far = noise * (math.sqrt(len(values)) + ERRORS_ALLOWED)
    if float((moment**2 / spread).sum()) <= far**2:
        return 0.0
    low, high = (math.log(float(end)) for end in (1e-15 * spread[0], 1e15 * spread[-1]))
    for _ in range(LENGTH_HALVINGS):
        middle = 0.5 * (low + high)
        penalty = math.exp(middle)
        off = float((moment**2 * (penalty / (spread + penalty)) ** 2 / spread).sum())
        low, high = (middle, high) if off <= far**2 else (low, middle)
    return float(np.linalg.norm(moment / (spread + math.exp(low))))
