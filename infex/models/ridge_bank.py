"""A ridge regression for each arm, on contexts: what they have learnt, and what policies read of them.

A reward costs O(c^2), and all of them take O(K c^2) numbers.
"""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts
from infex.core import bank as core_bank
from infex.core.bank import RidgeBank
from infex.core.pending import expect_in_bank
from infex.errors import DamagedFile, InvalidChoice, NotKept, UnknownArm
from infex.models.base import Arrays, ModelPosterior
from infex.models.layout import (
    GONE,
    ArmRow,
    ContextOffer,
    DesignRow,
    DesignRows,
    Layout,
    Offer,
    PerArm,
    Radius,
    radius_at,
)
from infex.models.noise import (
    NoiseEstimate,
    NoiseSums,
    all_arms_in,
    for_each_arm,
    noise_estimate,
    noise_sums_kept,
)
from infex.models.ridge import checked_penalty
from infex.models.sums import BlockMoments, Moments, Revision, SufficientStatistics, diagonal_of

NO_ROWS = (
    "arms with a regression each are known in a context, not by rows of features: "
    "features.interactions(np.eye(K), context_dim) keeps one regression for all"
)
NO_ARMS: Integers = np.zeros(0, dtype=np.int64)


@final
class RidgeBankModel:
    """A ridge regression for each arm, on contexts; each is what `RidgeModel` would be, to the last bit.

    `bank` holds all numbers. `scatters` are sums of squared rewards, one for each arm.
    """

    __slots__ = ("bank", "columns", "layout", "scatters")

    is_least_squares = True

    def __init__(self, layout: PerArm, penalty: float = 1.0) -> None:
        arms, dim, _ = layout
        self.layout = layout
        self.bank = RidgeBank(arms, dim, checked_penalty(penalty))
        self.columns: Floats = np.empty((arms * dim, 0))  # none are fixed
        self.scatters = [NoiseSums() for _ in range(arms)]

    @property
    def n_observations(self) -> int:
        """How many rewards were learnt."""
        return self.bank.told

    @property
    def penalty(self) -> float:
        """That of each regression."""
        return self.bank.penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self.bank.counts

    def posterior(self) -> BankPosterior:
        """What is known as of now; of arms it tells in a context (`on`)."""
        return BankPosterior(self.bank, self.bank.told)

    def pending(self) -> BankPendingSums:
        """Sums over no pending decision."""
        return BankPendingSums.of(self.layout)

    def check_reward(self, reward: float) -> None:
        """Any finite reward can be taken in."""

    def effective_weight(self, on: DesignRow, weight: float) -> float:
        """The weight itself."""
        return weight

    def set_warm_start(self) -> None:
        """Nothing is searched for."""

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Takes in a reward of an arm in a context; nothing, if the arm is gone."""
        arm, context = arm_row(on)
        if arm != GONE:
            self.bank.update(arm, context, reward, weight)
            self.scatters[arm].squares += weight * reward * reward

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards, one after the other, as `learn` would."""
        self.bank.update_many(*arms_and_rows(design), rewards, weights)
        self._add_squares(design.place, rewards, weights)

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Takes in many rewards as sums, from which all is computed anew once: their order does not count."""
        self.bank.gather(*arms_and_rows(design), rewards, weights)
        self._add_squares(design.place, rewards, weights)

    def _add_squares(self, arms: Integers, rewards: Floats, weights: Floats) -> None:
        for arm in np.unique(arms[arms >= 0]).tolist():
            own = arms == arm
            self.scatters[arm].update_many(rewards[own], weights[own])

    def observation_number(self, on: DesignRow) -> int:
        """How many rewards were learnt."""
        return self.bank.told

    def revise(self, revision: Revision) -> None:
        """Another value for a reward that was learnt, or none; nothing, if the arm is gone."""
        arm, context = arm_row(revision.on)
        if arm != GONE:
            self.bank.revise(arm, context, revision.before, revision.after, float(revision.weight))
            n_observations = int(self.counts[0, arm])
            self.scatters[arm].revise(revision, self.bank.sums[arm], self.penalty, n_observations)

    def merge(self, other: RidgeBankModel, places: Integers) -> None:
        """Takes in all that another has learnt; each of its arms is at a place here, or nowhere (-1)."""
        self.bank.add(other.bank.sums, other.counts, places, other.n_observations)
        for place, scatter in zip(places.tolist(), other.scatters, strict=True):
            if place != GONE:
                n_observations = int(self.counts[0, place])
                self.scatters[place].merge_observations(
                    scatter, self.bank.sums[place], self.penalty, n_observations
                )

    def sufficient_statistics(self) -> SufficientStatistics:
        """All that was learnt, as sums."""
        return SufficientStatistics(np.array(self.bank.sums), np.array(self.counts), self.n_observations)

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        """Takes in sums that were learnt elsewhere, over these arms."""
        self.bank.add(
            statistics.truth, statistics.counts, np.arange(self.layout.arms), statistics.n_observations
        )
        for arm in np.flatnonzero(statistics.counts[0]).tolist():
            self._begin_scatter(arm)

    def rearranged(self, layout: Layout, places: Integers) -> RidgeBankModel:
        """What was learnt of the arms that stay, bit for bit: each at its old place, or new (-1)."""
        other = RidgeBankModel(per_arm_layout(layout), self.penalty)
        other.bank = self.bank.over(places)
        for new, place in enumerate(places.tolist()):
            if place != GONE:
                other.scatters[new] = self.scatters[place].copy()
        return other

    def arrays(self) -> Arrays:
        """What was learnt, and all that it takes to go on bit for bit."""
        bank = self.bank
        kept = {"truth": bank.sums, "factors": bank.solved, "runs": bank.runs, "counts": bank.counts}
        figures = np.array([scatter.figures for scatter in self.scatters])
        more = {"told": np.array(bank.told), "scatter": figures}
        return {name: np.array(array) for name, array in kept.items()} | more

    def restore(self, arrays: Arrays) -> None:
        """Takes the place of all that is here; without factors, these are computed anew from the sums."""
        bank = restored_bank(self.bank, arrays)
        figures = arrays.get("scatter")
        if figures is not None and np.shape(figures) != (bank.arms, 3):
            raise DamagedFile(f"squares must be of {bank.arms} arms, got the shape {np.shape(figures)}")
        scatters = None
        if figures is not None:
            scatters = [noise_sums_kept(*each) for each in zip(figures, bank.counts[0].tolist(), strict=True)]
        self.bank = bank
        if scatters is not None:
            self.scatters = scatters
            return
        for arm in range(bank.arms):
            self._begin_scatter(arm)

    def _begin_scatter(self, arm: int) -> None:
        """Of the rewards of an arm no more than their sums is known."""
        if self.counts[0, arm]:
            self.scatters[arm].begin(self.bank.sums[arm], self.penalty, int(self.counts[0, arm]))
        else:
            self.scatters[arm] = NoiseSums()

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What the noise that was seen says of every arm in a context."""
        assert isinstance(offer, ContextOffer), offer
        return self.noise_estimate_of(*all_arms_in(self.layout.arms, offer.context), most)

    def noise_estimate_of(self, arms: Integers, rows: Floats, most: float = 0.0) -> NoiseEstimate:
        """The same of arms, each in a context."""

        def tell(arm: int, own: Floats) -> NoiseEstimate:
            sums, n_observations = self.bank.sums[arm], self.counts[0, arm]
            return noise_estimate(sums, self.penalty, self.scatters[arm], n_observations, own, most)

        return for_each_arm(arms, rows, tell)


