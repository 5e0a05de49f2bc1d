"""Intervals of mean rewards by the noise that was seen: they hold in practice, not by theory."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from infex._stats import student_quantile
from infex.arrays import Floats, Integers
from infex.checks import real
from infex.models import Logistic
from infex.models.base import Estimator
from infex.models.layout import ArmRow, ContextOffer, DesignRow, Offer
from infex.models.noise import StandardErrors
from infex.models.posterior import Posterior
from infex.models.state import ModelState
from infex.policies.base import Policy, policy_info
from infex.policies.ucb import DEFAULT_CONFIDENCE, Confidence

Ends = tuple[Floats, Floats, Floats]
"""Estimates, and the ends of their intervals."""


class NoiseIntervals:
    """Intervals of a bandit's arms: rewards are in `reward_range`, theta is as long as the policy allows."""

    __slots__ = ("_bound", "_estimator", "_model", "_reward_range", "_variance")

    def __init__(
        self,
        model: ModelState,
        estimator: Estimator | None,
        policy: Policy,
        reward_range: tuple[float, float] | None,
        largest_variance: float,
    ) -> None:
        self._model, self._estimator, self._bound = model, estimator, _bound(policy)
        self._reward_range = (-np.inf, np.inf) if reward_range is None else reward_range
        self._variance = largest_variance

    def over(self, offer: Offer | None, posterior: Posterior, level: float) -> Ends:
        """Of the fixed arms, or of those on offer, of which the posterior is."""
        share = checked_level(level)
        if isinstance(self._estimator, Logistic):
            return self._clipped(*_by_odds(np.array(posterior.estimates), np.array(posterior.widths), share))
        model = self._model.all
        if isinstance(offer, ContextOffer):
            rows = np.tile(offer.context, (len(posterior), 1))
            rows = rows if offer.rows is None else np.hstack([rows, offer.rows])
            return self._by_noise(rows, np.arange(len(rows)), share)
        return self._by_noise((model.columns if offer is None else offer).T, None, share)

    def on(self, on: DesignRow, level: float) -> tuple[float, float]:
        """Of an arm by what its reward is learnt on."""
        share = checked_level(level)
        if isinstance(on, ArmRow) and isinstance(self._estimator, Logistic):
            offer: Offer = ContextOffer(on.context)
            _, low, high = self.over(offer, self._model.offer(offer), level)
            return float(low[on.arm]), float(high[on.arm])
        if isinstance(on, ArmRow):
            _, low, high = self._by_noise(on.context[None], np.array([on.arm]), share)
        else:
            offer = np.ascontiguousarray(self._model.row(on)[:, None])
            _, low, high = self.over(offer, self._model.offer(offer), level)
        return float(low[0]), float(high[0])

    def _by_noise(self, rows: Floats, arms: Integers | None, level: float) -> Ends:
        found = self._model.all.standard_errors(rows, arms, self._variance)
        return self._clipped(*_by_noise(found, self._bound, level))

    def _clipped(self, estimates: Floats, low: Floats, high: Floats) -> Ends:
        return estimates, np.clip(low, *self._reward_range), np.clip(high, *self._reward_range)


def checked_level(level: object) -> float:
    """The share of intervals that are to hold."""
    return real("level", level, above=0, most=1.0 - 1e-12)


def _by_noise(found: StandardErrors, bound: float, level: float) -> Ends:
    """Student's quantile times the standard error, and what the penalty may draw the estimate by."""
    freedom = found.degrees_of_freedom
    quantiles = {each: student_quantile(level, each) for each in set(freedom.tolist())}
    times = np.array([quantiles[each] for each in freedom.tolist()])
    drawn = found.bias * np.maximum(found.theta_norm, bound)
    with np.errstate(invalid="ignore"):
        margins = np.where(freedom > 0.0, times * found.standard_error, np.inf) + drawn + found.shift
    return found.estimates, found.estimates - margins, found.estimates + margins


def _by_odds(chances: Floats, widths: Floats, level: float) -> Ends:
    """The normal quantile times the standard error of log-odds: within 0 and 1."""
    times = -NormalDist().inv_cdf((1.0 - level) / 2.0)
    odds = np.log(chances) - np.log1p(-chances)
    margins = times * widths / (chances * (1.0 - chances))
    low, high = (1.0 / (1.0 + np.exp(-(odds + side * margins))) for side in (-1.0, 1.0))
    return chances, low, high


def _bound(policy: Policy) -> float:
    """The greatest length of theta that a policy allows for; 1, as the defaults have it, if it says none."""
    bounds = [each.bound for each in policy_info(policy).chain if isinstance(each, Confidence)]
    return bounds[0] if bounds else DEFAULT_CONFIDENCE.bound
