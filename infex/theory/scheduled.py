"""The regret bound of INFEX: Theorem 1 of the paper, every constant found from its definition."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.errors import InvalidSetting
from infex.schedules import Counted, Schedule
from infex.schedules.counted import Logarithmic
from infex.schedules.protocol import Family, checked
from infex.theory import formulas
from infex.theory.bounds import a_horizon, base_regret, is_vacuous, told
from infex.theory.setting import BASES, Setting
from infex.theory.turning import DOUBLING, FARTHEST, Span, settles, span

SHARE = 0.75  # of a base's rounds may be bad before a quarter is known to be good


@lru_cache(maxsize=1)
def _grid() -> list[int]:
    """Every round up to 4096, then points that are 1/256 apart, and 1/64 past 10^18."""
    points, t = list(range(1, 4097)), 4096.0
    while t < 1e300:
        t *= 1.0 + (1.0 / 256.0 if t < 1e18 else 1.0 / 64.0)
        points.append(min(int(t), FARTHEST))
    return points


@lru_cache(maxsize=1)
def _times() -> Floats:
    """The same points as floating numbers."""
    return np.array(_grid(), float)


class InfexBound(NamedTuple):
    """The bound of Theorem 1 in its three terms; it says nothing while vacuous, above 2 S T or sure to fail.

    `base` is R_Alg(f(T)), what the base may cost; `constant` 2 S tau_0 + (7/16) Delta tau_1, greedy
    rounds before they are any good; `growing` G(T), greedy rounds after that.
    """

    policy: str
    base: float
    constant: float
    growing: float
    explorations: int
    tau_base: Span
    tau_0: Span
    tau_1: Span
    tau_12: Span
    volume: float
    radius: float
    horizon: int
    trivial: float
    failure: float

    @property
    def regret(self) -> float:
        """The three terms together."""
        return self.base + self.constant + self.growing

    @property
    def vacuous(self) -> bool:
        """Is it above 2 S T, which no policy's regret exceeds, or may it fail for sure?"""
        return is_vacuous(self.regret, self.trivial, self.failure)

    def __str__(self) -> str:
        return told(self.policy, self.regret, self.trivial, self.horizon, self.failure)

    def __repr__(self) -> str:
        return f"<{self}>"


def infex(setting: Setting, schedule: Schedule, horizon: int, base: str = "LinUCB") -> InfexBound:
    """R(T) <= R_Alg(f(T)) + 2 S tau_0 + (7/16) Delta tau_1 + G(T), with probability 1 - `failure`.

    This is proved where the base keeps its own data (`data="own"`). alpha_T, in G(T), is bounded by
    this very regret too, which is never worse than d log(1 + T/(d lambda)) alone.

    >>> from infex import every
    >>> found = infex(Setting(dim=10, gap=0.1), every(20), 10**6)
    >>> found.vacuous, str(found.tau_0)
    (True, '657,339,200')
    """
    horizon = a_horizon(horizon)
    delta = setting.delta_at(horizon)
    taus = constants(setting, checked(schedule), one_of("base", base, BASES), delta)
    explorations = schedule.count(horizon)
    first = base_regret(setting, base, explorations, delta)[0]
    fixed = 2.0 * setting.bound * taus.tau_0.rounds + 7.0 / 16.0 * setting.gap * taus.tau_1.rounds

    def growing(volume: Any) -> Any:
        return formulas.greedy_regret(volume, setting.radius(volume, delta), horizon, setting.gap)

    volume = setting.settled_volume(horizon, lambda each: first + fixed + growing(each))
    return InfexBound(
        f"Infex({base}, {schedule!r}, data=own)",
        first,
        float(fixed),
        float(growing(volume)),
        explorations,
        *taus,
        float(volume),
        float(setting.radius(volume, delta)),
        horizon,
        2.0 * setting.bound * horizon,
        setting.base_failure(base, delta) + delta,
    )


class Constants(NamedTuple):
    """The tau of Theorem 1, none of which depends on the horizon but by delta."""

    tau_base: Span
    tau_0: Span
    tau_1: Span
    tau_12: Span


