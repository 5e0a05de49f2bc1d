"""Two targets on the same rounds: which is better, how sure that is, and what would settle it."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.checks import real
from infex.errors import OutOfReach
from infex.evaluation import intervals
from infex.evaluation.by_way import MODELLED, direct_values
from infex.evaluation.groundwork import Groundwork
from infex.evaluation.interval_choice import NO_BOUNDS, at_any_time, ground_of, groups_of
from infex.evaluation.intervals import Bounds
from infex.evaluation.target_value import TargetValue, spread_of

Outcome = Literal["better", "worse", "cannot tell"]


REFUTED = "model, which is off"


class Comparison(NamedTuple):
    """`first` less `second` on the same rounds: the difference with its interval, and the verdict.

    `low` and `high` are the ends of its interval, `way` and `ground` how it was found and what it rests
    on, and `explorations` how many it uses.
    Where it rests on the model alone, and explorations speak against that, the log cannot tell.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    verdict: Outcome
    way: str
    ground: str
    explorations: int

    def __str__(self) -> str:
        words = {"better": "is better than", "worse": "is worse than"}.get(
            self.verdict, "may or may not beat"
        )
        interval = f"[{self.low:+.4g}, {self.high:+.4g}]" if math.isfinite(self.low) else "no interval"
        rests = f"{self.way}, {self.ground}"
        return f"{self.first} {words} {self.second}: {self.difference:+.4g} {interval}, {rests}"


class NeededExplorations(NamedTuple):
    """How many more explorations, and rounds at the log's own pace, bring the half-width down to `half`.

    `now` is the half-width that there is.
    """

    explorations: int
    rounds: int
    half: float
    now: float


def compared(first: TargetValue, second: TargetValue, work: Groundwork) -> Comparison:
    """The paired difference: by the draws both share or, if one has the model alone, by the model."""
    if "bounded" in (first.way, second.way):
        difference, bounds = first.value - second.value, _apart(first.bounds, second.bounds)
        way, count = "bounded", min(first.draws.size, second.draws.size)
    elif first.is_weighted and second.is_weighted and np.array_equal(first.draws, second.draws):
        difference, bounds = _by_draws(first, second, work)
        way, count = "paired draws", first.draws.size
    else:
        row = first.rounds.mean_row - second.rounds.mean_row
        bounds = work.model.bounds(row)
        difference, way, count = float(row @ work.model.theta), "model", work.sums.count
        if not row.any():
            bounds = NO_BOUNDS
    verdict: Outcome = "better" if bounds.low > 0.0 else "worse" if bounds.high < 0.0 else "cannot tell"
    if way == "model" and (first.is_model_off or second.is_model_off):
        verdict, way = "cannot tell", REFUTED
    return Comparison(
        first.name, second.name, difference, bounds.low, bounds.high, verdict, way, bounds.ground, count
    )


def _apart(first: Bounds, second: Bounds) -> Bounds:
    """What lies between two intervals, if both hold."""
    return first._replace(low=first.low - second.high, high=first.high - second.low)


def _by_draws(first: TargetValue, second: TargetValue, work: Groundwork) -> tuple[float, Bounds]:
    if work.anytime:
        return first.value - second.value, _at_any_time(first, second, work)
    gains = _scores(first, second, work) - _scores(second, first, work)
    error, count = spread_of(gains, groups_of(work, first.draws))
    difference = first.value - second.value
    if count < 2 or not error > 0.0:
        return difference, NO_BOUNDS
    return difference, intervals.student(difference, error, count, work.confidence, ground_of(work))


def _scores(one: TargetValue, other: TargetValue, work: Groundwork) -> Floats:
    """What each draw says of a target; with the model's part where the other one is what the log has drawn.

    Rewards of a log that draws in every round vary with the arm it drew, which the model's part answers.
    """
    if other.way != "observed" or one.way not in MODELLED or work.design.kind != "every round":
        return one.gains
    return one.gains + direct_values(work, one.rounds, one.draws)


def _at_any_time(first: TargetValue, second: TargetValue, work: Groundwork) -> Bounds:
    """Both hold at once if each holds with half the doubt."""
    each = 0.5 * (1.0 + work.confidence)
    a, b = (_sequence(one, work, each) for one in (first, second))
    return Bounds(a.low - b.high, a.high - b.low, "confidence sequences", a.ground)


def _sequence(one: TargetValue, work: Groundwork, confidence: float) -> Bounds:
    return at_any_time(one.way, work, one.rounds, confidence)


def needed_for(found: Comparison, work: Groundwork, half: float | None) -> NeededExplorations:
    """Half-widths fall like one over the root of the number of explorations."""
    if found.way == REFUTED:
        raise OutOfReach(
            "explorations speak against the model, and more of them will not mend it: use other features"
        )
    now = 0.5 * (found.high - found.low)
    goal = abs(found.difference) if half is None else real("half", half, above=0)
    if not math.isfinite(now):
        raise OutOfReach(
            f"there is no interval of {found.first!r} less {found.second!r} that could be narrowed"
        )
    if not goal > 0.0:
        raise OutOfReach(
            f"{found.first!r} and {found.second!r} are equal in this log: say half=, as in half=0.01"
        )
    more = max(math.ceil(found.explorations * ((now / goal) ** 2 - 1.0)), 0)
    pace = 1 if found.way in ("model", REFUTED) else work.design.period
    return NeededExplorations(more, more * pace, goal, now)
