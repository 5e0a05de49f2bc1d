"""A plan in words, and as a line of Python."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import cast

from infex.planning.question import Question
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.schedules import Schedule
from infex.statistics import Interval

REFERENCE_NAMES = {
    "recommended": "recommended",
    "best": "the best",
    "LinUCB": "plain LinUCB",
    "greedy": "greedy",
}


def said(value: float, sign: str = "") -> str:
    """A regret as people write it: whole, or with three digits where it is small.

    >>> said(12345.6), said(0.01234), said(-3.21, "+")
    ('12,346', '0.0123', '-3.21')
    """
    return f"{value:{sign},.0f}" if abs(value) >= 100 else f"{value:{sign}.3g}"


def times(ratio: Interval) -> str:
    """A ratio with its interval, where there is one.

    >>> times(Interval(1.148, 1.09, 1.21)), times(Interval(2.0, math.nan, math.nan))
    ('1.15 [1.09, 1.21]', '2.00')
    """
    if not math.isfinite(ratio.low):
        return f"{ratio.value:.2f}"
    return f"{ratio.value:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def code_of(policy: Policy) -> str:
    """The policy as a line of Python.

    >>> import infex
    >>> code_of(infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own"))
    'infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own")'
    """
    if isinstance(policy, Greedy):
        return "infex.Greedy()"
    base = policy.base if isinstance(policy, Infex) else policy
    assert isinstance(base, LinUCB | LinTS)  # the planner tries no other
    defaults = asdict(type(base)())
    settings = [f"{name}={value!r}" for name, value in asdict(base).items() if value != defaults[name]]
    inner = f"infex.{type(base).__name__}({', '.join(settings)})"
    if not isinstance(policy, Infex):
        return inner
    more = ', data="own"' if policy.data == "own" else ""
    return f"infex.Infex({inner}, infex.{policy.schedule!r}{more})"


def rounds_of(policy: Policy, horizon: int) -> str:
    """The rounds in which it explores, in words.

    >>> import infex
    >>> rounds_of(infex.Infex(infex.LinUCB(), infex.every(20)), 1000)
    'in rounds 20, 40, 60, 80, ..., 1,000'
    """
    if isinstance(policy, Greedy):
        return "never"
    if not isinstance(policy, Infex):
        return "in every round"
    schedule = cast(Schedule, policy.schedule)  # the planner puts none under control
    count = schedule.count(horizon)
    first = [f"{schedule.when(n):,}" for n in range(1, min(count, 4) + 1)]
    last = f", ..., {schedule.when(count):,}" if count > 4 else ""
    return f"in rounds {', '.join(first)}{last}"


def assumed(question: Question, longest: float) -> str:
    """What problems were simulated."""
    law = "any direction"
    if question.logged:
        law = f"a posterior of {question.logged:,} logged rewards, with which every run begins"
    drawn = f", as in {question.offers:,} rounds of the log" if question.offers else ""
    noise = f"noise {question.noise:g}" + (f" ({question.noise_by})" if question.noise_by else "")
    return (
        f"simulated: {question.arms_count:,} arms in {question.dim} dimensions{drawn}, mean rewards up to "
        f"{question.bound * longest:g} (bound {question.bound:g}), {noise}, theta of {law}"
    )


def divided(longest: float) -> str:
    """What to do with your arms before the line of code fits them."""
    return f"arms were divided by {longest:g}, so that none is longer than 1; divide yours too"
