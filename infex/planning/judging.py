"""What was chosen, judged on fresh problems.

The best of hundreds looks better than it is on the problems that it was chosen on. So the race chooses, and
then the whole menu plays the same problems, which none of its lanes has met; every figure that a plan shows
is of these. Of the lanes on the menu, the one that loses least there is the one called so (`renamed`).
How many there are follows from the time that is left, never from what they show: an interval that is looked
at until it pleases is too narrow.

If the recommended lane does not keep its promise there, it is refused, another is chosen, and that one has
a sitting of its own, again on fresh problems: none was chosen by the problems that it is judged on. A
lane that is beyond hope after a part of them is refused there and then, which favours none that stays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple, final

from infex.planning.lanes import Lane, is_near
from infex.planning.menu import LEAST_REGRET, menu, nearest, within_name
from infex.planning.pools import Pool
from infex.planning.race import Race

SITTINGS = 6  # at most; in the last one the best lane is recommended
SITTING_SHARE = 0.85  # of the time that is left
MOST_JUDGED = 8192  # problems
TIMES_LOOKED = (
    (1 / 16, 2.0),
    (1 / 4, 1.0),
)  # parts of the problems; a lane so many standard errors beyond is refused
JUDGED_AT_ONCE = 128  # problems that all lanes play before the clock is looked at
LEVEL_PROBLEMS = 256  # of lanes that are drawn beside the menu


@final
class Judge:
    """Plays lanes on problems of its own; `rounds` as the race went."""

    def __init__(self, race: Race, place: int, rounds: int) -> None:
        self.pool = Pool(race.pool.belief, race.pool.seed, place)
        self.rounds = rounds
        self.workers = race.workers
        self.lanes: dict[str, Lane] = {}

    def of(self, lane: Lane) -> Lane:
        """The runs of a lane's candidate on the fresh problems; none if it was not played."""
        return self.lanes.get(lane.candidate.expression, Lane(lane.candidate))

    def hear(self, lanes: Sequence[Lane], problems: int, deadline: float = math.inf) -> None:
        """Plays so many problems with all lanes; past the deadline no more than it has begun."""
        fresh = [self._fresh(lane) for lane in lanes]
        for count in range(min(JUDGED_AT_ONCE, problems), problems + JUDGED_AT_ONCE, JUDGED_AT_ONCE):
            for lane in fresh:
                self.pool.run(lane, min(count, problems), self.rounds, self.workers)
            if time.monotonic() >= deadline:
                return

    def affordable(self, lanes: Sequence[Lane], most: int, seconds: float) -> int:
        """How many problems all lanes can play in a time: at least one, and so many at most."""
        each = sum(lane.seconds for lane in map(self._fresh, lanes) if lane.regret.size < most) / self.workers
        return math.floor(min(max(seconds / each if each > 0.0 else math.inf, 1.0), most))

    def _fresh(self, lane: Lane) -> Lane:
        name = lane.candidate.expression
        return self.lanes.setdefault(name, Lane(lane.candidate, seconds=lane.seconds))


class Sitting(NamedTuple):
    """The lanes of the menu by their names, the recommended one, and the judge who heard them.

    `nearest` comes nearest to the best of those that explore less often, where the best is recommended.
    """

    judge: Judge
    entries: dict[str, Lane]
    chosen: Lane
    nearest: Lane | None

    @property
    def best(self) -> Lane:
        """The lane of the least regret: in the race and, once the sitting is `renamed`, on fresh problems."""
        return self.entries[LEAST_REGRET]

    def lanes(self) -> list[Lane]:
        """The lanes that play the fresh problems, all of them the same ones."""
        lanes = [*self.entries.values(), *([] if self.nearest is None else [self.nearest])]
        return list({id(lane): lane for lane in lanes}.values())

    def holds(self, keep_within: float, race: Race, doubts: float = 0.0) -> bool:
        """Is the recommended lane within the limits in the mean over the fresh problems?

        With `doubts` it may be beyond `keep_within` by so many standard errors.
        """
        chosen, best = self.judge.of(self.chosen), self.judge.of(self.best)
        return is_near(chosen, best, keep_within, doubts) and (doubts > 0.0 or race.is_allowed(chosen))


def sittings(
    race: Race, fit: Sequence[Lane], levels: Sequence[Lane], keep_within: float, deadline: float
) -> Sitting:
    """The first sitting in which the recommended lane keeps its promise, or the last one."""
    refused: list[Lane] = []
    for place in range(1, SITTINGS + 1):
        entries = menu(fit, levels, keep_within, refused)
        best = entries[LEAST_REGRET]
        if place == SITTINGS:
            entries[within_name(keep_within)] = best
        chosen = entries[within_name(keep_within)]
        rival = nearest([*fit, *levels], best) if chosen is best else None
        sitting = Sitting(Judge(race, place, best.rounds), entries, chosen, rival)
        if _sit(sitting, race, keep_within, SITTING_SHARE * (deadline - time.monotonic())):
            sitting = renamed(sitting, race, keep_within)
            if sitting.chosen is sitting.best or sitting.holds(keep_within, race):
                break
        refused.append(chosen)
    return _unless_near(sitting, race, keep_within)


def renamed(sitting: Sitting, race: Race, keep_within: float) -> Sitting:
    """The sitting with the name of least regret on the lane that has it on the fresh problems.

    That lane takes the other names, too, of all lanes that do not explore less often than it does.
    """
    fresh = sitting.judge.of
    best = min(sitting.lanes(), key=lambda lane: fresh(lane).mean)
    if best is sitting.best:
        return sitting
    most = best.candidate.explorations if race.is_allowed(fresh(best)) else math.inf
    entries = {
        name: best if lane.candidate.explorations >= most else lane for name, lane in sitting.entries.items()
    } | {LEAST_REGRET: best}
    chosen = entries[within_name(keep_within)]
    return sitting._replace(entries=entries, chosen=chosen, nearest=None)


def _unless_near(sitting: Sitting, race: Race, keep_within: float) -> Sitting:
    """Recommends the nearest in place of the best, if it is within the limits on the same fresh problems."""
    if sitting.nearest is None:
        return sitting
    other = sitting._replace(
        chosen=sitting.nearest,
        nearest=None,
        entries=sitting.entries | {within_name(keep_within): sitting.nearest},
    )
    return other if other.holds(keep_within, race) else sitting


def _sit(sitting: Sitting, race: Race, keep_within: float, seconds: float) -> bool:
    """Plays fresh problems with all lanes of a sitting, a few first.

    False if these few show that the recommended lane does not keep its promise; the best of the race stays.
    """
    judge, lanes = sitting.judge, sitting.lanes()
    begun = time.monotonic()
    problems = judge.affordable(lanes, MOST_JUDGED, seconds)
    for part, doubts in TIMES_LOOKED:
        few = math.ceil(part * problems)
        judge.hear(lanes, few)
        if sitting.chosen is not sitting.best and not sitting.holds(keep_within, race, doubts):
            return False
    left = begun + seconds - time.monotonic()
    judge.hear(lanes, few + judge.affordable(lanes, MOST_JUDGED - few, left), begun + seconds)
    return True