def constants(setting: Setting, schedule: Schedule, base: str, delta: float) -> Constants:
    """tau_Alg, tau_0 = f^-1(tau_Alg), tau_1 and tau_12, by their definitions.

    tau_1 and tau_12 are the least such that, for all T >= tau_0 + tau and G the greedy rounds after tau_0,

        tau_1:   4 alpha_T beta_T^2/Delta + (8/Delta) sum_{t in G, t <= T} beta_t^2/f(t)
                 <= (7/16) Delta (T - tau_0)
        tau_12:  (8/Delta) sum_{t in G, t <= T} beta_t^2/f(t) <= (1/4) Delta (T - tau_0)

    (the paper has "for all T >= tau_1"), with alpha_t <= d log(1 + t/(d lambda)). The sum is exact up
    to round 4096; beyond, it is bounded from above to 0.4 % (1.6 % past 10^18).
    """
    first = base_tau(setting, base, delta)
    start = schedule.when(int(first.rounds)) if first.rounds < math.inf else math.inf
    if start < math.inf and abs(schedule.count(int(start)) - first.rounds) > 1e-9 * first.rounds:
        raise InvalidSetting(
            f"count and when of {schedule!r} disagree: when({first.rounds}) is {start}, where count is "
            f"{schedule.count(int(start))}"
        )
    if start == math.inf:
        far = _far_start(schedule, first)
        return Constants(
            first,
            span(math.inf, far),
            *(_far(setting, schedule, delta, far, each) for each in (7 / 16, 1 / 4)),
        )
    race = Race(setting, schedule, delta, int(start))
    return Constants(
        first,
        span(int(start)),
        *(
            found if found.rounds < math.inf else _far(setting, schedule, delta, math.log(start), share)
            for found, share in ((race.tau_1(), 7 / 16), (race.tau_12(), 1 / 4))
        ),
    )


@lru_cache(maxsize=256)
def base_tau(setting: Setting, base: str = "LinUCB", delta: float | None = None) -> Span:
    """tau_Alg: the least n such that R_Alg(n') <= (3/4) Delta n' for all n' >= n.

    From there on at least a quarter of the base's rounds play the best arm. Without delta, here or in the
    setting, it is 1/n'.

    >>> base_tau(Setting(dim=10, gap=0.075)).rounds
    66059041
    """
    given = setting.delta if delta is None else real("delta", delta, above=0, most=1)

    def cost(rounds: Any) -> Any:
        chance = 1.0 / rounds if given is None else given
        volume = setting.settled_volume(rounds, lambda each: setting.base_regret(base, rounds, each, chance))
        return setting.base_regret(base, rounds, volume, chance)

    def line(rounds: Any) -> Any:
        return SHARE * setting.gap * rounds

    points = np.array(DOUBLING, float)
    return span(settles(DOUBLING, cost(points), line(points), lambda n: cost(float(n)), line))


@final
class Race:
    """The greedy rounds after tau_0: what they may cost, against a line."""

    def __init__(self, setting: Setting, schedule: Schedule, delta: float, start: int) -> None:
        points, counts = _counts(schedule)
        later = bisect_right(points, start)
        self.setting, self.schedule, self.delta, self.start = setting, schedule, delta, start
        self.points = [start, *points[later:]]
        self.counts = np.concatenate([[float(schedule.count(start))], counts[later:]])
        self.times = np.concatenate([[float(start)], _times()[later:]])
        self.passed = [t - start for t in self.points]
        self.since = np.array(self.passed, float)
        squares = self.squares(self.times)
        greedy = np.diff(self.since) - np.diff(self.counts)
        self.sums = np.concatenate([[0.0], np.cumsum(squares[1:] * greedy / self.counts[:-1])])

    def squares(self, times: Any) -> Any:
        """beta_t^2."""
        return self.setting.radius(self.setting.volume(times), self.delta) ** 2

    def sum_to(self, t: int) -> float:
        """The sum of beta_s^2/f(s) over greedy rounds s from tau_0 + 1 to t, or a little more."""
        j = bisect_right(self.points, t) - 1
        greedy = (t - self.points[j]) - (self.schedule.count(t) - self.counts[j])
        return float(self.sums[j] + max(greedy, 0.0) * self.squares(float(t)) / self.counts[j])

    def tau_1(self) -> Span:
        """All that greedy rounds may cost, below (7/16) Delta (T - tau_0)."""
        gap = self.setting.gap

        def cost(times: Any, sums: Any) -> Any:
            return (4.0 * self.setting.volume(times) * self.squares(times) + 8.0 * sums) / gap

        return self._settled(cost(self.times, self.sums), lambda t: cost(float(t), self.sum_to(t)), 7 / 16)

    def tau_12(self) -> Span:
        """The sum alone, below (1/4) Delta (T - tau_0)."""
        gap = self.setting.gap
        return self._settled(8.0 * self.sums / gap, lambda t: 8.0 * self.sum_to(t) / gap, 1 / 4)

    def _settled(self, costs: Floats, cost: Any, share: float) -> Span:
        slope = share * self.setting.gap
        lines = slope * self.since
        found = settles(self.passed, costs, lines, lambda n: cost(self.start + n), lambda n: slope * float(n))
        return span(max(found, 1))


