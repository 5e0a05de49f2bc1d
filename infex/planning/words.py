"""A plan in words, and as a line of Python."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import cast

from infex.planning.question import Question
from infex.planning.race import PROBLEMS_TO_SETTLE, PROBLEMS_TO_SHOW, Lane, Race, rarer
from infex.policies import Infex, LinTS, LinUCB, Policy
from infex.schedules import Schedule

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


def code_of(policy: Policy) -> str:
    """The policy as a line of Python.

    >>> import infex
    >>> code_of(infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own"))
    'infex.Infex(infex.LinUCB(scale=0.2), infex.every(20), data="own")'
    """
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
    if not isinstance(policy, Infex):
        return "in every round"
    schedule = cast(Schedule, policy.schedule)  # the planner puts none under control
    count = schedule.count(horizon)
    first = [f"{schedule.when(n):,}" for n in range(1, min(count, 4) + 1)]
    last = f", ..., {schedule.when(count):,}" if count > 4 else ""
    return f"in rounds {', '.join(first)}{last}"


def assumed(question: Question, longest: float) -> str:
    """What problems were simulated."""
    law = f"a posterior of {question.logged:,} logged rewards" if question.logged else "any direction"
    return (
        f"simulated: {question.arms_count:,} arms in {question.dim} dimensions, mean rewards up to "
        f"{question.bound * longest:g} (bound {question.bound:g}), noise {question.noise:g}, theta of {law}"
    )


def divided(longest: float) -> str:
    """What to do with your arms before the line of code fits them."""
    return f"arms were divided by {longest:g}, so that none is longer than 1; divide yours too"


def reasons(race: Race, alive: list[Lane], best: Lane, chosen: Lane, settled: bool) -> str:
    """Why this candidate was chosen, and what is uncertain about it."""
    within = f"{1 + race.slack:g} times"
    tested = (
        "is shown to be within"
        if best.regret.size >= PROBLEMS_TO_SHOW
        else "was tried enough to be shown within"
    )
    if chosen is not best:
        words = (
            f"It explores least of those shown to be within {within} the regret of the best: "
            f"{said(chosen.mean)} in the mean, against {said(best.mean)} of {best.candidate.expression}."
        )
    elif any(lane.mean < best.mean for lane in alive if lane.rounds == best.rounds):
        words = (
            f"Its mean regret is {said(chosen.mean)}. Some have less on these few problems, but candidates "
            f"much like them fail; of those that explore less none {tested} {within} of it."
        )
    else:
        words = (
            f"It has the lowest mean regret, {said(chosen.mean)}, and of those that explore less "
            f"none {tested} {within} of it."
        )
    if not settled:
        return f"{words} {_doubt(race, alive, chosen)}"
    words = f"{words} Settled: no other is better by more than {within}."
    count = rarer(chosen, alive)
    if not count:
        return words
    return f"{words} Whether {count} that explore less are as near could not be told."


def _doubt(race: Race, alive: list[Lane], chosen: Lane) -> str:
    """What is missing for a settled choice."""
    words = ["Not settled: another may still be better by more than that."]
    waiting = sum(lane.rounds < race.horizon for lane in alive)
    if chosen.rounds < race.horizon and race.allowed.cost < math.inf:
        words.append(f"max_cost was held against the first {chosen.rounds:,} rounds only.")
    if chosen.rounds < race.horizon:
        words.append(
            f"No candidate was played to the end: figures are of the first {chosen.rounds:,} rounds."
        )
    elif waiting:
        words.append(f"{waiting} of {len(alive)} candidates that may be as good were not played to the end.")
    elif chosen.regret.size < PROBLEMS_TO_SETTLE:
        words.append(f"It met {chosen.regret.size} problems, too few to see what goes wrong but rarely.")
    return " ".join([*words, "Give it more seconds."])
