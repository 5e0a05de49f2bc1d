"""A ridge for each arm, tied by features that all arms share: a reward costs O(c^2 + c s + s^2)."""

from __future__ import annotations

import copy
from sys import getrefcount
from typing import final

import numpy as np

from infex.arrays import Floats, Integers, fitting, within
from infex.errors import DamagedFile, NotKept
from infex.kernels import tied_ridges
from infex.kernels.learning import add_truth
from infex.kernels.small_ridges import whole_volume
from infex.linear.awaited_sums import HybridSums
from infex.linear.block_ridge import NOBODY, BlockRidge, in_block, refuse_blocks, separate
from infex.linear.estimating import Arrays
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.hybrid_known import HybridKnown, Ties
from infex.linear.learnable import refuse_place
from infex.linear.numba_ridge import ALONE, RidgeStatistics, fitting_sums, near, refuse_strange
from infex.linear.offers import GONE, InBlock, InContext, Layout, Offer, On, Separate
from infex.linear.revising import Revision, revise_sums
from infex.linear.scatter import Scatter, Scattered, of_all_arms, scatter_kept
from infex.linear.tied_scatter import TiedSolved, TiedSums, tied_scattered

OF_THE_SHARED = "shared "
MOST_VOLUME = 1e12

TiedState = tuple[
    *tuple[Floats, float, Floats, Floats, Floats, Floats],  # arms by themselves
    *tuple[Floats, Floats, Floats],  # what ties them
    *tuple[Floats, Floats, Floats, Floats],  # what they share
]
"""What `kernels.tied_ridges.learn_tied` changes."""


