"""K regressions of any estimator: each is solved anew only after it was told a reward."""

from __future__ import annotations

from sys import getrefcount
from typing import Any, final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts, moved
from infex.checks import told
from infex.errors import CannotMerge, DamagedFile, NotKept
from infex.kernels import small_ridges
from infex.kernels.layout import ARM, RUN, VOLUME
from infex.linear.awaited_sums import BlockSums
from infex.linear.block_known import BlockKnown, Blocks
from infex.linear.block_ridge import NOBODY, in_block, separate, wide_for
from infex.linear.estimating import Arrays, Estimator, Statistics
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.known import Known
from infex.linear.learnable import refuse_place
from infex.linear.numba_ridge import ALONE, LINEAR, LOGISTIC
from infex.linear.offers import GONE, InContext, Layout, Offer, On, Separate
from infex.linear.revising import Revision
from infex.linear.scatter import Scattered, Scattering, by_arm, of_all_arms

OF_ALL = ("told", "counts")  # what is kept of all arms together


@final
class FittedBlocks:
    """Statistics of an estimator for each arm, on contexts: a reward reaches that of its arm alone.

    What they say stands in the arrays of `kernels.small_ridges`, brought up to date when it is asked for.
    """

    __slots__ = (
        "_asked", "_estimator", "_held", "_late", "_runs", "_solved", "_stale", "_tolds", "_truth", "_wide",
        "columns", "counts", "layout", "parts", "told",
    )  # fmt: skip

    def __init__(self, layout: Separate, penalty: float, estimator: Estimator) -> None:
        self.layout, self._asked, self._estimator, self.told = layout, penalty, estimator, 0
        count, dim, _ = layout
        self.columns: Floats = np.empty((count * dim, 0))  # none are fixed
        self.parts: list[Statistics] = [estimator.start(np.empty((dim, 0)), penalty) for _ in range(count)]
        self.counts: Floats = np.zeros((2, count))
        self._tolds: Integers = np.zeros(count, dtype=np.int64)
        self._solved: Floats = np.zeros((count, dim + 1, dim))
        self._runs: Floats = np.zeros((count, RUN))
        self._wide: Floats = wide_for(layout)
        self._truth: Floats | None = np.zeros((count, 2, dim + 1, dim))
        self._held: Blocks | None = None
        self._stale = set(range(count))  # arms whose arrays are of before their last reward
        self._late = set(range(count))  # arms that were told since a decision was entered

    @property
    def squares(self) -> bool:
        """Is it least squares?"""
        return self.parts[0].squares

    @property
    def penalty(self) -> float:
        """That of each."""
        return self.parts[0].penalty

    def known(self) -> BlockKnown:
        """What is known, as numbers that stay as they are; of arms it tells in a context (`on`)."""
        if self._stale:
            self._renew()
        if self._held is None:
            told, link = int(self._tolds.sum()), LOGISTIC if self._known(0).logistic else LINEAR
            arrays = self._solved, self._wide, self._runs, self.counts, self._truth
            self._held = Blocks(*arrays, told, self.penalty, link)
        return BlockKnown(self._held, np.zeros(self.layout.dim), NOBODY)

    def pending(self) -> BlockSums:
        """Sums over no pending decision."""
        return BlockSums.of(self.layout)

    def refuse(self, reward: float) -> None:
        """Refuses a reward that could not be taken in."""
        self.parts[0].refuse(reward)

    def counted(self, on: On, weight: float) -> float:
        """The weight with which a reward is to be learnt."""
        arm, context = in_block(on)
        return weight if arm == GONE else self.parts[arm].counted(context, weight)

    def entered(self) -> None:
        """A decision was taken on what is known now."""
        for arm in self._late:
            self.parts[arm].entered()
        self._late = set()

    def learn(self, on: On, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm in a context; nothing, if the arm is gone."""
        arm, context = in_block(on)
        if arm == GONE:
            return
        refuse_place(arm, self.layout.arms)
        self.parts[arm].learn(context, reward, weight)
        self.told += 1
        self._part()
        self.counts[:, arm] += 1.0, reward
        self._stale.add(arm)
        self._late.add(arm)

    def learn_many(self, grounds: Grounds, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other."""
        for place, (reward, weight) in enumerate(zip(rewards.tolist(), weights.tolist(), strict=True)):
            self.learn(grounds.on(place), reward, weight)

    gather = learn_many

    def turn(self, on: On) -> int:
        """How many rewards the arm's own regression was told."""
        arm = in_block(on).arm
        return 0 if arm == GONE else self.parts[arm].told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; nothing, if the arm is gone."""
        arm, context = in_block(revision.on)
        if arm == GONE:
            return
        refuse_place(arm, self.layout.arms)
        self.parts[arm].revise(revision._replace(on=context))
        self.told += revision.pulls
        self._part()
        self.counts[:, arm] += revision.pulls, revision.gain
        self._stale.add(arm)
        self._late.add(arm)

    def add(self, other: FittedBlocks, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        for place, part in zip(places.tolist(), other.parts, strict=True):
            if place != GONE:
                self.parts[place].add(part, NOBODY)
        self._part()
        self.told += other.told
        self.counts += moved(other.counts, places, self.layout.arms)
        self._stale, self._late = set(range(self.layout.arms)), set(range(self.layout.arms))

    def growth(self) -> Gained:
        """None: what each estimator keeps is its own."""
        raise CannotMerge(f"what {self._estimator!r} has learnt of each arm is not kept as sums that add up")

    def grow(self, growth: Gained) -> None:
        """None can be taken in."""
        self.growth()

    def over(self, layout: Layout, places: Integers) -> FittedBlocks:
        """What was learnt of the arms that stay: each at its old place, or new (-1)."""
        other, known = FittedBlocks(separate(layout), self._asked, self._estimator), places >= 0
        for new, old in enumerate(places.tolist()):
            if old != GONE:
                other.parts[new] = self.parts[old]
        other.counts[:, known] = self.counts[:, places[known]]
        other.told = self.told - int(self.counts[0].sum() - other.counts[0].sum())
        other._late = {new for new, old in enumerate(places.tolist()) if old == GONE or old in self._late}
        return other

    def arrays(self) -> Arrays:
        """All of it: what each keeps, one behind the other."""
        kept = [part.arrays() for part in self.parts]
        found: Arrays = {"told": np.array(self.told), "counts": self.counts.copy()}
        found["late"] = np.array(sorted(self._late), dtype=np.int64)
        found["tolds"] = np.array([part.told for part in self.parts], dtype=np.int64)
        for name in kept[0]:
            if name not in OF_ALL:
                found |= _joined(name, [each[name] for each in kept])
        return found

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here, or refuses the arrays and changes nothing."""
        count = self.layout.arms
        told = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], count, told)
        tolds: Integers = fitting(
            "tolds", arrays.get("tolds", counts[0].astype(np.int64)), (count,), whole=True
        )
        late: Integers = fitting("late", arrays.get("late", np.arange(count)), (-1,), whole=True)
        if (late >= count).any():
            raise DamagedFile(f"an arm that was told since is number {late.max()} of {count}")
        fresh = FittedBlocks(self.layout, self._asked, self._estimator)
        for arm, part in enumerate(fresh.parts):
            names = [name for name in part.arrays() if name not in OF_ALL and name in arrays]
            own = {name: _part_of(name, arrays, arm, count) for name in names}
            part.restore(own | {"told": tolds[arm], "counts": np.zeros((2, 0))})
        self.parts, self.counts, self.told, self._held = fresh.parts, counts, told, None
        self._stale, self._late = set(range(count)), set(late.tolist())

    def scattered(self, offer: Offer | None, most: float = 0.0) -> Scattered:
        """What the noise that was seen says of every arm in a context, each by its own rewards."""
        assert isinstance(offer, InContext), offer
        return self.scattered_in(*of_all_arms(self.layout.arms, offer.context), most)

    def scattered_in(self, arms: Integers, rows: Floats, most: float = 0.0) -> Scattered:
        """The same of arms, each in a context."""

        def tell(arm: int, own: Floats) -> Scattered:
            part = self.parts[arm]
            if not isinstance(part, Scattering):
                raise NotKept(f"{told(self._estimator)} tells nothing of the noise that was seen")
            return part.scattered(own.T, most)

        return by_arm(arms, rows, tell)

    def _known(self, arm: int) -> Known:
        known = self.parts[arm].known()
        assert isinstance(known, Known), "an estimator starts statistics of one regression"
        return known

    def _renew(self) -> None:
        """Brings the arrays up to date; those that somebody else reads are left to him."""
        self._part()
        for arm in self._stale:
            known = self._known(arm)
            truth = known.sums()
            self._solved[arm] = np.vstack([known.factor, known.theta])
            self._runs[arm], self._runs[arm, ARM], self._runs[arm, VOLUME] = 0.0, -1.0, known.volume
            self._tolds[arm] = known.told
            if truth is None:
                self._truth = None
            elif self._truth is not None:
                self._truth[arm] = truth
        small_ridges.turn_blocks(self._solved, self._wide)
        self._stale = set()

    def _part(self) -> None:
        """Before a change: leaves the arrays to whoever still reads them, and goes on with copies."""
        held, self._held = self._held, None
        if held is not None and getrefcount(held) > ALONE:
            self._solved, self._runs, self.counts = self._solved.copy(), self._runs.copy(), self.counts.copy()
            self._truth = None if self._truth is None else self._truth.copy()
            self._wide = self._wide.copy()


def _joined(name: str, parts: list[Any]) -> Arrays:
    """Arrays of all arms as one: side by side where they are of one shape, else one behind the other."""
    if len({part.shape for part in parts}) == 1:
        return {name: np.stack(parts)}
    return {name: np.concatenate(parts), f"{name} lengths": np.array([len(part) for part in parts])}


def _part_of(name: str, arrays: Arrays, arm: int, count: int) -> Any:
    """What `_joined` has of one arm."""
    whole = np.asarray(arrays[name])
    if f"{name} lengths" not in arrays:
        if whole.ndim == 0 or len(whole) != count:
            raise DamagedFile(f"{name} must be of {count} arms, got the shape {whole.shape}")
        return whole[arm]
    lengths: Integers = fitting(f"{name} lengths", arrays[f"{name} lengths"], (count,), whole=True)
    if whole.ndim == 0 or int(lengths.sum()) != len(whole):
        raise DamagedFile(f"{name} must be {int(lengths.sum())} rows, got the shape {whole.shape}")
    first = int(lengths[:arm].sum())
    return whole[first : first + int(lengths[arm])]
