"""What rounds add up to: how much was explored, what it cost, and what is owed."""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import quick
from infex.errors import NotKept
from infex.linear import Spent
from infex.policies.choice import Turn

REMEMBERED = 100_000  # rounds whose explorations are kept at least, for the windows of later policies


class Exploration(NamedTuple):
    """How much was explored, and what it cost.

    `planned`: rounds so far in which exploration was due, by the schedules in force at the time; None
    if there was none. `done`: decisions that explored; `different` of them played another arm than
    the greedy one (None in a bandit from a file of format 1, which did not count them). `skipped`:
    rounds in which exploration was due and did not happen; of them `made_up` later did, `owed` still
    will, and `dropped` never will. `next_due`: the next round that is due, as far as is known. `cost`:
    the summed estimated loss of exploring (estimate of the greedy arm minus that of the arm played).

    Where a schedule was in force from the start, planned = done - made_up + skipped and skipped =
    made_up + owed + dropped.
    """

    planned: int | None
    done: int
    skipped: int
    made_up: int
    owed: int
    dropped: int
    different: int | None
    next_due: int | None
    cost: float


@final
class Account:
    """The totals of all rounds that were entered, whatever policy was in force."""

    __slots__ = (
        "_spent",
        "changes", "cost", "different", "done", "dropped", "forgotten", "heard", "made_up", "noticed", "owed",
        "planned", "recent", "scheduled", "span", "t",
    )  # fmt: skip

    def __init__(self) -> None:
        self.t = 0
        self.changes = 0  # of arms or of the policy
        self.heard = 0  # the round up to which decisions were taken before something was learnt, or changed
        self.planned = 0
        self.scheduled = False  # was a schedule ever in force?
        self.done = 0
        self.made_up = 0
        self.owed = 0
        self.dropped = 0
        self.different: int | None = 0  # None where files of format 1 did not say
        self.cost = 0.0
        self.noticed: Counter[str] = Counter()  # decisions by the rules that their contexts took
        self.recent: deque[tuple[int, float]] = deque()
        self.forgotten = 0  # up to which round explorations are not kept one by one
        self.span = 0
        self._spent: Spent | None = Spent()  # None since something changed

    def restore(
        self,
        *,
        t: int,
        changes: int,
        planned: int,
        scheduled: bool,
        done: int,
        made_up: int,
        owed: int,
        dropped: int,
        different: int | None,
        cost: float,
        forgotten: int,
        recent: deque[tuple[int, float]],
    ) -> None:
        """Takes totals that were kept."""
        self.t, self.planned, self.scheduled, self.done = t, planned, scheduled, done
        self.heard = t
        self.changes = changes
        self.made_up, self.owed, self.dropped, self.different = made_up, owed, dropped, different
        self.cost, self.forgotten, self.recent = cost, forgotten, recent
        self._spent = None

    def hear(self) -> None:
        """Something was learnt or has changed: what is known now is not what earlier decisions rested on."""
        self.heard = self.t

    @property
    def skipped(self) -> int:
        """Rounds in which exploration was due and did not happen."""
        return self.made_up + self.owed + self.dropped

    @property
    def spent(self) -> Spent:
        """What limits look at."""
        found = self._spent
        if found is None or found.whole_from <= self.t - self.span:  # rounds have gone by with nothing due
            found = self._renewed()
            self._spent = found
        return found

    def look_back(self, span: int) -> None:
        """From now on limits look so many rounds back."""
        if span > 0 and self.forgotten >= max(self.t - span + 2, 1):  # the first round of the next window
            raise NotKept(
                f"a window of {span} rounds reaches back beyond round {self.forgotten}, up to which "
                "explorations were not kept one by one"
            )
        self.span = span
        self._spent = None

    def enter(self, t: int, explored: bool, turn: Turn | None, loss: float, different: bool) -> None:
        """One round, with the estimated loss of its exploration."""
        if explored and turn is not Turn.REST:
            self.enter_explored(t, turn, loss, different)
            return
        self.t = t
        if turn is Turn.REST:
            return
        if turn is not None:
            self.scheduled = True
            self.planned += turn is not Turn.MADE_UP
        if turn is Turn.OWED:
            self.owed += 1
        elif turn is Turn.DROPPED:
            self.dropped += 1
            return
        self._spent = None

    def enter_many(self, last: int, due: Integers, turn: Turn | None, losses: Floats, different: int) -> None:
        """All rounds up to the last one, of which those that are due explored, at such losses."""
        self.t = last
        if not due.size:
            return
        self.scheduled |= turn is not None
        self.planned += 0 if turn is None else due.size
        self.done += due.size
        self.cost = float(np.cumsum(np.append(self.cost, losses))[-1])  # one after the other, as in `enter`
        self.different = None if self.different is None else self.different + different
        self.recent.extend(zip(due.tolist(), losses.tolist(), strict=True))
        self._forget_old(int(due[-1]))
        self._spent = None

    def exploration(self, next_due: int | None) -> Exploration:
        """All figures."""
        return Exploration(
            self.planned if self.scheduled else None,
            self.done,
            self.skipped,
            self.made_up,
            self.owed,
            self.dropped,
            self.different,
            next_due,
            self.cost,
        )

    def enter_explored(self, t: int, turn: Turn | None, loss: float, different: bool) -> None:
        """One round that explored."""
        self.t = t
        self._spent = None
        if turn is not None:
            self.scheduled = True
            self.planned += turn is not Turn.MADE_UP
        self.done += 1
        self.cost += loss
        if different and self.different is not None:
            self.different += 1
        if turn is Turn.MADE_UP:
            self.made_up += 1
            self.owed -= 1
        self.recent.append((t, loss))
        self._forget_old(t)

    def _forget_old(self, t: int) -> None:
        """Explorations that no window may look back at are not kept one by one."""
        recent = self.recent
        while recent[0][0] <= t - REMEMBERED and recent[0][0] <= t - self.span:
            self.forgotten = recent.popleft()[0]

    def _renewed(self) -> Spent:
        window = self._window() if self.span else ()
        whole_from = max(self.t - self.span, self.forgotten) + 1
        return quick(Spent, (self.done, self.cost, self.owed, window, whole_from))

    def _window(self) -> tuple[tuple[int, float], ...]:
        """The explorations that limits look back at."""
        first, window = self.t - self.span + 1, []
        for exploration in reversed(self.recent):
            if exploration[0] < first:
                break
            window.append(exploration)
        return tuple(reversed(window))
