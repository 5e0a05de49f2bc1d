"""Honest intervals: what the noise that was seen says of the mean rewards of arms."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.arrays import Floats
from infex.bandit.arms import Asked, read_from
from infex.bandit.pulls import pulls_of
from infex.checks import real, told
from infex.errors import NotKept
from infex.estimators import Logistic
from infex.linear import Offer
from infex.linear.scatter import Scattering
from infex.policies.confidence import DEFAULT, Confidence
from infex.policies.traits import Policy, traits_of
from infex.statistics.student import student_quantile

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

Ends = tuple[Floats, Floats, Floats]


def intervals_of(bandit: Bandit, level: float, asked: Asked) -> np.recarray[Any, Any]:
    """One record for each arm: label, estimate, low, high, pulls."""
    share = real("level", level, above=0, most=1.0 - 1e-12)
    offered = read_from(bandit._arms, asked.arms).offer(asked)
    statistics = bandit._player.memory.all
    if isinstance(bandit.estimator, Logistic):
        found = _by_odds(bandit, offered.columns, share)
    elif isinstance(statistics, Scattering):
        found = _by_noise(bandit, statistics, offered.columns, share)
    else:
        raise NotKept(f"{told(bandit.estimator)} tells nothing of the noise that was seen")
    estimates, low, high = _within_range(bandit, found)
    count = len(estimates)
    known = None if asked.arms is not None else pulls_of(bandit._arms, bandit._player.memory)
    columns: dict[str, Any] = {
        "label": np.array([None] * count if offered.labels is None else offered.labels, dtype=object),
        "estimate": estimates,
        "low": low,
        "high": high,
        "pulls": np.zeros(count, dtype=np.int64) if known is None else known,
    }
    return np.rec.fromarrays(list(columns.values()), names=list(columns))  # type: ignore[call-overload, no-any-return]


def _within_range(bandit: Bandit, ends: Ends) -> Ends:
    """Intervals that stay where rewards can be, if that is known."""
    estimates, *sides = ends
    least, most = bandit._rule.ends if bandit.rewards is not None else (-np.inf, np.inf)
    return estimates, *(np.clip(side, least, most) for side in sides)  # type: ignore[return-value]


def _by_noise(bandit: Bandit, statistics: Scattering, offer: Offer | None, level: float) -> Ends:
    """Student's quantile times the standard error, and what the penalty may draw the estimate by."""
    widest = 0.0 if bandit.rewards is None else bandit.rewards[1] - bandit.rewards[0]
    seen = statistics.scattered(offer, (widest / 2.0) ** 2)
    quantiles = {each: student_quantile(level, each) for each in set(seen.freedom.tolist())}
    times = np.array([quantiles[each] for each in seen.freedom.tolist()])
    drawn = seen.lean * np.maximum(seen.length, bound_of(bandit.policy))
    with np.errstate(invalid="ignore"):
        margins = np.where(seen.freedom > 0.0, times * seen.spread, np.inf) + drawn + seen.shift
    return seen.estimates, seen.estimates - margins, seen.estimates + margins


def _by_odds(bandit: Bandit, offer: Offer | None, level: float) -> Ends:
    """The normal quantile times the standard error of log-odds: within 0 and 1."""
    evidence = bandit._player.evidence(offer)
    chances, widths = evidence.estimates, evidence.widths
    times = -NormalDist().inv_cdf((1.0 - level) / 2.0)
    odds = np.log(chances) - np.log1p(-chances)
    margins = times * widths / (chances * (1.0 - chances))
    low, high = (1.0 / (1.0 + np.exp(-(odds + side * margins))) for side in (-1.0, 1.0))
    return chances, low, high


def bound_of(policy: Policy) -> float:
    """The greatest length of theta that a policy allows for; 1, as the defaults have it, if it says none."""
    bounds = [each.bound for each in traits_of(policy).chain if isinstance(each, Confidence)]
    return bounds[0] if bounds else DEFAULT.bound
