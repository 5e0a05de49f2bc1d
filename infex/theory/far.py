"""Taus past 10^300, by their logarithms: what f(t) = (log t)^r comes to for problems one meets."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from infex.schedules import Counted, Schedule
from infex.schedules.counted import Logarithmic
from infex.theory.greedy_rounds import TAU_1_SHARE
from infex.theory.setting import Setting
from infex.theory.turning import Span, span

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
