"""Ridge regression, kept up with every reward in O(d^2) and, over a fixed arm set, O(d K)."""

from __future__ import annotations

from sys import getrefcount
from typing import final

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.checks import real
from infex.kernels.awaiting import glance_ahead
from infex.kernels.layout import LARGE, blank
from infex.kernels.many_rewards import gather_arms, gather_rows, learn_each
from infex.linear.estimating import Arrays
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.holders import ALONE
from infex.linear.known import Known, Learnt
from infex.linear.learnable import (
    arm_of,
    readable_rows,
    refuse_block,
    refuse_place,
    refuse_places,
    refuse_separate,
)
from infex.linear.offers import Layout, Offer, On
from infex.linear.revising import Revision, revise_sums
from infex.linear.scatter import Scatter, Scattered, scatter_of, scattered
from infex.linear.strange import fitting_sums, refuse_no_numbers, refuse_run, refuse_strange

LEAST_PENALTY = 1e-10  # with which V can still be factored when arms lie in a plane


def checked_penalty(penalty: float) -> float:
    """`penalty`, if V can be factored with it."""
    return real("penalty", real("penalty", penalty, above=0), least=LEAST_PENALTY)


@final
class RidgeStatistics:
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    The truth is what was learnt, summed without loss, from `told` rewards; all else is derived from
    it, kept up by exact algebra, and computed anew before rounding can tell (see `kernels`).
    `columns` are the arms, (d, K); K may be 0. `counts` are pulls and summed rewards of each.
    """

    __slots__ = (
        "_arm", "_board", "_known", "_learnt", "_stale",
        "columns", "counts", "penalty", "scatter", "told", "truth",
    )  # fmt: skip

    squares = True

    def __init__(self, columns: Floats, penalty: float = 1.0) -> None:
        dim, arms = columns.shape
        self.penalty = checked_penalty(penalty)
        self.columns = np.ascontiguousarray(columns, dtype=np.float64)
        self.told = 0
        self.scatter = Scatter()
        self._known: Known | None = None
        self._stale = False  # is `_known` of before the last change? (Then nobody else holds it.)
        self.counts: Floats = np.zeros((2, arms))
        truth, solved, self._board, vectors, run = blank(dim, arms)
        self._take(truth, solved, vectors, run)
        self._refresh()

    @property
    def dim(self) -> int:
        """The dimension d."""
        return int(self.columns.shape[0])

    @property
    def state(self) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        """The six arrays of `kernels`, for a loop that changes them."""
        self._part()
        self._arm = -1  # after which this one does not know what run is under way
        learnt = self._learnt
        return self.truth, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run

    @property
    def solved_sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Truth, solved, vectors and run, for a kernel that reads them at once."""
        solved, vectors, run, *_ = self._learnt
        return self.truth, solved, vectors, run

    @property
    def settled(self) -> Learnt:
        """What arms that are not kept up are read from."""
        return self._learnt.settled()

    @property
    def kept_up(self) -> tuple[Floats, Floats]:
        """The board and the run, for a kernel that reads them at once."""
        return self._board, self._learnt.run

    def greedy_glance(self, numbers: Floats) -> tuple[int, int, float, float, float]:
        """One greedy decision in one call: see `kernels.greedy_glance`."""
        return kernels.greedy_glance(self._board, self._learnt.run, numbers)

    def glance(self, numbers: Floats, work: Floats, places: Integers) -> tuple[int, int, float, float, float]:
        """One optimistic decision in one call: see `kernels.glance`."""
        return kernels.glance(self._board, self._learnt.run, numbers, work, places)

    def glance_ahead(
        self, awaited: Integers, numbers: Floats, ahead: Floats, places: Integers
    ) -> tuple[int, int, float, float, float]:
        """One optimistic decision beside pending ones: see `kernels.awaiting.glance_ahead`."""
        solved, vectors, run, *_ = self._learnt
        board, columns = self._board, self.columns
        return glance_ahead(board, solved, vectors, run, columns, awaited, numbers, ahead, places)

    def known(self) -> Known:
        """What is known of the arms, as numbers that stay as they are."""
        known = self._known
        if known is None:
            known = self._known = Known(
                self._learnt, self.columns, self.told, board=self._board, counts=self.counts, lasting=True
            )
        elif self._stale:
            known.look(self.told)
        self._stale = False
        return known

    def refuse(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def counted(self, on: On, weight: float) -> float:
        """The weight itself."""
        return weight

    def entered(self) -> None:
        """Nothing is searched for."""

    def learn(self, on: On, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm, O(1) while the same arm goes on, or of any x."""
        if self._known is not None and not self._stale:
            self._part()
        if type(on) is int and on == self._arm >= 0 and weight == 1.0 and -LARGE <= reward <= LARGE:
            self.told += 1  # the common case, with fewer arrays to hand over
            self.scatter.squares += reward * reward
            if kernels.pull_counted(self._learnt.run, self.counts, on, reward):
                self._close()
        else:
            self._learn(on, reward, weight)

    def _learn(self, on: On, reward: float, weight: float) -> None:
        """The same for a reward that is not simply one more of the run under way."""
        on = on if isinstance(on, int) else refuse_block(on)
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])  # else compiled code would write beyond its arrays
        self.told += 1
        self.scatter.squares += weight * reward * reward
        learnt = self._learnt
        if weight == 1.0 and isinstance(on, int):
            kernels.learn_counted(
                self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors,
                learnt.run, self.counts, on, reward,
            )  # fmt: skip
            self._arm = arm_of(learnt.run)
            return
        self._arm = -1
        if isinstance(on, int):
            self.counts[:, on] += 1.0, reward
            x: Floats = self.columns[:, on].copy()
        else:
            x = on
        kernels.absorb_weighted(
            self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run,
            x, reward, float(weight),
        )  # fmt: skip

    def learn_many(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        if not rewards.size:
            return
        refuse_places(grounds, self.columns.shape)
        self._part()
        self.told += rewards.size
        self.scatter.learn_many(rewards, weights)
        learnt = self._learnt
        learn_each(
            self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run,
            self.counts, grounds.place, grounds.row, readable_rows(grounds, self.dim), rewards, weights,
        )  # fmt: skip
        self._arm = arm_of(learnt.run)

    def gather(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        if not rewards.size:
            return
        refuse_places(grounds, self.columns.shape)
        truth, fixed = self.snapshot(), grounds.place >= 0
        self._part()
        gather_arms(
            truth,
            self.penalty,
            self.columns,
            self.counts,
            grounds.place[fixed],
            rewards[fixed],
            weights[fixed],
        )
        rows = readable_rows(grounds, self.dim)[grounds.row[~fixed]]
        gather_rows(truth, self.penalty, rows, rewards[~fixed], weights[~fixed])
        self.scatter.learn_many(rewards, weights)
        self.begin(truth, self.told + rewards.size)

    def turn(self, on: On) -> int:
        """How many rewards were told."""
        return self.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; O(d^3 + d^2 K)."""
        on = revision.on if isinstance(revision.on, int) else refuse_block(revision.on)
        if isinstance(on, int):
            refuse_place(on, self.columns.shape[1])
        self._part()
        self._close()
        x = np.array(self.columns[:, on] if isinstance(on, int) else on)
        revise_sums(self.truth, self.penalty, x, revision)
        if isinstance(on, int):
            self.counts[:, on] += revision.pulls, revision.gain
        self.told += revision.pulls
        self._refresh()
        self.scatter.revise(revision, self.truth, self.penalty, self.told)

    def add(self, other: RidgeStatistics, places: Integers) -> None:
        """Takes in all that another has learnt."""
        self._part()
        self._close()
        self.told += other.told
        kernels.add_truth(self.truth, other.snapshot())
        self.counts += moved(other.counts, places, self.counts.shape[1])
        self._refresh()
        self.scatter.join(other.scatter, self.truth, self.penalty, self.told)

    def growth(self) -> Gained:
        """All that was learnt, as sums."""
        return Gained(self.snapshot(), self.counts.copy(), self.told)

    def grow(self, growth: Gained) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self._part()
        self._close()
        self.told += growth.told
        kernels.add_truth(self.truth, growth.truth)
        self.counts += growth.counts
        self._refresh()
        self.scatter.begin(self.truth, self.penalty, self.told)

    def over(self, layout: Layout, places: Integers) -> RidgeStatistics:
        """What was learnt, over other arms: each at its old place, or new (-1)."""
        other = RidgeStatistics(refuse_separate(layout), self.penalty)
        other.begin(self.snapshot(), self.told)
        other.scatter = self.scatter.copy()
        known = places >= 0
        other.counts[:, known] = self.counts[:, places[known]]
        return other

    def arrays(self) -> Arrays:
        """What was learnt, and all that it takes to go on bit for bit.

        The truth has the run under way in it, for an estimator that knows of no runs; `closed` has not.
        """
        learnt = self._learnt
        kept = {"closed": self.truth, "counts": self.counts, "told": np.array(self.told)}
        kept |= {"solved": learnt.solved, "vectors": learnt.vectors, "run": learnt.run, "board": self._board}
        kept |= {"scatter": np.array(self.scatter.figures)}
        return {"truth": self.snapshot()} | {name: array.copy() for name, array in kept.items()}

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; what is derived must follow from the truth."""
        kept = self.arrays()
        told = int(fitting("told", arrays["told"], (), whole=True))
        truth = fitting_sums("truth", arrays["truth"], self.dim, told, self.penalty)
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], told)
        if "closed" not in arrays:  # of format 1, or of another estimator
            self.begin(truth, told)
            self.counts[:] = counts
            refuse_no_numbers(self.known())
            self.scatter = scatter_of(arrays, self.snapshot(), self.penalty, told)
            return
        names = ("closed", "solved", "vectors", "run", "board")
        closed, solved, vectors, run, board = (
            fitting(name, arrays[name], kept[name].shape) for name in names
        )
        other = RidgeStatistics(self.columns, self.penalty)
        other._take(closed, solved, vectors, run)
        other._board, other.counts, other.told = board, counts, told
        with np.errstate(all="ignore"):  # numbers of a file may be anything
            refuse_run(other._learnt, other.columns, board, other.snapshot(), truth)
            fresh = other.over(other.columns, np.full(other.columns.shape[1], -1))
            refuse_strange(other.known(), other._learnt.theta, fresh.known())
        self.told, self.counts, self._board = told, counts, board
        self._known, self._stale = None, False
        self._take(closed, solved, vectors, run)
        self.scatter = scatter_of(arrays, self.snapshot(), self.penalty, told)

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says of the fixed arms, or of those on offer."""
        columns = self.columns if offer is None or not isinstance(offer, np.ndarray) else offer
        return scattered(self.snapshot(), self.penalty, self.scatter, self.told, columns.T, most)

    def snapshot(self) -> Floats:
        """A copy of the truth with the run under way in it, which goes on as it is."""
        return self._learnt.whole_truth()

    def begin(self, truth: Floats, told: int) -> None:
        """Starts from a truth, with no run under way."""
        self._part()
        self.truth[:] = truth
        self.told = told
        self._learnt.run[:] = 0.0
        self._refresh()

    def _take(self, truth: Floats, solved: Floats, vectors: Floats, run: Floats) -> None:
        self.truth = truth
        self._arm = arm_of(run)
        self._learnt = Learnt(solved, vectors, run, self.penalty, truth)

    def _part(self) -> None:
        """Before a change: leaves the arrays to whoever still reads them, and goes on with copies."""
        known, self._known = self._known, None
        if known is None:
            return
        if getrefcount(known) == ALONE and self._board.shape[1]:
            self._known, self._stale = known, True  # nobody else reads it: it can be read anew
            return
        if getrefcount(known) > ALONE:
            learnt = self._learnt
            self._board, self.counts = self._board.copy(), self.counts.copy()
            self._take(self.truth.copy(), learnt.solved.copy(), learnt.vectors.copy(), learnt.run.copy())

    def _close(self) -> None:
        self._arm = -1
        learnt = self._learnt
        kernels.close_run(
            self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.vectors, learnt.run
        )

    def _refresh(self) -> None:
        self._arm = -1
        learnt = self._learnt
        kernels.refresh(self.truth, self.penalty, learnt.solved, self.columns, self._board, learnt.run)
