"""The regret bound of INFEX: Theorem 1 of the paper, every constant found from its definition."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from infex.checks import one_of, real, safe_repr
from infex.errors import InvalidSetting
from infex.schedules import Schedule
from infex.schedules.base import checked
from infex.theory import formulas
from infex.theory.bounds import a_horizon, base_regret, in_words, is_vacuous
from infex.theory.far import far_start, far_tau
from infex.theory.formulas import Numbers
from infex.theory.greedy_rounds import TAU_1_SHARE, TAU_12_SHARE, GreedyRounds
from infex.theory.setting import BASES, Setting
from infex.theory.turning import DOUBLING_ROUNDS, Span, settles, span

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
