"""Ridge regression, kept up with every reward in O(d^2) and, over a fixed arm set, O(d K)."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.checks import real
from infex.core.ridge import Ridge
from infex.errors import DamagedFile
from infex.linear.estimating import Arrays
from infex.linear.foresight import DenseSums
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.known import Known
from infex.linear.learnable import (
    readable_rows,
    refuse_block,
    refuse_place,
    refuse_places,
    refuse_separate,
)
from infex.linear.moments import fitting_sums
from infex.linear.offers import Layout, Offer, On
from infex.linear.revising import Revision
from infex.linear.scatter import Scatter, Scattered, scatter_kept, scattered

LEAST_PENALTY = 1e-10  # with which V can still be factored when arms lie in a plane


def checked_penalty(penalty: float) -> float:
    """`penalty`, if V can be factored with it."""
    return real("penalty", real("penalty", penalty, above=0), least=LEAST_PENALTY)


@final
class RidgeStatistics:
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    The sums keep what rounding takes from them; all else is derived from them, kept up by exact algebra, and
    computed anew before rounding can tell (see `core/ridge.pxd`). `columns` are the arms, (d, K); K may be 0.
    `scatter` is what the squares of rewards tell of their noise.
    """

    __slots__ = ("_known", "_ridge", "columns", "scatter")

    squares = True

    def __init__(self, columns: Floats, penalty: float = 1.0) -> None:
        self._ridge = Ridge(columns, checked_penalty(penalty))
        self.columns = self._ridge.columns
        self.scatter = Scatter()
        self._known = Known(self._ridge), self._ridge.version

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def penalty(self) -> float:
        """The ridge penalty."""
        return self._ridge.penalty

    @property
    def told(self) -> int:
        """How many rewards were learnt."""
        return self._ridge.told

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self._ridge.counts

    def known(self) -> Known:
        """What is known of the arms until the next reward is learnt."""
        known, version = self._known
        if version != self._ridge.version:
            known = Known(self._ridge)
            self._known = known, self._ridge.version
        return known

    def pending(self) -> DenseSums:
        """Sums over no pending decision."""
        return DenseSums(self.columns)

    def __reduce__(self) -> tuple[Callable[..., RidgeStatistics], tuple[Ridge, Scatter]]:
        return RidgeStatistics._on, (self._ridge, self.scatter)

    @staticmethod
    def _on(ridge: Ridge, scatter: Scatter) -> RidgeStatistics:
        """Statistics that go on with this ridge."""
        made = RidgeStatistics(ridge.columns, ridge.penalty)
        made._ridge, made.columns, made.scatter = ridge, ridge.columns, scatter
        made._known = Known(ridge), ridge.version
        return made

    def refuse(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def counted(self, on: On, weight: float) -> float:
        """The weight itself."""
        return weight

    def entered(self) -> None:
        """Nothing is searched for."""

    def learn(self, on: On, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm, O(1) while the same arm goes on, or of any x."""
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])
            self._ridge.learn(on, reward, weight)
        else:
            self._ridge.absorb(refuse_block(on), reward, weight)
        self.scatter.squares += weight * reward * reward

    def learn_many(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        refuse_places(grounds, self.columns.shape)
        self._ridge.learn_many(grounds.place, grounds.row, readable_rows(grounds, self.dim), rewards, weights)
        self.scatter.learn_many(rewards, weights)

    def gather(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        refuse_places(grounds, self.columns.shape)
        self._ridge.gather(grounds.place, grounds.row, readable_rows(grounds, self.dim), rewards, weights)
        self.scatter.learn_many(rewards, weights)

    def turn(self, on: On) -> int:
        """How many rewards were told."""
        return self.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; O(d^3 + d^2 K)."""
        on = revision.on if isinstance(revision.on, int) else refuse_block(revision.on)
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])
        self._ridge.revise(on, revision.before, revision.after, revision.weight)
        self.scatter.revise(revision, self._ridge.sums, self.penalty, self.told)

    def add(self, other: RidgeStatistics, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self._ridge.add(other.snapshot(), moved(other.counts, places, self.columns.shape[1]), other.told)
        self.scatter.join(other.scatter, self._ridge.sums, self.penalty, self.told)

    def growth(self) -> Gained:
        """All that was learnt, as sums."""
        return Gained(self.snapshot(), self.counts.copy(), self.told)

    def grow(self, growth: Gained) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self._ridge.add(growth.truth, growth.counts, growth.told)
        self.scatter.begin(self._ridge.sums, self.penalty, self.told)

    def over(self, layout: Layout, places: Integers) -> RidgeStatistics:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other, known = RidgeStatistics(refuse_separate(layout), self.penalty), places >= 0
        counts = np.zeros(other.counts.shape)
        counts[:, known] = self.counts[:, places[known]]
        other._ridge.restart(self.snapshot(), counts, self.told)
        other.scatter = self.scatter.copy()
        return other

    def arrays(self) -> Arrays:
        """All of it verbatim. `truth` has the run under way in it, for an estimator that knows of no runs."""
        return self._ridge.arrays() | {"scatter": np.array(self.scatter.figures)}

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here, to go on bit for bit, or from sums where no more is given."""
        told = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], told)
        scatter = scatter_kept(arrays["scatter"], told) if "scatter" in arrays else None
        try:
            if "closed" in arrays:
                self._ridge.restore(arrays)
            else:  # of another estimator, or over other arms
                truth = fitting_sums("truth", arrays["truth"], self.dim, told, self.penalty)
                self._ridge.restart(truth, counts, told)
        except ValueError as wrong:
            raise DamagedFile(str(wrong)) from None
        self.scatter = scatter or Scatter().begin(self.snapshot(), self.penalty, told)

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says of the fixed arms, or of those on offer."""
        columns = self.columns if offer is None or not isinstance(offer, np.ndarray) else offer
        return scattered(self.snapshot(), self.penalty, self.scatter, self.told, columns.T, most)

    def snapshot(self) -> Floats:
        """The sums with the run under way in them, (2, d + 1, d), as an array of its own."""
        return self._ridge.whole_sums()
