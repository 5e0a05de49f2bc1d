"""How a race and its judgement ended, in figures of fresh problems."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, final

import numpy as np

from infex.planning.costs import ratio
from infex.planning.judging import Sitting
from infex.planning.lanes import PROBLEMS_TO_SETTLE, Lane, is_beyond, is_within
from infex.planning.menu import MENU_FACTORS, within_name
from infex.planning.race import Race
from infex.statistics import Interval, mean_intervals

FRESH_TO_SETTLE = 256  # problems; after several sittings few are left to one that was lucky
Holds = Literal["yes", "no", "open", ""]


class Judged(NamedTuple):
    """A candidate on fresh problems, which did not choose it.

    `regret` is the mean over the problems, `ratio` how many times as much it is as that of the best on the
    same problems, each with an interval of 95 % (NaN with few problems); `cost` is the part of the regret in
    exploring rounds.
    """

    expression: str
    explorations: int
    problems: int
    regret: Interval
    ratio: Interval
    cost: float


class MenuEntry(NamedTuple):
    """One line of the menu; `factor` is how near the least regret it was chosen to be, if it was."""

    name: str
    factor: float | None
    judged: Judged

    @property
    def holds(self) -> Holds:
        """Do the fresh problems show that it is as near as that? "open" where they do not tell."""
        if self.factor is None:
            return ""
        ratio = self.judged.ratio
        if ratio.value == ratio.low == ratio.high == 1.0 or ratio.high <= self.factor:
            return "yes"
        return "no" if ratio.low > self.factor else "open"


@final
@dataclass(frozen=True)
class Finish:
    """All lanes of a race, those not given up, one of each number of explorations, and how they were judged.

    `fit` are those not given up that went farthest and are within the limits: the ones to choose from.
    """

    race: Race
    keep_within: float
    lanes: list[Lane]
    alive: list[Lane]
    fit: list[Lane]
    levels: list[Lane]
    sitting: Sitting
    linucb: Lane
    greedy: Lane
    known: dict[str, Judged] = field(default_factory=dict, init=False, repr=False)

    @property
    def best(self) -> Lane:
        """The lane of the menu that has the least regret on fresh problems."""
        return self.sitting.best

    @property
    def chosen(self) -> Lane:
        """The recommended lane."""
        return self.sitting.chosen

    @cached_property
    def is_complete(self) -> bool:
        """Did all that were not given up play all rounds of enough problems?"""
        return self.best.regret.size >= PROBLEMS_TO_SETTLE and all(
            lane.rounds == self.race.horizon for lane in self.alive
        )

    @cached_property
    def open(self) -> int:
        """How many that explore less than the recommended one may be as near, as far as the race tells."""
        most = self.chosen.candidate.explorations
        rarer = [lane for lane in self.alive if lane.candidate.explorations < most]
        return sum(not is_beyond(lane, self.best, self.slack) for lane in rarer)

    @cached_property
    def recommended(self) -> Judged:
        """The figures of the recommended lane."""
        return self.judged(self.chosen)

    @cached_property
    def rival(self) -> Judged | None:
        """The figures of the lane nearest to the recommended one, where that is the best."""
        return None if self.sitting.nearest is None else self.judged(self.sitting.nearest)

    @cached_property
    def is_settled(self) -> bool:
        """Is the choice shown to be right, by the race and by the fresh problems?

        The race must show that none is better than the best by more than `keep_within`. Fresh problems must
        show that the recommended lane is within it; or that the nearest is beyond it, where the best is
        recommended because none that explores less is near.
        """
        return self.is_complete and self.is_allowed and self.is_best_shown and self.is_choice_shown

    @property
    def slack(self) -> float:
        """The part by which the regret may exceed that of the best."""
        return self.keep_within - 1.0

    @property
    def is_allowed(self) -> bool:
        """Does exploring cost no more than is allowed, on fresh problems?"""
        return self.race.is_allowed(self.sitting.judge.of(self.chosen))

    @cached_property
    def is_best_shown(self) -> bool:
        """Does the race show that no other is better than the best by more than `keep_within`?"""
        others = [lane for lane in self.fit if lane is not self.best]
        return all(is_within(self.best, lane, self.slack) for lane in others)

    @cached_property
    def is_choice_shown(self) -> bool:
        """Do fresh problems show that the recommended lane is within `keep_within`, or the nearest beyond?"""
        if self.recommended.problems < FRESH_TO_SETTLE:
            return False
        if self.chosen is not self.best:
            return self.recommended.ratio.high <= self.keep_within
        return not self.open and (self.rival is None or self.rival.ratio.low > self.keep_within)

    def judged(self, lane: Lane) -> Judged:
        """A lane's figures on fresh problems."""
        if (name := lane.candidate.expression) not in self.known:
            self.known[name] = self._judge(lane)
        return self.known[name]

    def _judge(self, lane: Lane) -> Judged:
        fresh, best = self.sitting.judge.of(lane), self.sitting.judge.of(self.best)
        (regret,) = mean_intervals([fresh.regret])
        low = float(np.maximum(regret.low, 0.0))  # unlike Python's max, it gives nan for nan
        return Judged(
            lane.candidate.expression,
            lane.candidate.explorations,
            int(fresh.regret.size),
            regret._replace(low=low),
            ratio(fresh.regret, best.regret),
            float(fresh.cost.mean()) if fresh.cost.size else math.nan,
        )

    def menu(self) -> tuple[MenuEntry, ...]:
        """The menu in figures, from the least regret to the knee."""
        factors = {within_name(factor): factor for factor in (*MENU_FACTORS, self.keep_within)}
        return tuple(
            MenuEntry(name, factors.get(name), self.judged(lane))
            for name, lane in self.sitting.entries.items()
        )

    def compared(self) -> dict[str, Lane]:
        """The fresh runs whose costs the plan shows, by name; one that took too long is left out."""
        judge = self.sitting.judge
        named = {
            "recommended": judge.of(self.chosen),
            "best": judge.of(self.best),
            "LinUCB": self.linucb,
            "greedy": self.greedy,
        }
        return {name: lane for name, lane in named.items() if lane.regret.size}
