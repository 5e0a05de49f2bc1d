"""The regret bound of INFEX: Theorem 1 of the paper, every constant found from its definition."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real, safe_repr
from infex.errors import InvalidSetting
from infex.lab.theory import formulas
from infex.lab.theory.bounds import (
    BASES,
    DOUBLING_ROUNDS,
    LAST_ROUND,
    Setting,
    Span,
    a_horizon,
    base_regret,
    in_words,
    is_vacuous,
    settles,
    span,
)
from infex.lab.theory.formulas import Numbers
from infex.schedules import Counted, Schedule
from infex.schedules.base import BuiltinSchedule, checked
from infex.schedules.counted import Logarithmic


@lru_cache(maxsize=1)
def grid() -> list[int]:
    """Every round up to 4096, then points that are 1/256 apart, and 1/64 past 10^18."""
    points, t = list(range(1, 4097)), 4096.0
    while t < 1e300:
        t *= 1.0 + (1.0 / 256.0 if t < 1e18 else 1.0 / 64.0)
        points.append(min(int(t), LAST_ROUND))
    return points


@lru_cache(maxsize=1)
def grid_times() -> Floats:
    """The same points as floating numbers."""
    return np.array(grid(), float)


def counts_on_grid(schedule: Schedule) -> Floats:
    """f at every point; that of a built-in schedule, which never changes, is computed once."""
    return _kept(schedule) if isinstance(schedule, BuiltinSchedule) else _counted(schedule)


def _counted(schedule: Schedule) -> Floats:
    return np.array([schedule.count(t) for t in grid()], float)


_kept = lru_cache(maxsize=16)(_counted)


# The slopes, in units of Delta, of the lines that costs stay below from tau_0 + tau_1 and tau_0 + tau_12 on.
TAU_1_SHARE = 7 / 16
TAU_12_SHARE = 1 / 4


@final
class GreedyRounds:
    """What the greedy rounds after tau_0 may cost, held against a line."""

    def __init__(self, setting: Setting, schedule: Schedule, delta: float, start: int) -> None:
        points, counts = grid(), counts_on_grid(schedule)
        later = bisect_right(points, start)
        self.setting, self.schedule, self.delta, self.start = setting, schedule, delta, start
        self.points = [start, *points[later:]]
        self.counts = np.concatenate([[float(schedule.count(start))], counts[later:]])
        self.times = np.concatenate([[float(start)], grid_times()[later:]])
        self.passed = [t - start for t in self.points]
        self.since = np.array(self.passed, float)
        squares = self.squares(self.times)
        greedy = np.diff(self.since) - np.diff(self.counts)
        self.sums = np.concatenate([[0.0], np.cumsum(squares[1:] * greedy / self.counts[:-1])])

    def squares(self, times: Numbers) -> Any:
        """beta_t^2."""
        return self.setting.radius(self.setting.log_det_ratio(times), self.delta) ** 2

    def sum_to(self, t: int) -> float:
        """The sum of beta_s^2/f(s) over greedy rounds s from tau_0 + 1 to t, or a little more."""
        j = bisect_right(self.points, t) - 1
        greedy = (t - self.points[j]) - (self.schedule.count(t) - self.counts[j])
        return float(self.sums[j] + max(greedy, 0.0) * self.squares(float(t)) / self.counts[j])

    def tau_1(self) -> Span:
        """Rounds after tau_0 until all that greedy rounds may cost stays below (7/16) Delta (T - tau_0)."""
        gap = self.setting.gap

        def cost(times: Numbers, sums: Numbers) -> Any:
            return (4.0 * self.setting.log_det_ratio(times) * self.squares(times) + 8.0 * sums) / gap

        costs = cost(self.times, self.sums)
        return self._settled(costs, lambda t: float(cost(float(t), self.sum_to(t))), TAU_1_SHARE)

    def tau_12(self) -> Span:
        """Rounds after tau_0 until the sum alone stays below (1/4) Delta (T - tau_0)."""
        gap = self.setting.gap
        return self._settled(8.0 * self.sums / gap, lambda t: 8.0 * self.sum_to(t) / gap, TAU_12_SHARE)

    def _settled(self, costs: Floats, cost: Callable[[int], float], share: float) -> Span:
        slope = share * self.setting.gap
        lines = slope * self.since
        after = settles(self.passed, costs, lines, lambda n: cost(self.start + n), lambda n: slope * float(n))
        return span(max(after, 1))


LARGEST_LOG = 1e150  # a tau with a larger logarithm is called infinite


def exponent_of(schedule: Schedule) -> float | None:
    """r, if f(t) = (log t)^r, the one family whose taus past 10^300 are known."""
    target = schedule.target if isinstance(schedule, Counted) else None
    return target.r if isinstance(target, Logarithmic) else None


def far_start(schedule: Schedule, explorations: Span) -> float:
    """log tau_0 = n^(1/r); infinite if there is no tau_0, not a number if it is not known."""
    if explorations.rounds == math.inf or schedule.grows is False:
        return math.inf
    r = exponent_of(schedule)
    return math.nan if r is None else float(explorations.rounds ** (1.0 / r))


def far_tau(setting: Setting, schedule: Schedule, delta: float, start: float, share: float) -> Span:
    """The least T with (8/Delta) beta_T^2/f(T) <= share Delta: the definitions come to this past 10^300.

    Earlier rounds and alpha_T change log T by tens; it is in the thousands here. Where the inequality
    holds at tau_0 already, the sum is never above the line, and tau_1 has only 4 alpha beta^2/Delta to
    pay for.
    """
    r = exponent_of(schedule)
    if math.isnan(start):
        return span(math.inf, math.nan)
    if r is None or r <= 1.0 or start == math.inf:
        return span(math.inf)

    def is_above(log: float) -> bool:
        square = float(setting.radius(_volume(setting, log), delta)) ** 2
        return bool(8.0 * square > share * setting.gap**2 * log**r)

    if is_above(start):
        return _crossing(is_above, start)
    return _paid_off(setting, delta, start, share, r) if share >= TAU_1_SHARE else span(1)


def _volume(setting: Setting, log: float) -> float:
    """alpha_T by the simple bound, from log T."""
    return float(setting.dim * np.logaddexp(0.0, log - math.log(setting.dim * setting.penalty)))


def _paid_off(setting: Setting, delta: float, start: float, share: float, r: float) -> Span:
    """The rounds until 4 alpha beta^2/Delta is paid for by what the line gains on the sum."""
    log_det_ratio = _volume(setting, start)
    square = setting.radius(log_det_ratio, delta) ** 2
    slope = share * setting.gap - 8.0 * square / (setting.gap * start**r)
    return span(math.ceil(4.0 * log_det_ratio * square / (setting.gap * slope))) if slope > 0 else span(1)


def _crossing(is_above: Callable[[float], bool], start: float) -> Span:
    """Where the cost comes down to the line, by halving the logarithm."""
    low = high = start
    while is_above(high):
        low, high = high, 2.0 * high
        if high > LARGEST_LOG:
            return span(math.inf)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_above(middle) else (low, middle)
    return span(math.inf, high)


WORSE_SHARE = 0.75  # of a base's rounds: with no more worse arms than that, a quarter play the best


class InfexBound(NamedTuple):
    """The bound of Theorem 1 in its three terms; it says nothing where it is vacuous.

    `base` is R_Alg(f(T)), what the base may cost; `constant` is 2 S tau_0 + (7/16) Delta tau_1, what greedy
    rounds may cost before they are any good; `growing` is G(T), what they may cost after that.

    `policy` is what it is of, with so many `explorations` up to the `horizon`; `tau_base`, `tau_0`,
    `tau_1` and `tau_12` are the paper's, `log_det_ratio` and `radius` what it rests on, `trivial` is 2 S T,
    and `failure` the chance that it fails.
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
    log_det_ratio: float
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
        """Is it above 2 S T, which no policy's regret exceeds, or is the chance that it fails 1?"""
        return is_vacuous(self.regret, self.trivial, self.failure)

    def taus(self) -> dict[str, Span]:
        """tau_Alg, tau_0, tau_1 and tau_12, by their names here."""
        return {
            "tau_base": self.tau_base,
            "tau_0": self.tau_0,
            "tau_1": self.tau_1,
            "tau_12": self.tau_12,
        }

    def __str__(self) -> str:
        return in_words(self.policy, self.regret, self.trivial, self.horizon, self.failure)

    def __repr__(self) -> str:
        return f"<{self}>"


