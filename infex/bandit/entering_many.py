"""Many decisions and rewards of a journal entered together: to the last bit as one by one, in less time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Protocol, final

import numpy as np

from infex.arrays import Floats, Integers
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

    __slots__ = ("_account", "_arms", "_bandit", "_counts", "_is_apart", "_rests", "_size", "_told")

    def __init__(self, bandit: Bandit) -> None:
        self._bandit, self._account = bandit, bandit._player.account
        self._rests = bandit._player.traits.gate is not None  # may a round be one in which nothing is due?
        self._counts = bandit._player.memory.pulls is not None
        layout = bandit._arms.layout
        self._is_apart = isinstance(layout, Separate)
        self._size, self._arms = (layout.row, layout.arms) if isinstance(layout, Separate) else layout.shape
        self._told: list[ToldReward] = []

    def rest(self, t: int, changes: int, place: int, size: int) -> bool:
        """Takes a round in which nothing was due, on the arm at a place in `size` numbers.

        False if that does not fit: `decide` says why. Its decision is none that waits.
        """
        account = self._account
        if t != account.t + 1 or changes != account.changes or not self._rests:
            return False
        wanted = self._size if self._is_apart or place < 0 else 0
        if size != wanted or place >= self._arms or (self._is_apart and place < 0):
            return False
        account.t = t
        return True

    def decide(self, decided: Decided) -> None:
        """Takes the next decision, of any kind."""
        refuse_unfit(self._bandit, decided)
        self._bandit._player.book(decided.taken)

    def tell(self, decision: LearntDecision, ground: Ground, reward: float, weight: float) -> None:
        """Takes the reward of a decision, which is learnt on that."""
        if not abs(reward) <= LARGEST_REWARD or not weight > 0.0:
            raise InvalidReward(f"a reward of {reward!r} with the weight {weight!r} cannot be learnt")
        self._told.append((*ground, reward, weight, decision.explored))
        if self._counts:
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
        if self._told:
            places, rows, rewards, weights, explored = zip(*self._told, strict=True)
            grounds = self._grounds(np.array(places, dtype=np.int64), rows)
            memory = self._bandit._player.memory
            memory.take_many(grounds, np.array(rewards), np.array(explored, dtype=bool), np.array(weights))
        self._account.hear()

    def _grounds(self, places: Integers, rows: Sequence[Numbers | None]) -> Grounds:
        known = [row for row in rows if row is not None]
        if not known:
            return Grounds.on_arms(places)
        table = np.fromiter(chain.from_iterable(known), np.float64, self._size * len(known))
        if self._is_apart:
            return Grounds.in_blocks(places, table.reshape(-1, self._size))
        has_row = np.array([row is not None for row in rows])
        of_row = np.where(has_row, np.cumsum(has_row) - 1, NO_PLACE)
        return Grounds(places, of_row, table.reshape(-1, self._size))


Numbers = Sequence[float] | Floats
ToldReward = tuple[int, Numbers | None, float, float, bool]
"""A ground, a reward, its weight, and whether its round explored."""
Ground = tuple[int, Numbers | None]
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
