"""Candidates race on paired problems; those that are clearly worse drop out.

Regret never falls from one round to the next. So a candidate that has lost more after a quarter of the
rounds than another one in all of them is worse, and long runs are spent on few: all candidates play
a short part of the horizon, and the one that has lost least so far is always the next to go on.

The race only chooses. What it measured is too good for those that it chose, so no figure of a plan is
taken from it: those come from other problems (`judging.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import final

from infex.checks import whole
from infex.planning.beliefs import Belief
from infex.planning.candidates import Limits
from infex.planning.lanes import Lane, is_clearly_above, is_worse
from infex.planning.pools import Pool
from infex.simulation.simulator import cores

FIRST_HEAT, LAST_HEAT = 4, 1024  # problems of a heat; each heat has up to twice those of the one before
LEAST_GROWTH = 1.25  # a heat that adds fewer problems than this factor is not worth its time
ROUNDS_FACTOR = 4  # a run that goes on has so many times its rounds
FIRST_ROUNDS = 500  # the shortest part of the horizon is at least so long
LANES_AT_ONCE = 8  # whatever the number of threads, so that these change nothing
LIKE_REGRET_FACTOR = 1.5  # within this factor of the least regret, a lane that explores less goes on first


@final
class Race:
    """Plays lanes on the same problems, until a deadline.

    A lane drops out when another that explores no more often is clearly better, or when it clearly loses more
    than 1 + `slack` times what the leader loses.
    """

    def __init__(
        self,
        belief: Belief,
        horizon: int,
        seed: int,
        workers: int | None,
        allowed: Limits,
        slack: float,
        seconds: float,
    ) -> None:
        self.pool = Pool(belief, seed)
        self.horizon = horizon
        self.workers = cores() if workers is None else whole("workers", workers, least=1)
        self.allowed = allowed
        self.slack = slack
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def heat(
        self, lanes: list[Lane], problems: int, listener: Callable[[int], None]
    ) -> tuple[list[Lane], bool]:
        """Brings lanes to so many problems, until they are clearly worse or have played all rounds.

        Those that are left, and whether there was time for all of them. The listener hears how many are left.
        """
        self.pool.upto(problems)
        alive, before = lanes, None
        with ThreadPoolExecutor(self.workers) as pool:
            while True:
                listener(len(alive))
                waiting = [lane for lane in alive if not self.is_done(lane, problems)]
                ready = self._ready(alive, waiting, problems)
                if not ready:
                    return alive, not waiting
                going = sorted(ready, key=_turn)[:LANES_AT_ONCE]
                list(pool.map(lambda lane: self._go_on(lane, problems), going))
                champions = self.champions(alive)
                stood = champions == before and not any(lane in champions for lane in going)
                before = champions
                out = {id(lane) for lane in (going if stood else alive) if self.is_out(lane, champions)}
                alive = [lane for lane in alive if id(lane) not in out]

    def _ready(self, alive: list[Lane], waiting: list[Lane], problems: int) -> list[Lane]:
        """The lanes whose next step there is time for; the first, if none has played: an answer is due."""
        ready = [lane for lane in waiting if self.takes(lane, problems) < self.left()]
        return ready if ready or any(lane.rounds for lane in alive) else waiting[:1]

    def is_done(self, lane: Lane, problems: int) -> bool:
        """Has a lane played all rounds of so many problems?"""
        return lane.rounds == self.horizon and lane.regret.size >= problems

    def takes(self, lane: Lane, problems: int) -> float:
        """About the seconds that its next step takes, judged by its last step."""
        rounds = self._next(lane.rounds)
        if rounds == lane.rounds:
            return lane.seconds * (problems - lane.regret.size)
        return lane.seconds * problems * (rounds / lane.rounds if lane.rounds else 0.0)

    def affordable(self, lanes: list[Lane], problems: int) -> int:
        """How many problems the next heat has: twice as many, or what there is time for; 0 if that is few."""
        if problems >= LAST_HEAT:
            return 0
        each = sum(lane.seconds for lane in lanes) / self.workers
        extra = math.floor(min(self.left() / each if each > 0.0 else math.inf, problems))
        return problems + extra if extra >= (LEAST_GROWTH - 1.0) * problems else 0

    def _go_on(self, lane: Lane, problems: int) -> None:
        if not lane.rounds or self.takes(lane, problems) < self.left():
            self.pool.run(lane, problems, self._next(lane.rounds))

    def _next(self, rounds: int) -> int:
        """The rounds to go on to: from a short part of the horizon, by factors, to all of it."""
        parts = [self.horizon]
        while parts[-1] >= ROUNDS_FACTOR * FIRST_ROUNDS:
            parts.append(parts[-1] // ROUNDS_FACTOR)
        return min((each for each in parts if each > rounds), default=self.horizon)

    def is_out(self, lane: Lane, champions: list[Lane]) -> bool:
        """Is it clearly worse than one that explores no more often, or too far from the leader, or costly?"""
        if not lane.rounds:
            return False
        if not self.is_allowed(lane) and is_clearly_above(lane.cost, self.allowed.cost):
            return True
        rarer = [each for each in champions if each.candidate.explorations <= lane.candidate.explorations]
        return any(is_worse(lane, champion, self.slack) for champion in {*rarer[-1:], *champions[-1:]})

    def champions(self, lanes: list[Lane]) -> list[Lane]:
        """The lanes that none beats both in explorations and in regret, by careful means; the leader is last.

        They are taken from those that played all rounds and are allowed.
        """
        done = [lane for lane in lanes if lane.rounds == self.horizon and self.is_allowed(lane)]
        found: list[Lane] = []
        for lane in sorted(done, key=lambda lane: (lane.candidate.explorations, lane.careful())):
            if not found or lane.careful() < found[-1].careful():
                found.append(lane)
        return found

    def is_allowed(self, lane: Lane) -> bool:
        """Is its loss in exploring rounds within the limit, in the mean?"""
        return self.allowed.cost == math.inf or float(lane.cost.mean()) <= self.allowed.cost


def _turn(lane: Lane) -> tuple[int, int]:
    """The order of turns: new lanes, then those that lost least; with like regret, who explores least."""
    if not lane.rounds:
        return -(10**9), 0
    return math.floor(
        math.log(max(lane.careful(), 1e-9)) / math.log(LIKE_REGRET_FACTOR)
    ), lane.candidate.explorations
