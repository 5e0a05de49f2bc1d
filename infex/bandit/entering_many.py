"""Many decisions and rewards of a journal entered together: to the last bit as one by one, in less time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, final

import numpy as np

from infex.arrays import Floats
from infex.bandit.bandit import Bandit
from infex.bandit.decision import Decided, Decision
from infex.bandit.foreseeing import await_reward, wait_no_more
from infex.bandit.journaling import refuse_unfit
from infex.bandit.pulls import Pulled, count_pull
from infex.checks import LARGEST_REWARD
from infex.errors import InvalidReward
from infex.linear import InBlock, On, Separate
from infex.linear.grounds import NO_PLACE, Grounds


def enters_together(bandit: Bandit) -> bool:
    """Does the order of decisions among rewards leave no trace? A search starts where the last one stood."""
    keeps_more = bandit._player.traits.pupils or bandit.remembers
    return not bandit._player.memory.searches and not keeps_more


def is_plain(decided: Decided) -> bool:
    """Can a decision be entered with others? One with a note, or with features of its own, cannot."""
    choice = decided.taken.choice
    return choice.note is None and choice.features is None


@final
class EnteredTogether:
    """Decisions are counted at once, rewards are learnt together at the end, in their order.

    Whoever uses it keeps the decisions that still wait for a reward, and makes them wait at the end.
    """

    __slots__ = (
        "_account",
        "_bandit",
        "_explored",
        "_layout",
        "_places",
        "_rests",
        "_rewards",
        "_rows",
        "_weights",
    )

    def __init__(self, bandit: Bandit) -> None:
        self._bandit, self._account = bandit, bandit._player.account
        self._layout = bandit._arms.layout
        self._rests = bandit._player.traits.gate is not None  # may a round be one in which nothing is due?
        self._places: list[int] = []
        self._rows: list[Sequence[float] | Floats | None] = []
        self._rewards: list[float] = []
        self._weights: list[float] = []
        self._explored: list[bool] = []

    def rest(self, key: str, t: int, changes: int, place: int, size: int) -> bool:
        """Takes a round in which nothing was due, on the arm at a place in `size` numbers.

        False if that does not fit: `decide` says why.
        """
        account, layout = self._account, self._layout
        fits = t == account.t + 1 and changes == account.changes and self._rests
        if isinstance(layout, Separate):
            fits = fits and 0 <= place < layout.arms and size == layout.row
        else:
            fits = fits and (size == len(layout) if place < 0 else place < int(layout.shape[1]) and not size)
        if fits and self._bandit._waiting.find(key) is None:
            account.t = t
            return True
        return False

    def decide(self, decided: Decided) -> None:
        """Takes the next decision, of any kind."""
        refuse_unfit(self._bandit, decided)
        self._bandit._player.book(decided.taken)

    def tell(self, decision: LearntDecision, ground: Ground, reward: float, weight: float) -> None:
        """Takes the reward of a decision, which is learnt on that."""
        if not abs(reward) <= LARGEST_REWARD or not weight > 0.0:
            raise InvalidReward(f"a reward of {reward!r} with the weight {weight!r} cannot be learnt")
        place, row = ground
        self._places.append(place)
        self._rows.append(row)
        self._rewards.append(reward)
        self._weights.append(weight)
        self._explored.append(decision.explored)
        count_pull(self._bandit, decision)

    def tell_waiting(self, key: str, reward: float, weight: float) -> Decision:
        """Takes the reward of a decision that waited before; that decision."""
        pending = self._bandit._waiting.find(key)
        if pending is None:
            raise InvalidReward(f"decision {key!r} does not wait for a reward")
        decision, on = pending
        self.tell(decision, ground_of(on), reward, weight)
        wait_no_more(self._bandit, decision, on)
        return decision

    def finish(self) -> None:
        """Learns all rewards."""
        if self._places:
            rewards, weights = np.array(self._rewards), np.array(self._weights)
            explored = np.array(self._explored, dtype=bool)
            self._bandit._player.memory.take_many(self._grounds(), rewards, explored, weights)
        self._account.hear()

    def _grounds(self) -> Grounds:
        places, rows = np.array(self._places, dtype=np.int64), [row for row in self._rows if row is not None]
        if isinstance(self._layout, Separate):
            return Grounds.in_blocks(places, np.array(rows, dtype=np.float64))
        if not rows:
            return Grounds.on_arms(places)
        has_row = np.array([row is not None for row in self._rows])
        of_row = np.where(has_row, np.cumsum(has_row) - 1, NO_PLACE)
        return Grounds(places, of_row, np.array(rows, dtype=np.float64))


Ground = tuple[int, Sequence[float] | Floats | None]
"""What a reward is learnt on: the place of an arm, or -1, and features or a context, or None."""


class LearntDecision(Pulled, Protocol):
    """What is to be known of a decision whose reward is learnt."""

    @property
    def explored(self) -> bool:
        """Was it one of the base policy?"""


def ground_of(on: On) -> Ground:
    """What a reward is learnt on, in two parts."""
    if isinstance(on, InBlock):
        return on.arm, on.context
    return (on, None) if isinstance(on, int) else (NO_PLACE, on)


def wait_for(bandit: Bandit, decided: Decided) -> None:
    """A decision of a course that is finished begins to wait for its reward."""
    await_reward(bandit, decided.decision, decided.taken.on)