@final
class BankPosterior(core_bank.BankPosterior):
    """The posterior of some arms in a context, (c,), until the model learns again.

    A row has the context in the arm's own block, and 0 elsewhere. Each arm has a radius of its own: `radii`
    gives all of them, and the other methods take them.
    """

    __slots__ = ()

    fixed = False
    has_counts = True

    @property
    def drawn(self) -> tuple[int, ...]:
        """A draw for each arm, those that are not shown included: what one draws depends on no mask."""
        bank = self.ridges()
        return bank.arms, bank.features

    @property
    def dim(self) -> int:
        """How many parameters all arms have together, those that are not shown included."""
        arms, features = self.drawn
        return arms * features

    @property
    def columns(self) -> Floats:
        """The arms, (K c, K), made when they are asked for."""
        rows = np.zeros((self.count, *self.drawn))
        places = np.arange(self.count) if self.places is None else self.places
        if self.count:
            rows[np.arange(self.count), places] = self.context
        return np.ascontiguousarray(rows.reshape(self.count, self.dim).T)

    @property
    def theta(self) -> Floats:
        """The estimates of all arms, one behind the other."""
        return np.array(self.ridges().solved[:, -1]).reshape(-1)

    @property
    def factor(self) -> Floats:
        """The factors of all arms, as blocks of one matrix, made when it is asked for."""
        return diagonal_of(list(self.ridges().solved[:, :-1]))

    def optimistic(self, arm: int, radius: Radius) -> Floats:
        """The parameter within so many widths for which an arm's mean is largest, (K c,)."""
        return super().optimistic(arm, radius_at(radius, arm)).reshape(-1)

    def on(self, offer: Offer) -> BankPosterior:
        """What is known of all arms in another context."""
        if not isinstance(offer, ContextOffer):
            raise NotKept(NO_ROWS)
        return self.over(offer.context)

    def design_row(self, arm: int, features: Floats | None) -> ArmRow:
        """The arm's own regression, in this context."""
        if features is not None:
            raise InvalidChoice(f"a reward cannot be learnt on the features of a Choice: {NO_ROWS}")
        return ArmRow(arm if self.places is None else self.places.item(arm), self.context)

    @property
    def moments(self) -> BlockMoments:
        """What was learnt, as sums."""
        n_observations = self.told
        if n_observations is None:
            raise NotKept("the estimator keeps no sums of x x' and y x, which the policy asks for")
        return BlockMoments(
            tuple(Moments.of(sums, n_observations) for sums in self.ridges().sums), n_observations
        )


