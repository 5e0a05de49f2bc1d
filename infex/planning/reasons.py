"""Why a candidate is recommended, and what is uncertain about it, in words."""

from __future__ import annotations

import math

from infex.planning.finish import FRESH_TO_SETTLE, Finish, Judged
from infex.planning.lanes import PROBLEMS_TO_SHOW
from infex.planning.words import said, times


def reasons(finish: Finish) -> str:
    """Why this candidate was chosen, how it did on fresh problems, and whether that settles it."""
    if not finish.recommended.explorations:
        words = _none_needed(finish)
    elif finish.chosen is not finish.best:
        words = _rarer(finish)
    elif finish.rival is None:
        words = _alone(finish)
    else:
        words = _nothing_near(finish, finish.rival)
    if finish.is_settled:
        return f"{words} Settled: {_shown(finish)}."
    return f"{words} Not settled: {_doubt(finish)} Give it more seconds."


def _within(finish: Finish) -> str:
    return f"{finish.keep_within:g} times"


def _none_needed(finish: Finish) -> str:
    """What the log has taught is enough."""
    judged, best = finish.recommended, finish.judged(finish.best)
    words = (
        "You need no exploration: what the log has taught is enough. On "
        f"{judged.problems:,} fresh problems greedy loses {said(judged.regret.value)}"
    )
    if finish.chosen is finish.best:
        return f"{words}, the least."
    return f"{words}: {times(judged.ratio)} times the {said(best.regret.value)} of {best.expression}."


def _rarer(finish: Finish) -> str:
    judged, best = finish.recommended, finish.judged(finish.best)
    return (
        f"It explores least of those within {_within(finish)} the least regret. On {judged.problems:,} fresh "
        f"problems, which did not choose it, it loses {said(judged.regret.value)}: {times(judged.ratio)} "
        f"times the {said(best.regret.value)} of {best.expression}."
    )


def _alone(finish: Finish) -> str:
    """The best is recommended, and none that explores less was judged as its rival."""
    judged, met = finish.recommended, finish.best.regret.size
    words = f"It loses {said(judged.regret.value)} on {judged.problems:,} fresh problems, the least."
    if met < PROBLEMS_TO_SHOW:
        return f"{words} {met} problems were tried, too few to tell whether exploring less is as good."
    tried = (lane.candidate.explorations for lane in finish.lanes if lane.rounds)
    return words if min(tried) < judged.explorations else f"{words} Nothing that explores less was tried."


def _nothing_near(finish: Finish, rival: Judged) -> str:
    judged = finish.recommended
    often = "in every round" if judged.explorations == finish.race.horizon else "as often as this"
    return (
        f"Explore {often}: nothing that explores less often came within {_within(finish)} of its regret, "
        f"{said(judged.regret.value)} on {judged.problems:,} fresh problems. The nearest, {rival.expression} "
        f"with {rival.explorations:,} explorations, loses {times(rival.ratio)} times as much there."
    )


def _shown(finish: Finish) -> str:
    if finish.chosen is finish.best:
        return "no other is better by more than that, and none that explores less is as near"
    words = f"the interval stays within {finish.keep_within:g}, and no other is better by more than that"
    if not finish.open:
        return words
    return f"{words}. Whether {finish.open} that explore less are as near could not be told"


def _doubt(finish: Finish) -> str:
    """What is missing for a settled choice."""
    if not finish.is_allowed:  # what is promised comes first
        return _dear(finish)
    if not finish.is_complete:
        return _cut_short(finish)
    if finish.is_choice_shown:
        return "another may still be better by more than that."
    if finish.recommended.problems < FRESH_TO_SETTLE:
        return f"{finish.recommended.problems} fresh problems are too few."
    if finish.chosen is not finish.best:
        return f"the interval goes beyond {finish.keep_within:g}."
    return (
        f"{finish.open} that explore less may be as near." if finish.open else "the nearest may be as near."
    )


def _dear(finish: Finish) -> str:
    limit, cost = finish.race.allowed.cost, finish.recommended.cost
    return f"exploring cost {said(cost)} there, more than max_cost = {limit:g}."


def _cut_short(finish: Finish) -> str:
    """What the race had no time for."""
    rounds, horizon = finish.chosen.rounds, finish.race.horizon
    waiting = sum(lane.rounds < horizon for lane in finish.alive)
    if rounds < horizon:
        words = f"no candidate was played to the end, figures are of the first {rounds:,} rounds."
        return words + " max_cost was held against these only." * (finish.race.allowed.cost < math.inf)
    if waiting:
        return f"{waiting} of {len(finish.alive)} candidates that may be as good were not played to the end."
    return f"{finish.best.regret.size} problems chose it, too few to see what goes wrong but rarely."
