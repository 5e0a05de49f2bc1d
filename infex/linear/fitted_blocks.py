"""A regression of any estimator for each arm: each is solved anew only after it was told a reward."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts
from infex.checks import told
from infex.core.bank import RidgeBank
from infex.errors import CannotMerge, DamagedFile, NotKept
from infex.linear.estimating import Arrays, Estimator, Statistics
from infex.linear.gained import Gained
from infex.linear.grounds import Grounds
from infex.linear.known import Known
from infex.linear.learnable import refuse_place
from infex.linear.offers import GONE, InContext, Layout, Offer, On, Separate
from infex.linear.revising import Revision
from infex.linear.ridge_bank import NOBODY, BlockKnown, BlockSums, in_block, separate
from infex.linear.scatter import Scattered, Scattering, by_arm, of_all_arms

OF_ALL = ("told", "counts")  # what is kept of all arms together


@final
class FittedBlocks:
    """Statistics of an estimator for each arm, on contexts: a reward reaches that of its arm alone.

    `parts` are these statistics. Their estimates are copied into a bank when somebody reads them.
    """

    __slots__ = (
        "_asked", "_bank", "_estimator", "_late", "_logistic", "_stale", "_summed",
        "columns", "layout", "parts", "told",
    )  # fmt: skip

    def __init__(self, layout: Separate, penalty: float, estimator: Estimator) -> None:
        self.layout, self._asked, self._estimator, self.told = layout, penalty, estimator, 0
        arms, dim, _ = layout
        self.columns: Floats = np.empty((arms * dim, 0))  # none are fixed
        self.parts: list[Statistics] = [estimator.start(np.empty((dim, 0)), penalty) for _ in range(arms)]
        self._bank = RidgeBank(arms, dim, self.penalty)
        self._summed: list[int | None] = [None] * arms  # rewards in the sums of each; None if it keeps none
        self._logistic = False
        self._stale = set(range(arms))  # arms whose numbers in the bank are of before their last reward
        self._late = set(range(arms))  # arms that were told since a decision was entered

    @property
    def squares(self) -> bool:
        """Is it least squares?"""
        return self.parts[0].squares

    @property
    def penalty(self) -> float:
        """That of each."""
        return self.parts[0].penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self._bank.counts

    def known(self) -> BlockKnown:
        """What is known as of now; of arms it tells in a context (`on`)."""
        for arm in self._stale:
            known = self._known(arm)
            self._bank.put(arm, known.factor, known.theta, known.log_det_ratio, known.sums())
            self._summed[arm], self._logistic = (
                known.told if known.sums() is not None else None,
                known.logistic,
            )
        self._stale = set()
        told = None if None in self._summed else sum(told or 0 for told in self._summed)
        return BlockKnown(self._bank, told, self._logistic)

    def pending(self) -> BlockSums:
        """Sums over no pending decision."""
        return BlockSums.of(self.layout)

    def _known(self, arm: int) -> Known:
        known = self.parts[arm].known()
        assert isinstance(known, Known), "an estimator starts statistics of one regression"
        return known

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
        if arm != GONE:
            refuse_place(arm, self.layout.arms)
            self.parts[arm].learn(context, reward, weight)
            self._note(arm, 1, reward)

    def _note(self, arm: int, pulls: int, rewards: float) -> None:
        """An arm has so many rewards more, which come to so much."""
        self.told += pulls
        self._bank.note(arm, pulls, rewards)
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
        if arm != GONE:
            refuse_place(arm, self.layout.arms)
            self.parts[arm].revise(revision._replace(on=context))
            self._note(arm, revision.pulls, revision.gain)

    def add(self, other: FittedBlocks, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        for arm, place in enumerate(places.tolist()):
            if place != GONE:
                self.parts[place].add(other.parts[arm], NOBODY)
                self._note(place, 0, 0.0)
                self._bank.note(place, *other.counts[:, arm].tolist())
        self.told += other.told

    def growth(self) -> Gained:
        """None: what each estimator keeps is its own."""
        raise CannotMerge(f"what {self._estimator!r} has learnt of each arm is not kept as sums that add up")

    def grow(self, growth: Gained) -> None:
        """None can be taken in."""
        self.growth()

    def over(self, layout: Layout, places: Integers) -> FittedBlocks:
        """What was learnt of the arms that stay: each at its old place, or new (-1)."""
        other = FittedBlocks(separate(layout), self._asked, self._estimator)
        other._bank = self._bank.over(places)
        for new, old in enumerate(places.tolist()):
            if old != GONE:
                other.parts[new] = self.parts[old]
                if old not in self._late:
                    other._late.discard(new)
        other.told = self.told - int(self.counts[0].sum() - other.counts[0].sum())
        return other

    def arrays(self) -> Arrays:
        """All of it: what each keeps, one behind the other."""
        kept = [part.arrays() for part in self.parts]
        found: Arrays = {"told": np.array(self.told), "counts": np.array(self.counts)}
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
        pulls = counts[0].astype(np.int64)
        tolds: Integers = fitting("tolds", arrays.get("tolds", pulls), (count,), whole=True)
        late: Integers = fitting("late", arrays.get("late", np.arange(count)), (-1,), whole=True)
        if (late >= count).any():
            raise DamagedFile(f"an arm that was told since is number {late.max()} of {count}")
        fresh = FittedBlocks(self.layout, self._asked, self._estimator)
        for arm, part in enumerate(fresh.parts):
            names = [name for name in part.arrays() if name not in OF_ALL and name in arrays]
            own = {name: _part_of(name, arrays, arm, count) for name in names}
            part.restore(own | {"told": tolds[arm], "counts": np.zeros((2, 0))})
            fresh._bank.note(arm, *counts[:, arm].tolist())
        self.parts, self.told, self._bank = fresh.parts, told, fresh._bank
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
