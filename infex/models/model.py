"""All that a bandit has learnt: from every round and, where asked for, from exploring rounds alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.errors import InvalidSetting
from infex.models.base import Arrays, Estimator, Statistics
from infex.models.fit import FittedBlocks
from infex.models.hybrid import HybridRidge
from infex.models.layout import Grounds, InBlock, Layout, Offer, On, Separate
from infex.models.pending import Batch, Foresight
from infex.models.posterior import NOTHING, Posterior, Spent
from infex.models.ridge import RidgeStatistics
from infex.models.ridge_bank import BlockRidge
from infex.models.sums import Gained, Revision


def started(layout: Layout, penalty: float, estimator: Estimator | None) -> Statistics:
    """Statistics with nothing learnt, by ridge regression or another estimator."""
    if not isinstance(layout, Separate):
        return RidgeStatistics(layout, penalty) if estimator is None else estimator.start(layout, penalty)
    if estimator is None:
        return HybridRidge(layout, penalty) if layout.shared else BlockRidge(layout, penalty)
    one = estimator.start(np.empty((layout.dim, 0)), penalty)
    if type(one) is RidgeStatistics:
        return started(layout, one.penalty, None)
    if layout.shared:
        raise InvalidSetting(
            f"features.hybrid is a ridge regression, which {type(estimator).__name__} is not: "
            "features.disjoint and features.interactions take any estimator"
        )
    return FittedBlocks(layout, penalty, estimator)


Growths = tuple[Gained, Gained | None]
Turns = tuple[int, int | None]


@final
class Memory:
    """Statistics of all rounds and, if they are kept apart, of exploring rounds too.

    `foresight` are the decisions that wait for their reward; None where exploring is not to look at them.
    `all` are `RidgeStatistics` unless an estimator made others, which may search for their estimate and
    refuse rewards. `pulls` are the rewards of each arm of a map, (K,), where one regression is for all arms,
    which does not tell them apart; None where statistics know them.
    """

    __slots__ = ("all", "explored", "foresight", "pulls", "searches")

    def __init__(
        self,
        everything: Statistics,
        explored: Statistics | None,
        foresight: Foresight | None = None,
        pulls: Integers | None = None,
    ) -> None:
        self.all = everything
        self.explored = explored
        self.foresight = foresight
        self.pulls = pulls
        self.searches = not isinstance(everything, RidgeStatistics | BlockRidge | HybridRidge)

    @staticmethod
    def empty(layout: Layout, penalty: float, apart: bool, estimator: Estimator | None = None) -> Memory:
        """Nothing learnt, by ridge or another estimator; `apart` if exploring rounds are kept apart too."""
        explored = started(layout, penalty, estimator) if apart else None
        return Memory(started(layout, penalty, estimator), explored)

    @property
    def columns(self) -> Floats:
        """The fixed arms, (d, K)."""
        return self.all.columns

    def row(self, on: On) -> Floats:
        """The features that a reward is learnt on, (d,), for whoever learns by itself."""
        if isinstance(on, InBlock):
            shared = self.all.layout.shared if isinstance(self.all, HybridRidge) else 0
            return on.row(len(self.columns), shared)
        return self.columns[:, on].copy() if isinstance(on, int) else on.copy()

    def posterior(
        self, note: object = None, allowed: Bools | None = None, spent: Spent = NOTHING
    ) -> Posterior:
        """What is known of the fixed arms."""
        explored = None if self.explored is None else self.explored.known()
        return Posterior(self.all.known(), explored, note, allowed, spent, self.foresight)

    def offer(
        self, offer: Offer, note: object = None, allowed: Bools | None = None, spent: Spent = NOTHING
    ) -> Posterior:
        """What is known of the arms of one round."""
        explored = None if self.explored is None else self.explored.known().on(offer)
        return Posterior(self.all.known().on(offer), explored, note, allowed, spent, self.foresight)

    def foresee(self, pending: Iterable[Batch] = ()) -> None:
        """From now on exploring looks at pending decisions, of which there are these."""
        self.foresight = Foresight.of(self.all, self.explored)
        for grounds, explored, estimates in pending:
            self.foresight.take_many(grounds, explored, estimates, 1)

    def counted(self, on: On, reward: float, weight: float = 1.0) -> float:
        """The weight with which a reward is to be learnt; refuses what cannot be, and changes nothing."""
        if weight != 1.0 and not self.all.squares:
            raise InvalidSetting(f"a weight ({weight:g}) needs an estimator of least squares")
        self.all.refuse(reward)
        return self.all.counted(on, weight)

    def learn(self, on: On, reward: float, explored: bool, weight: float = 1.0) -> None:
        """Takes in a reward of a fixed arm, by its index, or of any x, or refuses it and changes nothing."""
        self.take(on, reward, explored, self.counted(on, reward, weight))

    def take(self, on: On, reward: float, explored: bool, weight: float) -> None:
        """Takes in a reward with the weight that `counted` gave: nothing of it can fail."""
        self.all.learn(on, reward, weight)
        if explored and self.explored is not None:
            self.explored.learn(on, reward, weight)

    def take_many(self, grounds: Grounds, rewards: Floats, explored: Bools, weights: Floats) -> None:
        """The same for many rewards, one after the other."""
        self.all.learn_many(grounds, rewards, weights)
        if self.explored is not None:
            self.explored.learn_many(grounds.at(explored), rewards[explored], weights[explored])

    def turns(self, on: On, explored: bool) -> Turns:
        """The numbers that the next reward learnt on this will have."""
        apart = self.explored if explored else None
        return self.all.turn(on), None if apart is None else apart.turn(on)

    def revise(self, revision: Revision, own_turn: int | None) -> None:
        """Gives a reward another value, or takes it out; `own_turn` is its number among exploring rounds."""
        self.all.revise(revision)
        if self.explored is not None and own_turn is not None:
            self.explored.revise(revision._replace(turn=own_turn))

    def entered(self, explored: bool) -> None:
        """A decision was taken on what is known now."""
        self.all.entered()
        if explored and self.explored is not None:
            self.explored.entered()

    def over(self, layout: Layout, places: Integers) -> Memory:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        explored = None if self.explored is None else self.explored.over(layout, places)
        foresight = None if self.foresight is None else self.foresight.over(layout, places)
        return Memory(self.all.over(layout, places), explored, foresight)

    def with_pulls(self, pulls: Integers) -> Memory:
        """The same of a map with other arms, whose rewards were so many."""
        return Memory(self.all, self.explored, self.foresight, pulls)

    def merge(self, other: Memory, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        self.all.add(other.all, places)
        if self.pulls is not None and other.pulls is not None:
            self.pulls += other.pulls
        if self.explored is not None and other.explored is not None:
            self.explored.add(other.explored, places)

    def growths(self) -> Growths:
        """All that was learnt, as sums: from every round and, if they are kept apart, from exploring ones."""
        everything, apart = self.all.growth(), None if self.explored is None else self.explored.growth()
        if self.pulls is None:
            return everything, apart
        none = np.zeros_like(self.pulls)
        counted = everything._replace(counts=np.array([self.pulls, none], dtype=np.float64))
        return counted, None if apart is None else apart._replace(counts=np.zeros((2, none.size)))

    def grow(self, growths: Growths) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        everything, apart = growths
        if self.pulls is not None:
            self.pulls += everything.counts[0].astype(np.int64)
            everything, apart = everything.of_no_arms(), None if apart is None else apart.of_no_arms()
        self.all.grow(everything)
        if self.explored is not None and apart is not None:
            self.explored.grow(apart)

    def arrays(self) -> Arrays:
        """All that was learnt, as arrays to be kept."""
        kept: Arrays = {"columns": self.columns}
        for name, statistics in self._parts():
            kept |= {f"{name} {part}": array for part, array in statistics.arrays().items()}
        return kept

    def restore(self, arrays: Arrays) -> None:
        """Takes all that was learnt from arrays that were kept."""
        for name, statistics in self._parts():
            prefix = f"{name} "
            own = {key.removeprefix(prefix): arrays[key] for key in arrays if key.startswith(prefix)}
            statistics.restore(own)

    def _parts(self) -> list[tuple[str, Statistics]]:
        explored = [] if self.explored is None else [("explored", self.explored)]
        return [("all", self.all), *explored]
