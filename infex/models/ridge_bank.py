"""A ridge regression for each arm, on contexts.

A reward costs O(c^2), and all of them take O(K c^2) numbers.
"""

from __future__ import annotations

from typing import final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts
from infex.core.bank import BankPosterior, RidgeBank
from infex.errors import DamagedFile
from infex.models.base import Arrays, Model
from infex.models.layout import GONE, DesignRow, DesignRows, Layout, PerArm, arm_row_of, per_arm_of
from infex.models.noise import SquaredRewards, StandardErrors
from infex.models.ridge import checked_penalty
from infex.models.sums import Revision, SufficientStatistics


@final
class RidgeBankModel(Model):
    """A ridge regression for each arm, on contexts; each is what `RidgeModel` would be, to the last bit."""

    __slots__ = ("_squares", "bank", "columns", "layout")

    def __init__(self, layout: PerArm, penalty: float = 1.0) -> None:
        self.layout: PerArm = layout
        self.bank = RidgeBank(layout.arms, layout.dim, checked_penalty(penalty))
        self.columns: Floats = np.empty((layout.parameters, 0))  # none are fixed
        self._squares = [SquaredRewards() for _ in range(layout.arms)]

    @property
    def n_observations(self) -> int:
        return self.bank.told

    @property
    def penalty(self) -> float:
        return self.bank.penalty

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self.bank.counts

    def posterior(self) -> BankPosterior:
        """The posterior, of no arms until it is given a context."""
        return BankPosterior(self.bank, self.bank.told)

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        arm, context = arm_row_of(on)
        if arm != GONE:
            self.bank.update(arm, context, reward, weight)
            self._squares[arm].total += weight * reward * reward

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        self.bank.update_many(*design.for_each_arm(), rewards, weights)
        self._add_squares(design.place, rewards, weights)

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Adds many observations to the sums, and computes all else anew once: their order does not count."""
        self.bank.gather(*design.for_each_arm(), rewards, weights)
        self._add_squares(design.place, rewards, weights)

    def _add_squares(self, arms: Integers, rewards: Floats, weights: Floats) -> None:
        for arm in np.unique(arms[arms >= 0]).tolist():
            own = arms == arm
            self._squares[arm].add_many(rewards[own], weights[own])

    def revise(self, revision: Revision) -> None:
        arm, context = arm_row_of(revision.on)
        if arm != GONE:
            self.bank.revise(arm, context, revision.before, revision.after, float(revision.weight))
            if not self._squares[arm].revise(revision):
                self._squares[arm] = self._unknown_squares(arm)

    def sufficient_statistics(self) -> SufficientStatistics:
        return SufficientStatistics(np.array(self.bank.sums), np.array(self.counts), self.n_observations)

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        sums, counts, n_observations, _ = statistics
        self.bank.add(sums, counts, np.arange(self.layout.arms), n_observations)
        for arm in np.flatnonzero(counts[0]).tolist():
            self._squares[arm] = self._unknown_squares(arm)

    def _unknown_squares(self, arm: int) -> SquaredRewards:
        """Squares of an arm's rewards of which no more than their sums is known."""
        return SquaredRewards.unknown_of(self.bank.sums[arm], self.penalty, int(self.counts[0, arm]))

    def rearranged(self, layout: Layout, places: Integers) -> RidgeBankModel:
        """A model of the arms that stay, bit for bit, and of new ones."""
        other = RidgeBankModel(per_arm_of(layout), self.penalty)
        other.bank = self.bank.over(places)
        for new, old in enumerate(places.tolist()):
            if old != GONE:
                other._squares[new] = self._squares[old].copy()
        return other

    def arrays(self) -> Arrays:
        figures = np.array([squares.figures for squares in self._squares])
        return bank_arrays(self.bank) | {"scatter": figures}

    def restore(self, arrays: Arrays) -> None:
        """Replaces the state by saved arrays; missing factors are computed from the sums."""
        bank, figures = restored_bank(self.bank, arrays), arrays.get("scatter")
        pulls = bank.counts[0].tolist()
        if figures is not None and np.shape(figures) != (bank.arms, 3):
            raise DamagedFile(f"squares must be of {bank.arms} arms, got the shape {np.shape(figures)}")
        if figures is not None:
            restored = [SquaredRewards.restored(*each) for each in zip(figures, pulls, strict=True)]
            self.bank, self._squares = bank, restored
            return
        self.bank = bank
        self._squares = [
            self._unknown_squares(arm) if pulls[arm] else SquaredRewards() for arm in range(bank.arms)
        ]

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        assert arms is not None

        def fit(arm: int, own: Floats) -> StandardErrors:
            sums, pulls = self.bank.sums[arm], self.counts[0, arm]
            return self._squares[arm].standard_errors(sums, self.penalty, pulls, own, largest_variance)

        return StandardErrors.for_each(arms, rows, fit)


def bank_arrays(bank: RidgeBank) -> Arrays:
    """The whole state of a bank as arrays."""
    kept = {"truth": bank.sums, "factors": bank.solved, "runs": bank.runs, "counts": bank.counts}
    return {name: np.array(array) for name, array in (kept | {"told": bank.told}).items()}


def restored_bank(bank: RidgeBank, arrays: Arrays) -> RidgeBank:
    """A bank of this shape with saved numbers; missing factors are computed from the sums."""
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
