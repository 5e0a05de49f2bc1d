"""All that a bandit has learnt: from every round and, where asked for, from exploring rounds alone."""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from infex.linear.evidence import Evidence
from infex.linear.kernels import Floats
from infex.linear.offer import Offer
from infex.linear.ridge import Ridge


@final
class Memory:
    """The ridge over all rounds, that over exploring rounds if it is kept, and pulls by arm."""

    __slots__ = ("explored", "pulls", "ridge")

    def __init__(self, ridge: Ridge, explored: Ridge | None, pulls: NDArray[np.int64] | None = None) -> None:
        self.ridge = ridge
        self.explored = explored
        self.pulls = np.zeros(ridge.columns.shape[1], dtype=np.int64) if pulls is None else pulls

    def evidence(self) -> Evidence:
        """What is known of the fixed arms."""
        return Evidence(self.ridge, self.explored)

    def offer(self, columns: Floats) -> Evidence:
        """What is known of the arms of one round."""
        explored = None if self.explored is None else Offer(self.explored, columns)
        return Evidence(Offer(self.ridge, columns), explored)

    def learn(self, arm: int, reward: float, explored: bool) -> None:
        """Takes in one reward of a fixed arm."""
        self.ridge.learn(arm, reward)
        self.pulls[arm] += 1
        if explored and self.explored is not None:
            self.explored.learn(arm, reward)

    def absorb(self, x: Floats, reward: float, explored: bool) -> None:
        """Takes in one reward of any x."""
        self.ridge.absorb(x, reward)
        if explored and self.explored is not None:
            self.explored.absorb(x, reward)

    def over(self, columns: Floats, pulls: NDArray[np.int64]) -> Memory:
        """What was learnt, over other fixed arms."""
        explored = None if self.explored is None else self.explored.over(columns)
        return Memory(self.ridge.over(columns), explored, pulls)

    def add(self, other: Memory) -> None:
        """Takes in all that another has learnt, but for pulls by arm."""
        self.ridge.add(other.ridge)
        if self.explored is not None and other.explored is not None:
            self.explored.add(other.explored)

    def settle(self) -> None:
        """Computes all that is derived anew, so that a copy made of the truth alone is the same."""
        self.ridge.settle()
        if self.explored is not None:
            self.explored.settle()
