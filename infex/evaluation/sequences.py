"""Bounds on a mean that hold in all rounds at once, however the log has learnt."""

from __future__ import annotations

import math

import numpy as np

from infex.arrays import Floats
from infex.evaluation.intervals import Bounds

ROOT_WITHIN = 1e-14


def log_wealth(excess: Floats | float, spread: Floats | float) -> Floats:
    """The log of a mixture over bets, a martingale: `excess` is S - t mu, `spread` the summed squares.

    Howard et al. (2021), as in Mineiro (2022): a gamma law of bets with rho = 1.
    """
    from scipy.special import gammainc, loggamma

    def lower(a: Floats | float, x: Floats | float) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(gammainc(a, x)) + loggamma(a))

    v, both = spread + 1.0, excess + spread + 1.0
    found: Floats = np.asarray(excess + spread - v * np.log(both) + lower(v, both) - lower(1.0, 1.0))
    return found


def surprises(terms: Floats) -> Floats:
    """Summed squares of terms less what the terms before them let one expect, after every round."""
    before = np.r_[0.0, np.cumsum(terms)[:-1]] + 0.5
    squares: Floats = np.cumsum((terms - before / np.arange(1, terms.size + 1)) ** 2)
    return squares


def lower_bound(terms: Floats, doubt: float) -> float:
    """A lower bound on the mean of terms >= 0 with means <= 1 each, given the past (Mineiro, 2022)."""
    from scipy.optimize import brentq

    if not terms.size:
        return 0.0
    spread, total, n = float(surprises(terms)[-1]), float(terms.sum()), terms.size

    def gap(mean: float) -> float:
        return float(log_wealth(total - n * mean, spread)) + math.log(doubt)

    if gap(0.0) <= 0.0:
        return 0.0
    top = min(1.0, total / n)
    return top if gap(top) >= 0.0 else float(brentq(gap, 0.0, top, xtol=ROOT_WITHIN))


def confidence_sequence(weight: Floats, reward: Floats, confidence: float) -> Bounds:
    """The value of the target, with rewards in [0, 1], after any number of rounds at once.

    Where propensities are wrong, the lower bound may come out above the upper one.
    """
    doubt = 0.5 * (1.0 - confidence)
    low, high = lower_bound(weight * reward, doubt), 1.0 - lower_bound(weight * (1.0 - reward), doubt)
    return Bounds(low, high, "confidence sequence", "guaranteed")


def bernstein_bounds(terms: Floats, doubt: float) -> Floats:
    """Lower bounds after every round, in closed form and wider (Waudby-Smith et al., 2022).

    (sum l_i x_i - log 1/a - sum psi(l_i) (x_i - mean before)^2)/sum l_i, psi(l) = -log(1 - l) - l.
    """
    t = np.arange(1, terms.size + 1)
    mean = np.cumsum(terms) / t
    before = np.r_[0.0, mean[:-1]]
    guess = np.minimum((0.5 + np.cumsum(terms)) / (t + 1), 1.0)
    spread = np.r_[0.25, (0.25 + np.cumsum((terms - guess) ** 2)[:-1]) / t[1:]]
    log = math.log(1.0 / doubt)
    bet = np.minimum(np.sqrt(2.0 * log / (t * np.log1p(t) * spread)), 0.5)
    cost = (terms - before) ** 2 * (-np.log1p(-bet) - bet)
    found: Floats = np.maximum((np.cumsum(bet * terms) - log - np.cumsum(cost)) / np.cumsum(bet), 0.0)
    return found
