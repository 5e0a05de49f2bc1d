"""Honest intervals: what the noise that was seen says of the mean rewards of arms."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.bandit.arms import Asked, read_from
from infex.bandit.pulls import pulls_of
from infex.checks import real, told
from infex.errors import NotKept
from infex.estimators import Logistic
from infex.linear import InContext, Offer
from infex.linear.grounds import Grounds
from infex.linear.scatter import Scattered, Scattering, ScatteringApart
from infex.policies.confidence import DEFAULT, Confidence
from infex.policies.traits import Policy, traits_of
from infex.statistics.student import student_quantile

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

Ends = tuple[Floats, Floats, Floats]
"""Estimates, and the ends of their intervals."""


class Noticed(NamedTuple):
    """All that intervals of some arms are made of, at any level: by the noise `seen`, or by `odds`.

    `odds` are chances and their widths, by logistic regression; `bound` is the greatest length of theta
    that is allowed for, and rewards lie from `least` to `most`.
    """

    seen: Scattered | None
    odds: tuple[Floats, Floats] | None
    bound: float
    least: float
    most: float

    def ends(self, level: float) -> Ends:
        """The intervals at a level."""
        share = real("level", level, above=0, most=1.0 - 1e-12)
        if self.seen is not None:
            estimates, low, high = _by_noise(self.seen, self.bound, share)
        else:
            assert self.odds is not None
            estimates, low, high = _by_odds(*self.odds, share)
        return estimates, np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)

    def at(self, place: int) -> Noticed:
        """That of one of the arms."""
        one = slice(place, place + 1)
        seen = None if self.seen is None else Scattered(*(each[one].copy() for each in self.seen))
        odds = None if self.odds is None else (self.odds[0][one].copy(), self.odds[1][one].copy())
        return self._replace(seen=seen, odds=odds)


def intervals_of(bandit: Bandit, level: float, asked: Asked) -> np.recarray[Any, Any]:
    """One record for each arm: label, estimate, low, high, pulls."""
    real("level", level, above=0, most=1.0 - 1e-12)
    offered = read_from(bandit._arms, asked.arms).offer(asked)
    estimates, low, high = _over(bandit, offered.columns).ends(level)
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


def _over(bandit: Bandit, offer: Offer | None) -> Noticed:
    """Of the fixed arms, or of those on offer."""
    if isinstance(bandit.estimator, Logistic):
        evidence = bandit._player.evidence(offer)
        return _noticed(bandit, None, (np.array(evidence.estimates), np.array(evidence.widths)))
    return _noticed(bandit, _telling(bandit).scattered(offer, _largest_variance(bandit)), None)


def noticed_on(bandit: Bandit, grounds: Grounds) -> Noticed:
    """Of arms by what their rewards are learnt on."""
    if not grounds.apart:
        return _over(bandit, np.ascontiguousarray(grounds.features(bandit._player.memory.columns).T))
    rows = grounds.rows[grounds.row]
    if isinstance(bandit.estimator, Logistic):
        each = [_over(bandit, InContext(row)).at(arm) for arm, row in zip(grounds.place, rows, strict=True)]
        odds = np.concatenate([one.odds for one in each if one.odds is not None], axis=1)
        return each[0]._replace(odds=(odds[0], odds[1]))
    statistics = _telling(bandit)
    assert isinstance(statistics, ScatteringApart), statistics
    return _noticed(bandit, statistics.scattered_in(grounds.place, rows, _largest_variance(bandit)), None)


def _telling(bandit: Bandit) -> Scattering:
    statistics = bandit._player.memory.all
    if not isinstance(statistics, Scattering):
        raise NotKept(f"{told(bandit.estimator)} tells nothing of the noise that was seen")
    return statistics


def _noticed(bandit: Bandit, seen: Scattered | None, odds: tuple[Floats, Floats] | None) -> Noticed:
    least, most = bandit._rule.ends if bandit.rewards is not None else (-np.inf, np.inf)
    return Noticed(seen, odds, bound_of(bandit.policy), least, most)


def _largest_variance(bandit: Bandit) -> float:
    """That of rewards in their range; 0 if it is not known."""
    return 0.0 if bandit.rewards is None else ((bandit.rewards[1] - bandit.rewards[0]) / 2.0) ** 2


def _by_noise(seen: Scattered, bound: float, level: float) -> Ends:
    """Student's quantile times the standard error, and what the penalty may draw the estimate by."""
    quantiles = {each: student_quantile(level, each) for each in set(seen.freedom.tolist())}
    times = np.array([quantiles[each] for each in seen.freedom.tolist()])
    drawn = seen.lean * np.maximum(seen.length, bound)
    with np.errstate(invalid="ignore"):
        margins = np.where(seen.freedom > 0.0, times * seen.spread, np.inf) + drawn + seen.shift
    return seen.estimates, seen.estimates - margins, seen.estimates + margins


def _by_odds(chances: Floats, widths: Floats, level: float) -> Ends:
    """The normal quantile times the standard error of log-odds: within 0 and 1."""
    times = -NormalDist().inv_cdf((1.0 - level) / 2.0)
    odds = np.log(chances) - np.log1p(-chances)
    margins = times * widths / (chances * (1.0 - chances))
    low, high = (1.0 / (1.0 + np.exp(-(odds + side * margins))) for side in (-1.0, 1.0))
    return chances, low, high


def bound_of(policy: Policy) -> float:
    """The greatest length of theta that a policy allows for; 1, as the defaults have it, if it says none."""
    bounds = [each.bound for each in traits_of(policy).chain if isinstance(each, Confidence)]
    return bounds[0] if bounds else DEFAULT.bound
