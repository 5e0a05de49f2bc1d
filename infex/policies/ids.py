"""Information-directed sampling."""

import itertools
import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of
from infex.models.posterior import Posterior
from infex.policies.choice import LawPolicy, first_best
from infex.policies.ucb import Confidence

ROUNDING = 1e-12


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinIDS(LawPolicy, Confidence):
    """Draws one of two arms, so that squared regret over information is least (Kirschner and Krause, 2018).

    The regret of x is bounded by max_y ucb(y) - lcb(x), with bounds x'theta -+ scale beta |x| in V^-1. Its
    `gain` is log(1 + |x|^2)/2 ("variance"), or by how much log |u|^2 falls if x is played, where u is the arm
    of the largest upper bound ("directed"); bounds and both gains are as in Kirschner's own code. Of all laws
    of arms, the one of the least E[regret]^2/E[gain] has at most two; it is found exactly, among the edges of
    the upper hull of (regret, gain).

    Probabilities are known exactly. `noise`, `bound`, `delta`, `scale` and `radius` are those of `LinUCB`,
    `ties` of no consequence.

    >>> from infex import Bandit
    >>> from infex.policies import LinIDS
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 0.5]], LinIDS(gain="directed"))
    >>> bandit.ask().propensity
    1.0
    """

    gain: Literal["variance", "directed"] = "variance"

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        one_of("gain", self.gain, ("variance", "directed"))

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """The law of the least ratio, (K,)."""
        beta = self.choosing_radius(posterior)
        uppers = posterior.upper(beta)
        regrets = np.maximum(uppers.max() - posterior.upper(-beta), 0.0)
        return least_ratio(regrets, self._gains(posterior, first_best(uppers)))

    def _gains(self, posterior: Posterior, best: int) -> Floats:
        squares = np.square(posterior.widths)
        if self.gain == "variance":
            return 0.5 * np.log1p(squares)
        if squares[best] == 0.0:
            return np.zeros(len(posterior))
        share = np.square(posterior.covariances(best)) / (squares[best] * (1.0 + squares))
        found: Floats = -np.log1p(-np.minimum(share, 1.0 - 1e-16))
        return found


def least_ratio(regrets: Floats, gains: Floats) -> Floats:
    """The law of arms with the least E[regret]^2/E[gain], (K,); without any gain, the arm of least regret.

    With i before j on the hull, the chance of j is r_i/(r_j - r_i) - 2 g_i/(g_j - g_i) if that lies between 0
    and 1; else the ratio is least at one end, and a chance that is clipped would be the wrong one.
    """
    if regrets.min() == 0.0 or gains.max() == 0.0:
        return np.where(np.arange(regrets.size) == first_best(-regrets), 1.0, 0.0)
    hull = _hull(regrets, gains)
    points = [(float(regrets[arm]), float(gains[arm])) for arm in hull]
    best, ratio = (hull[0], hull[0], 0.0), math.inf
    for arm, (regret, gain) in zip(hull, points, strict=True):
        if gain > 0.0 and regret**2 / gain < ratio:
            best, ratio = (arm, arm, 0.0), regret**2 / gain
    for (i, (regret, gain)), (j, (regret_j, gain_j)) in itertools.pairwise(zip(hull, points, strict=True)):
        more, further = regret_j - regret, gain_j - gain
        chance = regret / more - 2.0 * gain / further
        if 0.0 < chance < 1.0 and (regret + chance * more) ** 2 / (gain + chance * further) < ratio:
            best, ratio = (i, j, chance), (regret + chance * more) ** 2 / (gain + chance * further)
    law = np.zeros(regrets.size)
    law[_first_alike(best[0], regrets, gains)] = 1.0 - best[2]
    law[_first_alike(best[1], regrets, gains)] += best[2]
    return law


def _first_alike(arm: int, regrets: Floats, gains: Floats) -> int:
    """The lowest index of the arms with the regret and the gain of `arm`, but for rounding."""
    same = np.abs(regrets - regrets[arm]) <= ROUNDING * (1.0 + regrets[arm])
    return int(np.argmax(same & (np.abs(gains - gains[arm]) <= ROUNDING * (1.0 + gains[arm]))))


def _hull(regrets: Floats, gains: Floats) -> list[int]:
    """The arms on the upper hull of (regret, gain) where both rise, from the least regret on."""
    hull: list[int] = []
    for arm in np.lexsort(
        (-gains, regrets)
    ).tolist():  # by regret, of equals the largest gain, the lowest index
        if hull and gains[arm] <= gains[hull[-1]]:
            continue
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], arm, regrets, gains):
            hull.pop()
        hull.append(arm)
    return hull


def _is_below(i: int, j: int, k: int, regrets: Floats, gains: Floats) -> bool:
    """Is j on or below the line from i to k?"""
    left = (gains[j] - gains[i]) * (regrets[k] - regrets[i])
    return bool(left <= (gains[k] - gains[i]) * (regrets[j] - regrets[i]))