def infex(setting: Setting, schedule: Schedule, horizon: int, base: str = "LinUCB") -> InfexBound:
    """R(T) <= R_Alg(f(T)) + 2 S tau_0 + (7/16) Delta tau_1 + G(T), with probability 1 - `failure`.

    This is proved where the base keeps its own data (`data="own"`). alpha_T, in G(T), is bounded both
    by d log(1 + T/(d lambda)) and by this very regret; the smaller bound counts.

    `setting` is the problem, `schedule` says f, and `horizon` is T.

    >>> from infex import every
    >>> bound = infex(Setting(dim=10, gap=0.1), every(20), 10**6)
    >>> bound.vacuous, str(bound.tau_0)
    (True, '657,339,200')
    """
    horizon = a_horizon(horizon)
    delta = setting.delta_at(horizon)
    taus = constants(setting, checked(schedule), one_of("base", base, BASES), delta)
    explorations = schedule.count(horizon)
    first = base_regret(setting, base, explorations, delta)[0]
    fixed = taus.cost(setting)

    def growing(log_det_ratio: Numbers) -> Any:
        return formulas.greedy_regret(
            log_det_ratio, setting.radius(log_det_ratio, delta), horizon, setting.gap
        )

    log_det_ratio = setting.settled_volume(horizon, lambda alpha: first + fixed + growing(alpha))
    return InfexBound(
        f"Infex({base}, {safe_repr(schedule)}, data=own)",
        first,
        fixed,
        float(growing(log_det_ratio)),
        explorations,
        *taus,
        float(log_det_ratio),
        float(setting.radius(log_det_ratio, delta)),
        horizon,
        2.0 * setting.bound * horizon,
        setting.base_failure(base, delta) + delta,
    )