@final
class BankPendingSums:
    """A sum of w x x' over pending decisions for each arm, in whole numbers, (K, 2, c, c)."""

    __slots__ = ("_sums",)

    def __init__(self, sums: Integers) -> None:
        self._sums = sums

    @staticmethod
    def of(layout: PerArm) -> BankPendingSums:
        """Those of no decisions."""
        return BankPendingSums(np.zeros((layout.arms, 2, layout.dim, layout.dim), dtype=np.int64))

    def add(self, design: DesignRows, weights: Floats, times: int) -> None:
        """So many decisions on each of these more are pending, or fewer."""
        expect_in_bank(self._sums, *arms_and_rows(design), weights, times)

    def none(self) -> BankPendingSums:
        """Sums over no decision."""
        return BankPendingSums(np.zeros_like(self._sums))

    def copy(self) -> BankPendingSums:
        """The same, which stays as it is."""
        return BankPendingSums(self._sums.copy())

    def rearranged(self, layout: Layout, places: Integers) -> BankPendingSums:
        """A copy, over other arms: each at its old place, or new (-1)."""
        other, known = BankPendingSums.of(per_arm_layout(layout)), places >= 0
        other._sums[known] = self._sums[places[known]]
        return other

    def narrowed(self, known: ModelPosterior) -> ModelPosterior:
        """What is known, with these sums in V."""
        assert isinstance(known, BankPosterior)
        return known.narrowed(self._sums)


def restored_bank(bank: RidgeBank, arrays: Arrays) -> RidgeBank:
    """A bank like this one with the numbers of a file; without factors, these are computed from the sums."""
    n_observations = int(fitting("told", arrays["told"], (), whole=True))
    counts = fitting_counts(arrays["counts"], bank.arms, n_observations)
    sums = fitting("truth", arrays["truth"], bank.sums.shape)
    if "factors" in arrays:  # else of a dense regression, or of another estimator
        fresh = RidgeBank(bank.arms, bank.features, bank.penalty)
        solved = fitting("factors", arrays["factors"], bank.solved.shape)
        runs = fitting("runs", arrays["runs"], bank.runs.shape)
    else:
        fresh = RidgeBank(bank.arms, bank.features, bank.penalty, sums)
        solved, runs = np.array(fresh.solved), np.array(fresh.runs)
        if not (np.isfinite(solved).all() and np.isfinite(runs).all()):
            raise DamagedFile("theta is not finite: the sums in it are no sums of x x'")
    fresh.restore(sums, solved, runs, counts, n_observations)
    return fresh


def arms_and_rows(design: DesignRows) -> tuple[Integers, Integers, Floats]:
    """Arms, and the contexts that their rewards are learnt in, as compiled code reads them."""
    place, row, rows, per_arm = design
    if design.size and not per_arm:
        raise UnknownArm("arms that have a regression each are known in a context alone")
    return np.ascontiguousarray(place), np.ascontiguousarray(row), np.ascontiguousarray(rows)


def arm_row(on: DesignRow) -> ArmRow:
    """What a reward is learnt on, if it is an arm's own regression."""
    if not isinstance(on, ArmRow):
        raise UnknownArm(f"a reward must be learnt on an arm in a context, not on {type(on).__name__}")
    return on


def per_arm_layout(layout: Layout) -> PerArm:
    """A layout, if it is of a regression for each arm."""
    assert isinstance(layout, PerArm), layout
    return layout
