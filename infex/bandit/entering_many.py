"""Many decisions and rewards of a journal entered together: to the last bit as one by one, in less time."""

from __future__ import annotations

from typing import final

import numpy as np

from infex.bandit.bandit import Bandit
from infex.bandit.decision import Decided, Decision
from infex.bandit.foreseeing import await_reward, wait_no_more
from infex.bandit.journaling import refuse_unfit
from infex.bandit.pulls import count_pull
from infex.checks import LARGEST_REWARD
from infex.errors import InvalidReward
from infex.linear import On
from infex.linear.grounds import Grounds


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

    `open` are the decisions of this course that still wait for a reward.
    """

    __slots__ = ("_bandit", "_explored", "_ons", "_rewards", "_weights", "open")

    def __init__(self, bandit: Bandit) -> None:
        self._bandit = bandit
        self.open: dict[str, Decided] = {}
        self._ons: list[On] = []
        self._rewards: list[float] = []
        self._weights: list[float] = []
        self._explored: list[bool] = []

    def decide(self, decided: Decided) -> None:
        """Takes the next decision."""
        refuse_unfit(self._bandit, decided)
        self._bandit._player.book(decided.taken)
        self.open[decided.decision.id] = decided

    def tell(self, key: str, reward: float, weight: float) -> Decision:
        """Takes a reward; the decision that it is of."""
        if not abs(reward) <= LARGEST_REWARD or not weight > 0.0:
            raise InvalidReward(f"a reward of {reward!r} with the weight {weight!r} cannot be learnt")
        decided = self.open.pop(key, None)
        if decided is not None:
            decision, on = decided.decision, decided.taken.on
        else:
            pending = self._bandit._waiting.find(key)
            if pending is None:
                raise InvalidReward(f"decision {key!r} does not wait for a reward")
            decision, on = pending
            wait_no_more(self._bandit, decision, on)
        self._ons.append(on)
        self._rewards.append(reward)
        self._weights.append(weight)
        self._explored.append(decision.explored)
        count_pull(self._bandit, decision)
        return decision

    def finish(self) -> None:
        """Learns all rewards; what is open begins to wait."""
        if self._ons:
            rewards, weights = np.array(self._rewards), np.array(self._weights)
            explored = np.array(self._explored, dtype=bool)
            self._bandit._player.memory.take_many(Grounds.of(self._ons), rewards, explored, weights)
        for decided in self.open.values():
            await_reward(self._bandit, decided.decision, decided.taken.on)
        self._bandit._player.account.hear()
