"""A bandit on the compiled loops over events of a log: ridge, and policies of infex's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.bandit.arms import Fixed
from infex.bandit.pulls import learn_pulls
from infex.kernels.bases import Base
from infex.kernels.retracing import (
    ASK_POLICY,
    Events,
    Explorer,
    Retraced,
    retrace,
    retrace_fixed,
)
from infex.kernels.run_arrays import State
from infex.linear import RidgeStatistics
from infex.policies.choice import Turn
from infex.schedules.protocol import Schedule

if TYPE_CHECKING:
    from infex.bandit.bandit import Bandit

Asking = Callable[[int], dict[str, Any]]
Played = tuple[Integers, Bools]


class RetracedPolicy(NamedTuple):
    """A policy in the terms of the loops: its base, the share of uniform arms, when it explores."""

    base: Base
    share: float
    schedule: Schedule | None
    always: bool
    compiled_base: bool
    numbers: Floats


def retracer_of(bandit: Bandit) -> Retracer | None:
    """None: a bandit is asked in every event."""
    return None  # generators are set in Python alone


@final
class Retracer:
    """Goes through events with a bandit, whose state is then what asking and telling would have left."""

    def __init__(self, bandit: Bandit, policy: RetracedPolicy) -> None:
        self._bandit, self._policy = bandit, policy

    @property
    def is_fixed(self) -> bool:
        """Are its arms the same in every event?"""
        return isinstance(self._bandit._arms, Fixed)

    def go(self, events: Events, rounds: int, most: float, asked: Asking) -> Played:
        """Plays at most so many rounds: the places of events that agreed, and which rounds explored.

        `asked` is what the bandit is asked in an event that the loop leaves to it; rows whose square is
        above `most` are such.
        """
        places, explored, at = list[Integers](), list[Bools](), 0
        while rounds and at < events.arms.size:
            out, at, needs_python = self._loop(events, at, min(rounds, events.arms.size - at), most)
            places.append(out.event)
            explored.append(out.explored)
            rounds -= out.event.size
            if needs_python and rounds:
                taken = self._ask(events, at, asked(at))
                if taken is not None:
                    places.append(np.array([at]))
                    explored.append(np.array([taken]))
                    rounds -= 1
                at += 1
        return _joined(places, explored)

    def go_fixed(self, arms: Integers, rewards: Floats, usable: Bools, rounds: int) -> Played:
        """The same among fixed arms, where a decision stands until an event agrees."""
        count, mine = self._bandit._player.memory.columns.shape[1], np.flatnonzero(usable)
        order = mine[np.argsort(arms[mine], kind="stable")]
        ends = np.cumsum(np.bincount(arms[mine], minlength=count))
        places, explored, at = list[Integers](), list[Bools](), 0
        while rounds:
            out, at, needs_python = self._loop_fixed(order, ends, rewards, at, rounds)
            places.append(out.event)
            explored.append(out.explored)
            rounds -= out.event.size
            if not needs_python or not rounds:
                break
            decided = self._bandit.decide()
            agreeing = order[
                ends[decided.decision.arm - 1] if decided.decision.arm else 0 : ends[decided.decision.arm]
            ]
            found = int(np.searchsorted(agreeing, at))
            if found == agreeing.size:
                break
            at = int(agreeing[found])
            self._bandit.tell(self._bandit.enter(decided), float(rewards[at]))
            places.append(np.array([at]))
            explored.append(np.array([decided.decision.explored]))
            rounds, at = rounds - 1, at + 1
        return _joined(places, explored)

    def _loop(self, events: Events, at: int, rounds: int, most: float) -> tuple[Retraced, int, bool]:
        """As far as compiled code goes."""
        t, ridge, out = self._bandit.t, self._ridge, _room(rounds)
        at, played, why = retrace(
            at,
            t,
            events,
            self._explorer(t, rounds),
            most,
            State(*ridge.state, ridge.penalty),
            *self._draws(t),
            out,
        )
        found = self._book(t, out, int(played), events.rewards)
        learn_pulls(self._bandit._player.memory, events.arms[found.event])
        return found, int(at), why == ASK_POLICY

    def _loop_fixed(
        self, order: Integers, ends: Integers, rewards: Floats, at: int, rounds: int
    ) -> tuple[Retraced, int, bool]:
        t, ridge, out = self._bandit.t, self._ridge, _room(rounds)
        state = State(*ridge.state, ridge.penalty)
        at, played, why = retrace_fixed(
            at, t, order, ends, rewards, self._explorer(t, rounds), state, ridge.counts, *self._draws(t), out
        )
        return self._book(t, out, int(played), rewards), int(at), why == ASK_POLICY

    @property
    def _ridge(self) -> RidgeStatistics:
        ridge = self._bandit._player.memory.all
        assert isinstance(ridge, RidgeStatistics)
        return ridge

    def _draws(self, t: int) -> tuple[Any, Any, np.random.Generator]:
        raise NotImplementedError

    def _explorer(self, t: int, rounds: int) -> Explorer:
        base, share, schedule, always, compiled, numbers = self._policy
        listed: list[int | float] = []
        if schedule is not None:
            listed = [schedule.when(n) for n in range(schedule.count(t) + 1, schedule.count(t + rounds) + 1)]
        return Explorer(np.array(listed, dtype=np.int64), always, base, share, numbers, compiled)

    def _book(self, t: int, out: Retraced, played: int, rewards: Floats) -> Retraced:
        """Counts the rounds that were played, what exploring has cost, and how far rewards scatter."""
        found = Retraced(out.event[:played], out.explored[:played], out.loss[:played], out.different[:played])
        account = self._bandit._player.account
        turn = None if self._policy.schedule is None else Turn.DUE
        for place in np.flatnonzero(found.explored).tolist():
            account.enter(t + place + 1, True, turn, float(found.loss[place]), bool(found.different[place]))
        account.t = t + played
        account.hear()
        self._ridge.told += played
        self._ridge.scatter.learn_many(rewards[found.event], np.ones(played))
        return found

    def _ask(self, events: Events, at: int, asked: dict[str, Any]) -> bool | None:
        """One event as the bandit decides it; whether it explored, None if it did not agree."""
        bandit = self._bandit
        decided = bandit.decide(**asked)
        if decided.decision.arm != events.arms[at] or not events.usable[at]:
            return None
        bandit.tell(bandit.enter(decided), float(events.rewards[at]))
        return decided.decision.explored


def _room(rounds: int) -> Retraced:
    wholes, truths = np.empty(rounds, dtype=np.int64), np.empty(rounds, dtype=bool)
    return Retraced(wholes, truths, np.empty(rounds), truths.copy())


def _joined(places: list[Integers], explored: list[Bools]) -> Played:
    nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
    return np.concatenate([nothing[0], *places]), np.concatenate([nothing[1], *explored])