def _counts(schedule: Schedule) -> tuple[list[int], Floats]:
    """The grid, and f on it."""
    return _grid(), _kept(schedule) if isinstance(schedule, Family) else _counted(schedule)


def _counted(schedule: Schedule) -> Floats:
    return np.array([schedule.count(t) for t in _grid()], float)


_kept = lru_cache(maxsize=16)(_counted)


def _is_far(schedule: Schedule) -> float | None:
    """r, if f(t) = (log t)^r, the one family that goes past 10^300 for problems one meets."""
    target = schedule.target if isinstance(schedule, Counted) else None
    return target.r if isinstance(target, Logarithmic) else None


def _far_start(schedule: Schedule, first: Span) -> float:
    """log tau_0 = n^(1/r); not a number for other families, of which it is not known."""
    if first.rounds == math.inf or schedule.grows is False:
        return math.inf
    r = _is_far(schedule)
    return math.nan if r is None else float(first.rounds ** (1.0 / r))


def _far(setting: Setting, schedule: Schedule, delta: float, start: float, share: float) -> Span:
    """The least T with (8/Delta) beta_T^2/f(T) <= share Delta, to which the definitions come there.

    Earlier rounds and alpha_T move log T by some tens, of thousands. Where it holds at tau_0 already, the
    sum is never above the line, and what is left of tau_1 is to pay for 4 alpha beta^2/Delta.
    """
    r = _is_far(schedule)
    if math.isnan(start):
        return span(math.inf, math.nan)
    if r is None or r <= 1.0 or start == math.inf:
        return span(math.inf)

    def above(log: float) -> bool:
        volume = setting.dim * np.logaddexp(0.0, log - math.log(setting.dim * setting.penalty))
        return bool(8.0 * setting.radius(volume, delta) ** 2 > share * setting.gap**2 * log**r)

    if not above(start):
        if share < 7 / 16:
            return span(1)
        volume = setting.dim * np.logaddexp(0.0, start - math.log(setting.dim * setting.penalty))
        square = setting.radius(volume, delta) ** 2
        slope = share * setting.gap - 8.0 * square / (setting.gap * start**r)
        return span(math.ceil(4.0 * volume * square / (setting.gap * slope))) if slope > 0 else span(1)
    low = high = start
    while above(high):
        low, high = high, 2.0 * high
        if high > 1e150:
            return span(math.inf)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if above(middle) else (low, middle)
    return span(math.inf, high)


def useful_from(setting: Setting, schedule: Schedule, base: str = "LinUCB") -> Span:
    """About the horizon from which on the bound is not vacuous, to 1 %; infinite past 10^299."""

    def vacuous(log10: float) -> bool:
        return infex(setting, schedule, int(10.0**log10), base).vacuous

    if vacuous(299.0):
        return span(math.inf, math.inf if schedule.grows is False else math.nan)
    low, high = 0.0, 1.0
    while vacuous(high):
        low, high = high, min(2.0 * high, 299.0)
    while high - low > 0.004:
        middle = (low + high) / 2.0
        low, high = (middle, high) if vacuous(middle) else (low, middle)
    return span(int(10.0**high))
