"""Statistics of estimators other than ridge: solved when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.errors import CannotMerge, NotKept
from infex.estimators.solution import Solution
from infex.kernels.view import View, viewed
from infex.linear import Offer
from infex.linear.evidence import Scorer
from infex.linear.moments import Moments
from infex.linear.ridge import checked_penalty
from infex.linear.statistics import Estimator, Statistics


class Fit(ABC):
    """What was learnt, and what it says of the fixed arms in `columns`, (d, K).

    A subclass says how a reward is taken in, what follows from all of them, and how they are kept;
    `estimator` are its settings, whose `start` makes more like it. The first figure that is asked
    for after a reward costs what `solve` costs and O(d^2 K) for the arms.
    """

    lasting = True
    squares = True

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        self.columns: Floats = np.ascontiguousarray(columns, dtype=np.float64)
        self.penalty = checked_penalty(penalty)
        self.estimator = estimator
        self.told = 0
        self._start: Floats = np.zeros(self.dim)
        self._solution: Solution | None = None
        self._scorer: Scorer | None = None

    @abstractmethod
    def take(self, x: Floats, reward: float, weight: float) -> None:
        """Takes in one reward, or refuses it and changes nothing."""

    @abstractmethod
    def solve(self, start: Floats) -> Solution:
        """What follows from all rewards; `start` is the last estimate, from which a search may go on."""

    @abstractmethod
    def kept(self) -> dict[str, Any]:
        """All rewards or their sums, as arrays."""

    @abstractmethod
    def recall(self, arrays: dict[str, Any]) -> None:
        """Takes them from arrays that were kept."""

    def join(self, other: Any) -> None:
        """Takes in what another of the same settings has learnt."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt cannot be merged: rewards count by their order"
        )

    def moments(self) -> Moments:
        """What was learnt, as sums."""
        raise NotKept(f"{self.estimator!r} keeps no sums of x x' and y x, which the policy asks for")

    def on(self, columns: Floats) -> Scorer:
        """What is known of other arms."""
        return Offer(self, columns)

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def solution(self) -> Solution:
        """What follows from all rewards."""
        if self._solution is None:
            self._solution = self.solve(self._start)
            self._start = self._solution.theta
        return self._solution

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""
        return self.solution.theta

    @property
    def volume(self) -> float:
        """alpha = log(det V/det V_0)."""
        return self.solution.volume

    def learn(self, arm: int, reward: float) -> None:
        """Takes in one reward of an arm."""
        self.absorb(self.columns[:, arm].copy(), reward)

    def absorb(self, x: Floats, reward: float, weight: float = 1.0) -> None:
        """Takes in one reward of any x."""
        self.take(x, reward, weight)
        self.told += 1
        self._solution = self._scorer = None

    def add(self, other: Any) -> None:
        """Takes in all that another has learnt."""
        self.join(other)
        self.told += other.told
        self._solution = self._scorer = None

    def settle(self) -> None:
        """Forgets all that was solved: the next search starts from 0."""
        self._start = np.zeros(self.dim)
        self._solution = self._scorer = None

    def over(self, columns: Floats) -> Statistics:
        """What was learnt, over other arms."""
        found = self.estimator.start(columns, self.penalty)
        found.restore(self.arrays())
        return found

    def arrays(self) -> dict[str, Any]:
        """What was learnt, as arrays to be kept."""
        return self.kept() | {"told": np.array(self.told)}

    def restore(self, arrays: dict[str, Any]) -> None:
        """Takes what was learnt from arrays that were kept, in the place of all that is here."""
        self.recall(arrays)
        self.told = int(arrays["told"])
        self.settle()

    def estimates(self) -> tuple[int, Floats]:
        """The greedy arm, and every arm's estimate."""
        return self._arms().estimates()

    def widths(self) -> Floats:
        """Every arm's width."""
        return self._arms().widths()

    def width(self, arm: int) -> float:
        """One arm's width."""
        return self._arms().width(arm)

    def upper(self, beta: float) -> Floats:
        """Every arm's upper bound."""
        return self._arms().upper(beta)

    def means(self, scores: Floats) -> Floats:
        """The mean rewards of arms by their x'theta."""
        return self._arms().means(scores)

    def view(self, settings: Floats) -> View:
        """What a kernel sees of the arms."""
        return self._arms().view(settings)

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        """The parameter theta + scale M'direction."""
        return self.solution.perturbed(scale, direction)

    def view_of(self, columns: Floats, board: Floats, settings: Floats) -> View:
        """What a kernel sees of other arms, whose board was scored just now."""
        solved, vectors, run = self.solution
        return viewed(columns, settings, self.penalty, board, run, solved, vectors)

    def scored(self, columns: Floats) -> Floats:
        """A board of their own for other arms."""
        board = np.empty((4, columns.shape[1]))
        kernels.direct(self.solution.solved, columns, board)
        return board

    def _arms(self) -> Scorer:
        if self._scorer is None:
            self._scorer = self.on(self.columns)
        return self._scorer
