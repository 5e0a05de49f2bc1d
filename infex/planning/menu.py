"""What a race offers: the least regret, the least exploration within some factors of it, and the knee.

Every choice here is made on the problems of the race. What is chosen is judged on others (`judging.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from infex.planning.lanes import PROBLEMS_TO_SHOW, Lane, is_near

MENU_FACTORS = (1.1, 1.25, 1.5)  # of the least regret, within which the least exploration is named
BENEFIT_OF_DOUBT = 1.0  # standard errors
LEAST_REGRET, KNEE = "least regret", "the knee"


def menu(
    alive: Sequence[Lane], levels: Sequence[Lane], keep_within: float, refused: Sequence[Lane] = ()
) -> dict[str, Lane]:
    """The lane of each entry, by its name; a knee only where there is one.

    `alive` are the lanes that were not given up; all of them played as many rounds of as many problems.
    `levels` has a lane for each number of explorations, perhaps one that was given up, to find the knee.
    `refused` are those found to be farther from the best than `keep_within`, which has an entry too.
    """
    best = least(alive)
    near = [lane for lane in alive if lane is best or lane not in refused]
    entries = {LEAST_REGRET: best}
    for factor in sorted({*MENU_FACTORS, keep_within}):
        entries[within_name(factor)] = rarest(alive if factor > keep_within else near, best, factor)
    bend = knee(levels, best)
    return entries if bend is None else entries | {KNEE: bend}


def within_name(factor: float) -> str:
    """The name of an entry.

    >>> within_name(1.1), within_name(1.025), within_name(3)
    ('within 10 %', 'within 2.5 %', 'within 200 %')
    """
    return f"within {100 * (factor - 1):.4g} %"


def least(lanes: Sequence[Lane]) -> Lane:
    """The lane of the least regret, by careful means."""
    return min(lanes, key=lambda lane: lane.careful())


def rarest(lanes: Sequence[Lane], best: Lane, factor: float) -> Lane:
    """The lane that explores least of those whose regret may be within a factor of the best one's.

    It has the benefit of a standard error, for fresh problems refuse what does not deserve it. With few
    problems nothing is known to be near the best but itself.
    """
    near = [
        lane
        for lane in lanes
        if lane.regret.size >= PROBLEMS_TO_SHOW and is_near(lane, best, factor, BENEFIT_OF_DOUBT)
    ]
    return min([best, *near], key=lambda lane: (lane.candidate.explorations, lane.careful()))


def nearest(lanes: Sequence[Lane], best: Lane) -> Lane | None:
    """The lane of the least regret among those that explore less often than the best, if there is one."""
    rare = [
        lane
        for lane in lanes
        if lane.rounds == best.rounds
        and lane.regret.size >= PROBLEMS_TO_SHOW
        and lane.candidate.explorations < best.candidate.explorations
    ]
    return min(rare, key=lambda lane: relative(lane, best), default=None)


def relative(lane: Lane, best: Lane) -> float:
    """How many times as much a lane loses as the best one, by careful means on the problems that both met."""
    n = min(lane.regret.size, best.regret.size)
    there = float(best.regret[:n].mean()) + best.careful() - best.mean
    return lane.careful() / there if there > 0.0 else math.inf if lane.careful() > 0.0 else 1.0


def knee(lanes: Sequence[Lane], best: Lane) -> Lane | None:
    """Where the front bends most: there is more regret to the left, and hardly less to the right.

    It lies farthest below the straight line from the rarest lane of the front to the best, where both
    scales are logarithmic (Satopää et al., 2011). None, if no lane lies below it.
    """
    points = [(*_place(lane, best), lane) for lane in front(lanes, best)]
    if len(points) < 3 or points[0][1] == math.inf:
        return None
    (left, high, _), (right, low, _) = points[0], points[-1]
    slope = (low - high) / (right - left)
    below, bend = max(
        ((high + slope * (x - left) - y, lane) for x, y, lane in points), key=lambda pair: pair[0]
    )
    return bend if below > 0.0 else None


def _place(lane: Lane, best: Lane) -> tuple[float, float]:
    return math.log(max(lane.candidate.explorations, 0.5)), math.log(relative(lane, best))


def front(lanes: Sequence[Lane], best: Lane) -> list[Lane]:
    """The lanes that none beats both in explorations and in regret, rarest first; the best is the last.

    A lane that was given up met fewer problems; it does not count if it seems as good as the best.
    """
    tried = [lane for lane in lanes if lane.regret.size >= PROBLEMS_TO_SHOW and relative(lane, best) > 1.0]
    rare = [lane for lane in tried if lane.candidate.explorations < best.candidate.explorations]
    found: list[Lane] = []
    for lane in sorted(rare, key=lambda lane: (lane.candidate.explorations, relative(lane, best))):
        if not found or relative(lane, best) < relative(found[-1], best):
            found.append(lane)
    return [*found, best]
