"""K ridge regressions of c features each: a reward costs O(c^2), and all of them take O(K c^2) numbers."""

from __future__ import annotations

from sys import getrefcount
from typing import final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.errors import DamagedFile, UnknownArm
from infex.kernels import small_ridges
from infex.kernels.glances_ahead import glance_ahead_in_blocks
from infex.kernels.layout import RUN
from infex.kernels.many_rewards import gather_blocks, learn_each_block
from infex.kernels.offered_arms import glance_among_blocks
from infex.linear.awaited_sums import BlockSums
from infex.linear.block_known import BlockKnown, Blocks
from infex.linear.estimating import Arrays
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.learnable import refuse_place
from infex.linear.numba_ridge import ALONE, fitting_sums
from infex.linear.offers import GONE, InBlock, InContext, Layout, Offer, On, Separate
from infex.linear.regression import checked_penalty
from infex.linear.revising import Revision, revise_sums
from infex.linear.scatter import Scatter, Scattered, by_arm, of_all_arms, scatter_kept, scattered
from infex.linear.strange_blocks import refuse_strange_blocks

NOBODY: Integers = np.zeros(0, dtype=np.int64)


@final
class BlockRidge:
    """A ridge regression for each arm, on contexts; each is what `RidgeStatistics` would be, to the last bit.

    `counts` are pulls and summed rewards of each arm, (2, K). The arrays are those that
    `kernels.small_ridges` describes.
    """

    __slots__ = (
        "_held",
        "_wide",
        "columns",
        "counts",
        "layout",
        "penalty",
        "runs",
        "scatters",
        "solved",
        "told",
        "truth",
    )

    squares = True

    def __init__(self, layout: Separate, penalty: float = 1.0) -> None:
        self.layout, self.penalty, self.told = layout, checked_penalty(penalty), 0
        count, dim, _ = layout
        self.columns: Floats = np.empty((count * dim, 0))  # none are fixed
        self._held: Blocks | None = None
        self.scatters = [Scatter() for _ in range(count)]
        self.counts: Floats = np.zeros((2, count))
        self.truth: Floats = np.zeros((count, 2, dim + 1, dim))
        self.solved: Floats = np.zeros((count, dim + 1, dim))
        self.runs: Floats = np.zeros((count, RUN))
        self._wide: Floats = wide_for(layout)
        self._blank()

    @property
    def state(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Truth, solved, wide, runs and counts, for a loop that changes them."""
        self._part()
        return self.truth, self.solved, self._wide, self.runs, self.counts

    def known(self) -> BlockKnown:
        """What is known, as numbers that stay as they are; of arms it tells in a context (`on`)."""
        return BlockKnown(self.blocks(), np.zeros(self.layout.dim), NOBODY)

    def glance(
        self, context: Floats, numbers: Floats, optimistic: bool
    ) -> tuple[int, int, float, float, float]:
        """One decision in one call: see `kernels.small_ridges.glance_at_blocks`."""
        return small_ridges.glance_at_blocks(self._wide, self.solved, self.runs, context, numbers, optimistic)

    def glance_ahead(
        self, awaited: Integers, context: Floats, numbers: Floats
    ) -> tuple[int, int, float, float, float]:
        """One optimistic decision beside pending ones: see `kernels.glances_ahead`."""
        return glance_ahead_in_blocks(self._wide, self.solved, self.runs, awaited, context, numbers)

    def glance_among(
        self, context: Floats, numbers: Floats, places: Integers, optimistic: bool
    ) -> tuple[int, int, float, float, float]:
        """The same among some of the arms."""
        mine = self._wide, self.solved, self.runs
        return glance_among_blocks(*mine, context, numbers, places, optimistic)

    def pending(self) -> BlockSums:
        """Sums over no pending decision."""
        return BlockSums.of(self.layout)

    def refuse(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def counted(self, on: On, weight: float) -> float:
        """The weight itself."""
        return weight

    def entered(self) -> None:
        """Nothing is searched for."""

    def learn(self, on: On, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm in a context; nothing, if the arm is gone."""
        arm, context = in_block(on)
        if arm == GONE:
            return
        refuse_place(arm, self.layout.arms)  # else compiled code would write beyond its arrays
        self._part()
        self.told += 1
        self.scatters[arm].squares += weight * reward * reward
        small_ridges.learn_block(
            self.truth, self.penalty, self.solved, self._wide, self.runs, self.counts,
            arm, context, reward, float(weight),
        )  # fmt: skip

    def learn_many(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        if self._take_part(grounds, rewards, weights):
            place, row, rows, _ = grounds
            learn_each_block(
                self.truth, self.penalty, self.solved, self._wide, self.runs, self.counts,
                place, row, np.ascontiguousarray(rows), rewards, weights,
            )  # fmt: skip

    def gather(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        if self._take_part(grounds, rewards, weights):
            place, row, rows, _ = grounds
            contexts = np.ascontiguousarray(rows)
            gather_blocks(self.truth, self.penalty, self.counts, place, row, contexts, rewards, weights)
            self.refresh()

    def _take_part(self, grounds: Grounds, rewards: Floats, weights: Floats) -> bool:
        """Makes ready for many rewards; False if there are none."""
        if not grounds.size:
            return False
        refuse_blocks(grounds, self.layout)
        self._part()
        self.told += int((grounds.place >= 0).sum())
        for arm in np.unique(grounds.place[grounds.place >= 0]).tolist():
            own = grounds.place == arm
            self.scatters[arm].learn_many(rewards[own], weights[own])
        return True

    def turn(self, on: On) -> int:
        """How many rewards were told."""
        return self.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; nothing, if the arm is gone."""
        arm, context = in_block(revision.on)
        if arm == GONE:
            return
        refuse_place(arm, self.layout.arms)
        self._part()
        revise_sums(self.truth[arm], self.penalty, np.array(context), revision)
        self.counts[:, arm] += revision.pulls, revision.gain
        self.told += revision.pulls
        small_ridges.refresh_block(self.truth, self.penalty, self.solved, self._wide, self.runs, arm)
        told = int(self.counts[0, arm])
        self.scatters[arm].revise(revision, self.truth[arm], self.penalty, told)

    def add(self, other: BlockRidge, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        self._part()
        self.told += other.told
        self.counts += moved(other.counts, places, self.layout.arms)
        small_ridges.add_blocks(self.truth, other.truth, places)
        self.refresh()
        for place, scatter in zip(places.tolist(), other.scatters, strict=True):
            if place != GONE:
                told = int(self.counts[0, place])
                self.scatters[place].join(scatter, self.truth[place], self.penalty, told)

    def growth(self) -> Gained:
        """All that was learnt, as sums."""
        return Gained(self.truth.copy(), self.counts.copy(), self.told)

    def grow(self, growth: Gained) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self._part()
        self.told += growth.told
        self.counts += growth.counts
        small_ridges.add_blocks(self.truth, growth.truth, np.arange(self.layout.arms))
        self.refresh()
        for arm in np.flatnonzero(growth.counts[0]).tolist():
            self._begin_scatter(arm)

    def over(self, layout: Layout, places: Integers) -> BlockRidge:
        """What was learnt of the arms that stay, bit for bit: each at its old place, or new (-1)."""
        other, known = BlockRidge(separate(layout), self.penalty), places >= 0
        old = places[known]
        other.truth[known], other.solved[known] = self.truth[old], self.solved[old]
        other.runs[known], other.counts[:, known] = self.runs[old], self.counts[:, old]
        small_ridges.turn_blocks(other.solved, other._wide)
        other.told = self.told - int(self.counts[0].sum() - other.counts[0].sum())
        for new, place in enumerate(places.tolist()):
            if place != GONE:
                other.scatters[new] = self.scatters[place].copy()
        return other

    def arrays(self) -> Arrays:
        """What was learnt, and all that it takes to go on bit for bit."""
        kept = {"truth": self.truth, "factors": self.solved, "runs": self.runs, "counts": self.counts}
        figures = np.array([scatter.figures for scatter in self.scatters])
        more = {"told": np.array(self.told), "scatter": figures}
        return {name: array.copy() for name, array in kept.items()} | more

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; what is derived must follow from the truth."""
        count, dim, _ = self.layout
        told = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], count, told)
        truth: Floats = fitting("truth", arrays["truth"], (count, 2, dim + 1, dim))
        for part in truth:
            fitting_sums("truth", part, dim, told, self.penalty)
        fresh = BlockRidge(self.layout, self.penalty)
        fresh.truth = truth
        fresh.refresh()
        if "factors" in arrays:  # else of a dense regression, or of another estimator
            fresh.solved, fresh.runs = refuse_strange_blocks(arrays, fresh.solved, fresh.runs)
            small_ridges.turn_blocks(fresh.solved, fresh._wide)
        self._held, self.told, self.counts = None, told, counts
        self.truth, self.solved, self.runs = fresh.truth, fresh.solved, fresh.runs
        self._wide = fresh._wide
        figures = arrays.get("scatter")
        if figures is not None and np.shape(figures) != (count, 3):
            raise DamagedFile(f"squares must be of {count} arms, got the shape {np.shape(figures)}")
        for arm in range(count):
            if figures is None:
                self._begin_scatter(arm)
            else:
                self.scatters[arm] = scatter_kept(figures[arm], counts[0, arm])

    def _begin_scatter(self, arm: int) -> None:
        """Of the rewards of an arm no more than their sums is known."""
        if self.counts[0, arm]:
            self.scatters[arm].begin(self.truth[arm], self.penalty, int(self.counts[0, arm]))
        else:
            self.scatters[arm] = Scatter()

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says of every arm in a context."""
        assert isinstance(offer, InContext), offer
        return self.scattered_in(*of_all_arms(self.layout.arms, offer.context), most)

    def scattered_in(self, arms: Integers, rows: Floats, most: float = 0.0) -> Scattered:
        """The same of arms, each in a context."""
        return by_arm(
            arms,
            rows,
            lambda arm, own: scattered(
                self.truth[arm], self.penalty, self.scatters[arm], self.counts[0, arm], own, most
            ),
        )

    def _blank(self) -> None:
        """All that is derived from nothing: the same for every arm."""
        small_ridges.refresh_blocks(self.truth[:1], self.penalty, self.solved[:1], self._wide, self.runs[:1])
        self.solved[:], self.runs[:], self._wide[:] = self.solved[0], self.runs[0], self._wide[:, :1]

    def refresh(self) -> None:
        """Computes all that is derived anew."""
        small_ridges.refresh_blocks(self.truth, self.penalty, self.solved, self._wide, self.runs)

    def blocks(self) -> Blocks:
        """What was learnt, as arrays that stay as long as somebody holds them."""
        held = self._held
        if held is None:
            arrays = self.solved, self._wide, self.runs, self.counts, self.truth
            held = Blocks(*arrays, self.told, self.penalty)
            self._held = held
        return held

    def _part(self) -> None:
        """Before a change: leaves the arrays to whoever still reads them, and goes on with copies."""
        held, self._held = self._held, None
        if held is not None and getrefcount(held) > ALONE:
            self.truth, self.solved = self.truth.copy(), self.solved.copy()
            self.runs, self.counts, self._wide = self.runs.copy(), self.counts.copy(), self._wide.copy()


def wide_for(layout: Separate) -> Floats:
    """Room for thetas and factors of all arms, turned."""
    arms, dim, _ = layout
    return np.zeros((dim + dim * (dim + 1) // 2, arms))


def refuse_blocks(grounds: Grounds, layout: Separate) -> None:
    """Refuses arms and contexts that are not there: compiled code would read beyond its arrays."""
    place, row, rows, apart = grounds
    if not apart or rows.shape[1:] != (layout.row,):
        raise UnknownArm(f"rewards must be learnt on arms in contexts of {layout.row} features")
    refuse_place(int(place.max(initial=0)), layout.arms)
    if not (row.min() >= 0 and row.max() < len(rows)):
        raise UnknownArm(f"a reward cannot be learnt in context {row.max()} of {len(rows)}")


def in_block(on: On) -> InBlock:
    """What a reward is learnt on, if it is an arm's own regression."""
    if not isinstance(on, InBlock):
        raise UnknownArm(f"a reward must be learnt on an arm in a context, not on {type(on).__name__}")
    return on


def separate(layout: Layout) -> Separate:
    """A layout, if it is of a regression for each arm."""
    assert isinstance(layout, Separate), layout
    return layout
