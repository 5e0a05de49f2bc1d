"""Statistics of estimators other than ridge: solved when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.errors import CannotMerge, DamagedFile, NotKept
from infex.estimators.solution import Solution
from infex.linear.estimating import Arrays, Estimator
from infex.linear.foresight import DenseSums
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.known import Known
from infex.linear.learnable import refuse_block, refuse_place, refuse_separate
from infex.linear.offers import Layout, Offer, On
from infex.linear.regression import checked_penalty
from infex.linear.revising import Revision
from infex.linear.scatter import Scattered


class Fit(ABC):
    """What was learnt, and what it says of the fixed arms in `columns`, (d, K).

    A subclass says how a reward is taken in, what follows from all of them, and how they are kept;
    `estimator` are its settings, whose `start` makes more like it. The first figure that is asked
    for after a reward costs what `solve` costs and O(d^2 K) for the arms. A search starts from the
    estimate of the last decision that was entered, so that reading in between changes nothing.

    `penalty` is that of the ridge it resembles.
    """

    squares: bool = True
    logistic: bool = False  # is x'theta the log-odds of a reward of 1?

    def __init__(self, columns: Floats, penalty: float, estimator: Estimator) -> None:
        self.columns: Floats = np.ascontiguousarray(columns, dtype=np.float64)
        self.penalty = checked_penalty(penalty)
        self.estimator = estimator
        self.told = 0
        self.counts: Floats = np.zeros((2, self.columns.shape[1]))
        self._start: Floats = np.zeros(self.dim)  # of the search for the present solution
        self._next_start: Floats = self._start  # of the one after the next reward
        self._solution: Solution | None = None
        self._known: Known | None = None

    @abstractmethod
    def take(self, x: Floats, reward: float, weight: float) -> None:
        """Takes in one reward, or refuses it and changes nothing."""

    @abstractmethod
    def solve(self, start: Floats) -> Solution:
        """What follows from all rewards; `start` is an earlier estimate, from which a search may go on."""

    @abstractmethod
    def kept(self) -> Arrays:
        """All rewards or their sums, as arrays."""

    @abstractmethod
    def recall(self, arrays: Arrays, told: int) -> None:
        """Takes `told` rewards from arrays that were kept; refuses those that do not fit."""

    def put_right(self, x: Floats, revision: Revision) -> None:
        """Gives a reward of x another value, or takes it out; or refuses to, and changes nothing."""
        raise NotKept(
            f"{self.estimator!r} cannot give a reward that was learnt another value, or take it out"
        )

    def refuse(self, reward: float) -> None:  # noqa: B027 - most take any reward
        """Refuses a reward that cannot be taken in; changes nothing."""

    def counted(self, on: On, weight: float) -> float:
        """The weight with which a reward is to be learnt: that which was told, for most."""
        return weight

    def join(self, other: Self) -> None:
        """Takes in what another of the same settings has learnt."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt cannot be merged: rewards count by their order"
        )

    def sums(self) -> tuple[Floats | None, int]:
        """sum x x' and sum y x with their carries, (2, d + 1, d), None if not kept; of how many rewards."""
        return None, self.told

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says of arms, for those that keep squares of rewards."""
        raise NotKept(
            f"{self.estimator!r} has no intervals by the noise that was seen: it keeps no squares of "
            "rewards, or is not least squares; `low` and `high` of `estimates` are the theory's"
        )

    def asked_about(self, offer: Offer | None) -> Floats:
        """The rows of the fixed arms, or of those on offer, (n, d)."""
        return (offer if isinstance(offer, np.ndarray) else self.columns).T

    def row(self, on: On) -> Floats:
        """The features of a fixed arm, by its index, or x itself."""
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])
        return np.array(self.columns[:, on]) if isinstance(on, int) else refuse_block(on)

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def solution(self) -> Solution:
        """What follows from all rewards."""
        if self._solution is None:
            self._solution = self.solve(self._start)
        return self._solution

    def known(self) -> Known:
        """What is known of the fixed arms, as numbers that stay as they are."""
        if self._known is None:
            (solved, log_det_ratio), (truth, told) = self.solution, self.sums()
            self._known = Known.of_solution(
                self.columns, solved, log_det_ratio, self.penalty, truth, told, self.counts, self.logistic
            )
        return self._known

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": None}

    def pending(self) -> DenseSums:
        """Sums over no pending decision."""
        return DenseSums(self.columns)

    def learn(self, on: On, reward: float, weight: float = 1.0) -> None:
        """Takes in one reward of a fixed arm, by its index, or of any x."""
        self.take(self.row(on), reward, weight)
        if isinstance(on, int):
            self.counts[:, on] += 1.0, reward
        self.told += 1
        self._renew()

    def learn_many(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other."""
        for place, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.learn(grounds.on(place), reward, weight)

    gather = learn_many

    def turn(self, on: On) -> int:
        """How many rewards were told."""
        return self.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none, where `put_right` can do that."""
        if revision.after is not None:
            self.refuse(revision.after)
        self.put_right(self.row(revision.on), revision)
        if isinstance(revision.on, int):
            self.counts[:, revision.on] += revision.pulls, revision.gain
        self.told += revision.pulls
        self._renew()

    def entered(self) -> None:
        """The next search starts from the present estimate."""
        self._next_start = self.solution.theta

    def add(self, other: Self, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self.join(other)
        self.told += other.told
        self.counts += moved(other.counts, places, self.counts.shape[1])
        self._renew()

    def growth(self) -> Gained:
        """All that was learnt, as sums that add up, for those that keep such."""
        raise CannotMerge(
            f"what {self.estimator!r} has learnt is not kept as sums that add up: "
            "its rewards count by their order, or one by one"
        )

    def grow(self, growth: Gained) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self.growth()

    def over(self, layout: Layout, places: Integers) -> Self:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other = type(self)(refuse_separate(layout), self.penalty, self.estimator)
        known = places >= 0
        counts = np.zeros((2, places.size))
        counts[:, known] = self.counts[:, places[known]]
        other._take(self.arrays() | {"counts": counts})
        return other

    def arrays(self) -> Arrays:
        """All of it, as arrays to be kept."""
        return self.kept() | {
            "told": np.array(self.told),
            "counts": self.counts.copy(),
            "start": self._start.copy(),
            "next start": self._next_start.copy(),
        }

    def restore(self, arrays: Arrays) -> None:
        """Takes what was learnt from arrays that were kept, in the place of all that is here."""
        self._take(arrays)
        with np.errstate(all="ignore"):  # numbers of a file may be anything
            solved, log_det_ratio = self.solution
        if not (np.isfinite(solved).all() and np.isfinite(log_det_ratio)):
            raise DamagedFile("its theta would not be finite")

    def _take(self, arrays: Arrays) -> None:
        told = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], told)
        nowhere = np.zeros(self.dim)
        starts = [fitting(name, arrays.get(name, nowhere), (self.dim,)) for name in ("start", "next start")]
        self.recall(arrays, told)
        self.told, self.counts = told, counts
        self._start, self._next_start = starts
        self._solution = self._known = None

    def _renew(self) -> None:
        self._start = self._next_start
        self._solution = self._known = None