@final
class HybridRidge:
    """theta_k for each arm and beta for all, as one ridge regression on (x in block k, z) has them.

    `own` are the arms by themselves, `left` the ridge of what they do not tell of shared features, as
    `kernels.tied_ridges` says; `gone` is the volume of arms that were removed, whose rewards stay in beta.
    It takes O(s^2 + K (c^2 + c s)) numbers.
    """

    __slots__ = ("_held", "columns", "common", "cross", "gone", "layout", "left", "own", "scatter", "tied")

    squares = True

    def __init__(self, layout: Separate, penalty: float = 1.0) -> None:
        arms, dim, shared = layout
        self.layout, self.gone, self.scatter = layout, 0.0, Scatter()
        self.own = BlockRidge(Separate(arms, dim), penalty)
        self.left = RidgeStatistics(np.empty((shared, 0)), penalty)
        self.columns: Floats = np.empty((layout.parameters, 0))  # none are fixed
        self.tied: Floats = np.zeros((arms, dim, shared))
        self.cross: Floats = np.zeros((arms, 2, dim, shared))
        self.common: Floats = np.zeros((2, shared + 1, shared))
        self._held: Ties | None = None

    @property
    def penalty(self) -> float:
        """That of all parameters."""
        return self.own.penalty

    @property
    def told(self) -> int:
        """How many rewards were learnt, those of arms that are gone included."""
        return self.left.told

    @told.setter
    def told(self, told: int) -> None:
        self.left.told = told

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self.own.counts

    def known(self) -> HybridKnown:
        """What is known, as numbers that stay as they are; of arms it tells in a context (`on`)."""
        held = self._held
        if held is None:
            sums = self.cross, self.common
            held = self._held = Ties(self.own.blocks(), self.left.known(), self.tied, self.gone, sums)
        return HybridKnown(held, np.zeros(self.layout.dim), np.zeros((0, self.layout.shared)), NOBODY)

    def glance(
        self, offer: InContext, numbers: Floats, optimistic: bool
    ) -> tuple[int, int, float, float, float]:
        """One decision in one call: see `kernels.tied_ridges.glance_at_tied`."""
        assert offer.rows is not None
        _, solved, _, run = self.left.solved_sums
        blocks = self.own.blocks()
        own = blocks.wide, blocks.solved, blocks.runs, self.tied
        asked = offer.context, offer.rows, numbers, optimistic
        return tied_ridges.glance_at_tied(*own, solved, run, self.gone, *asked)

    def pending(self) -> HybridSums:
        """Sums over no pending decision."""
        return HybridSums.of(self.layout)

    def refuse(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def counted(self, on: On, weight: float) -> float:
        """The weight itself."""
        return weight

    def entered(self) -> None:
        """Nothing is searched for."""

    def learn(self, on: On, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm in a context; nothing, if the arm is gone."""
        arm, row = in_block(on)
        if arm == GONE:
            return
        refuse_place(arm, self.layout.arms)  # else compiled code would write beyond its arrays
        arrays = self._part(1)
        self.scatter.squares += weight * reward * reward
        tied_ridges.learn_tied(*arrays, arm, np.ascontiguousarray(row), reward, float(weight))

    def learn_many(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        if grounds.size:
            refuse_blocks(grounds, self.layout)
            place, row, rows, _ = grounds
            arrays = self._part(int((place >= 0).sum()))
            self.scatter.learn_many(rewards[place >= 0], weights[place >= 0])
            tied_ridges.learn_each_tied(*arrays, place, row, np.ascontiguousarray(rows), rewards, weights)

    def gather(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        if not grounds.size:
            return
        refuse_blocks(grounds, self.layout)
        place, row, given, _ = grounds
        self._part(0)
        contexts = np.ascontiguousarray(given[:, : self.layout.dim])
        self.own.gather(Grounds(place, row, contexts, True), rewards, weights)
        rows = np.ascontiguousarray(given)
        tied_ridges.gather_tied(self.cross, self.common, place, row, rows, rewards, weights)
        self._refresh(self.told + int((place >= 0).sum()))
        self.scatter.learn_many(rewards[place >= 0], weights[place >= 0])

    def turn(self, on: On) -> int:
        """How many rewards were told."""
        return self.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none.

        NotKept for an arm that is gone: what its rewards told of the shared features stays as one sum.
        """
        arm, row = in_block(revision.on)
        if arm == GONE:
            raise NotKept(
                "the arm of this decision was removed: what its rewards told of features that arms share is "
                "kept as one sum, in which no single reward can be changed"
            )
        refuse_place(arm, self.layout.arms)
        self._part(0)
        x, z = np.array(row[: self.layout.dim]), np.array(row[self.layout.dim :])
        self.own.revise(revision._replace(on=InBlock(arm, x)))
        if revision.after is None:
            tied_ridges.add_cross(self.cross[arm], x, z, -float(revision.weight))
        revise_sums(self.common, 0.0, z, revision)
        self._refresh(self.told + revision.pulls)
        if not self.scatter.revised(revision):
            self._begin_scatter()

    def add(self, other: HybridRidge, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        self._part(0)
        self.gone += other.gone
        self.own.add(other.own, places)
        tied_ridges.add_tied(self.cross, other.cross, places)
        add_truth(self.common, other.common)
        self._refresh(self.told + other.told)
        if not self.scatter.joined(other.scatter):
            self._begin_scatter()

    def growth(self) -> Gained:
        """All that was learnt, as sums."""
        truth = np.concatenate([self.own.truth, np.swapaxes(self.cross, -1, -2)], axis=-2)
        return Gained(truth, self.counts.copy(), self.told, self.common.copy())

    def grow(self, growth: Gained) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        assert growth.common is not None
        self._part(0)
        arms, dim, _ = self.layout
        truth = np.ascontiguousarray(growth.truth[..., : dim + 1, :])
        cross = np.ascontiguousarray(np.swapaxes(growth.truth[..., dim + 1 :, :], -1, -2))
        self.own.grow(Gained(truth, growth.counts, int(growth.counts[0].sum())))
        tied_ridges.add_tied(self.cross, cross, np.arange(arms))
        add_truth(self.common, growth.common)
        self._refresh(self.told + growth.told)
        self._begin_scatter()

    def over(self, layout: Layout, places: Integers) -> HybridRidge:
        """What was learnt, over other arms: each at its old place, or new (-1).

        What rewards of an arm that goes have told of the shared features stays, with its own parameter
        unknown: beta and its widths are as they were.
        """
        other, known = HybridRidge(separate(layout), self.penalty), places >= 0
        old = places[known]
        other.own = self.own.over(Separate(*other.layout[:2]), places)
        other.tied[known], other.cross[known] = self.tied[old], self.cross[old]
        other.common, other.left = self.common.copy(), copy.deepcopy(self.left)
        gone = np.setdiff1d(np.arange(self.layout.arms), old)
        sums = self.own.truth[gone], self.cross[gone]
        tied_ridges.eliminate(*sums, self.penalty, self.tied[gone], other.common)
        other.gone = self.gone + whole_volume(self.own.runs[gone])
        other.scatter = self.scatter.copy()
        if self.counts[0, gone].any():
            other._begin_scatter()
        return other

    def arrays(self) -> Arrays:
        """What was learnt, and all that it takes to go on bit for bit."""
        kept = {"tied": self.tied, "cross": self.cross, "common": self.common, "gone": np.array(self.gone)}
        kept |= {"squares": np.array(self.scatter.figures)}
        left = {f"{OF_THE_SHARED}{name}": array for name, array in self.left.arrays().items()}
        own = self.own.arrays() | {"pulled": np.array(self.own.told), "told": np.array(self.told)}
        own |= {"scatter": self._apart}
        return own | left | {name: array.copy() for name, array in kept.items()}

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; what is derived must follow from the truth."""
        arms, dim, shared = self.layout
        fresh = HybridRidge(self.layout, self.penalty)
        told = int(fitting("told", arrays["told"], (), whole=True))
        fresh.gone = float(within("the volume of arms that are gone", arrays["gone"], (), 0.0, MOST_VOLUME))
        fresh.own.restore(arrays | {"told": arrays["pulled"], "scatter": self._apart})
        fresh.cross[:] = fitting("cross", arrays["cross"], (arms, 2, dim, shared))
        fresh.common[:] = fitting_sums("common", arrays["common"], shared, told, self.penalty)
        if fresh.own.told > told:
            raise DamagedFile(f"its arms have learnt {fresh.own.told} rewards, and all together {told}")
        fitting_sums("what arms share", fresh._left_over(), shared, told, self.penalty)
        fresh._refresh(told)
        if "tied" in arrays:  # else all is computed anew
            fresh._take(arrays)
        if "squares" in arrays:  # else of a file from before
            fresh.scatter = scatter_kept(arrays["squares"], told)
        else:
            fresh._begin_scatter()
        self.own, self.left, self.tied = fresh.own, fresh.left, fresh.tied
        self.cross, self.common, self.gone, self._held = fresh.cross, fresh.common, fresh.gone, None
        self.scatter = fresh.scatter

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says of every arm in a context."""
        assert isinstance(offer, InContext), offer
        assert offer.rows is not None
        arms, contexts = of_all_arms(self.layout.arms, offer.context)
        return self.scattered_in(arms, np.hstack([contexts, offer.rows]), most)

    def scattered_in(self, arms: Integers, rows: Floats, most: float = 0.0) -> Scattered:
        """The same of arms, each in a context, with its shared features behind it."""
        return tied_scattered(self._sums, self.scatter, self.told, arms, rows, most, lost=self.gone > 0.0)

    @property
    def _sums(self) -> TiedSums:
        return TiedSums(self.own.truth, self.cross.sum(axis=1), self.left.snapshot(), self.penalty)

    @property
    def _apart(self) -> Floats:
        """What is kept of squares by arm, (K, 3): nothing, as all arms have one sum."""
        return np.zeros((self.layout.arms, 3))

    def _begin_scatter(self) -> None:
        """Of the rewards so far no more than their sums is known."""
        solved = TiedSolved.of(self._sums)
        self.scatter = Scatter(max(solved.fitted, 0.0), float(self.told), solved.spent)

    def _take(self, arrays: Arrays) -> None:
        """What is derived, of a file, if it is near what was computed anew."""
        tied: Floats = fitting("tied", arrays["tied"], self.tied.shape)
        if not near(tied, self.tied):
            raise DamagedFile("what arms tell of shared features does not follow from what was learnt")
        left = RidgeStatistics(self.left.columns, self.penalty)
        prefix = OF_THE_SHARED
        left.restore({name.removeprefix(prefix): arrays[name] for name in arrays if name.startswith(prefix)})
        with np.errstate(all="ignore"):  # numbers of a file may be anything
            refuse_strange(left.known(), left.known().theta, self.left.known())
        if left.told != self.left.told:
            raise DamagedFile(f"its shared features were learnt from {left.told} rewards of {self.left.told}")
        self.tied, self.left = tied, left

    def _refresh(self, told: int) -> None:
        """Computes all that is derived anew; the arms by themselves are."""
        self.left.begin(self._left_over(), told)

    def _left_over(self) -> Floats:
        """The sums of what arms do not tell of shared features by themselves; `tied` is computed anew."""
        left = self.common.copy()
        tied_ridges.eliminate(self.own.truth, self.cross, self.penalty, self.tied, left)
        return left

    def _part(self, more: int) -> TiedState:
        """Before a change: leaves arrays to whoever still reads them. All of them, for `learn_tied`."""
        held, self._held = self._held, None
        if held is not None and getrefcount(held) > ALONE:
            self.tied, self.cross, self.common = self.tied.copy(), self.cross.copy(), self.common.copy()
        del held  # which holds the others
        truth, solved, wide, runs, counts = self.own.state
        left, left_solved, _, _, vectors, run = self.left.state
        self.own.told += more
        self.left.told += more
        own = truth, self.penalty, solved, wide, runs, counts
        return *own, self.tied, self.cross, self.common, left, left_solved, vectors, run