class Constants(NamedTuple):
    """The tau of Theorem 1; they depend on the horizon only if delta does."""

    tau_base: Span
    tau_0: Span
    tau_1: Span
    tau_12: Span

    def cost(self, setting: Setting) -> float:
        """2 S tau_0 + (7/16) Delta tau_1: the constant term of the bound."""
        return float(2.0 * setting.bound * self.tau_0.rounds + TAU_1_SHARE * setting.gap * self.tau_1.rounds)


def _far_constants(setting: Setting, schedule: Schedule, delta: float, first: Span) -> Constants:
    """The constants where tau_0 is past all rounds that can be counted, by its logarithm."""
    log = far_start(schedule, first)
    far = [far_tau(setting, schedule, delta, log, share) for share in (TAU_1_SHARE, TAU_12_SHARE)]
    return Constants(first, span(math.inf, log), *far)


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
            f"count and when of {safe_repr(schedule)} disagree: when({first.rounds}) is {start}, where count "
            f"is {schedule.count(int(start))}"
        )
    if start == math.inf:
        return _far_constants(setting, schedule, delta, first)
    greedy = GreedyRounds(setting, schedule, delta, int(start))
    later = [
        tau if tau.rounds < math.inf else far_tau(setting, schedule, delta, math.log(start), share)
        for tau, share in ((greedy.tau_1(), TAU_1_SHARE), (greedy.tau_12(), TAU_12_SHARE))
    ]
    return Constants(first, span(int(start)), *later)


@lru_cache(maxsize=256)
def base_tau(setting: Setting, base: str = "LinUCB", delta: float | None = None) -> Span:
    """tau_Alg: the least n such that R_Alg(n') <= (3/4) Delta n' for all n' >= n.

    From there on at least a quarter of the base's rounds play the best arm. Where neither the
    call nor the setting names a delta, it is 1/n'.

    >>> base_tau(Setting(dim=10, gap=0.075)).rounds
    66059041
    """
    fixed_delta = setting.delta if delta is None else real("delta", delta, above=0, most=1)

    def cost(rounds: Numbers) -> Any:
        chance = 1.0 / rounds if fixed_delta is None else fixed_delta
        log_det_ratio = setting.settled_volume(
            rounds, lambda alpha: setting.base_regret(base, rounds, alpha, chance)
        )
        return setting.base_regret(base, rounds, log_det_ratio, chance)

    def line(rounds: Numbers) -> Any:
        return WORSE_SHARE * setting.gap * rounds

    points = np.array(DOUBLING_ROUNDS, float)
    return span(settles(DOUBLING_ROUNDS, cost(points), line(points), lambda n: float(cost(float(n))), line))


def useful_from(setting: Setting, schedule: Schedule, base: str = "LinUCB") -> Span:
    """The horizon from which on the bound is not vacuous, to 1 %; infinite past 10^299."""

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
