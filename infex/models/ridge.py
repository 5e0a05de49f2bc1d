"""One ridge regression for all arms: the default model, and the estimator `Ridge`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_counts
from infex.checks import real
from infex.core import ridge as core
from infex.core.posterior import RidgePosterior
from infex.errors import DamagedFile
from infex.models.base import Arrays, Model
from infex.models.layout import DesignRow, DesignRows, Layout, check_arm, features_of, fixed_arms_of
from infex.models.noise import SquaredRewards, StandardErrors
from infex.models.sums import Revision, SufficientStatistics, fitting_sums

LEAST_PENALTY = 1e-10  # with which V can still be factored when arms lie in a plane


def checked_penalty(penalty: float) -> float:
    """`penalty`, if V can be factored with it."""
    return real("penalty", real("penalty", penalty, above=0), least=LEAST_PENALTY)


@final
class RidgeModel(Model):
    """V = penalty I + sum x x' and b = sum y x, with all that policies read from them.

    The sums keep what rounding takes from them; all else is derived from them, updated by exact algebra, and
    computed anew before rounding can tell (see `core/ridge.pxd`). `columns` are the arms, (d, K); K may be 0.
    """

    __slots__ = ("_posterior", "_ridge", "_squares", "columns", "layout")

    def __init__(self, columns: Floats, penalty: float = 1.0) -> None:
        self._go_on_with(core.Ridge(columns, checked_penalty(penalty)), SquaredRewards())

    def _go_on_with(self, ridge: core.Ridge, squares: SquaredRewards) -> None:
        self._ridge, self._squares = ridge, squares
        self.columns = self.layout = ridge.columns
        self._posterior = RidgePosterior(ridge), ridge.version

    def __reduce__(self) -> tuple[Callable[..., RidgeModel], tuple[core.Ridge, SquaredRewards]]:
        return _unpickled, (self._ridge, self._squares)

    @property
    def penalty(self) -> float:
        return self._ridge.penalty

    @property
    def n_observations(self) -> int:
        return self._ridge.told

    @property
    def counts(self) -> Floats:
        """Pulls and summed rewards of each arm, (2, K)."""
        return self._ridge.counts

    def posterior(self) -> RidgePosterior:
        posterior, version = self._posterior
        if version != self._ridge.version:
            posterior = RidgePosterior(self._ridge)
            self._posterior = posterior, self._ridge.version
        return posterior

    def update(self, on: DesignRow, reward: float, weight: float = 1.0) -> None:
        """Adds an observation of an arm, O(1) while the same arm goes on, or of any x."""
        if isinstance(on, int):
            check_arm(on, self.columns.shape[1])
            self._ridge.learn(on, reward, weight)
        else:
            self._ridge.absorb(features_of(on, self.columns), reward, weight)
        self._squares.total += weight * reward * reward

    def update_many(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        self._ridge.learn_many(*design.for_one_regression(self.columns.shape), rewards, weights)
        self._squares.add_many(rewards, weights)

    def bulk_update(self, design: DesignRows, rewards: Floats, weights: Floats) -> None:
        """Adds many observations to the sums, and computes all else anew once: their order does not count."""
        self._ridge.gather(*design.for_one_regression(self.columns.shape), rewards, weights)
        self._squares.add_many(rewards, weights)

    def revise(self, revision: Revision) -> None:
        """Replaces or removes a reward; O(d^3 + d^2 K)."""
        features = features_of(revision.on, self.columns)  # which refuses what is not there
        on = revision.on if isinstance(revision.on, int) else features
        self._ridge.revise(on, revision.before, revision.after, revision.weight)
        if not self._squares.revise(revision):
            self._forget_squares(self._ridge.sums)

    def sufficient_statistics(self) -> SufficientStatistics:
        return SufficientStatistics(self._ridge.whole_sums(), self.counts.copy(), self.n_observations)

    def add_statistics(self, statistics: SufficientStatistics) -> None:
        self._ridge.add(statistics.sums, statistics.counts, statistics.n_observations)
        self._forget_squares(self._ridge.sums)

    def rearranged(self, layout: Layout, places: Integers) -> RidgeModel:
        other, known = RidgeModel(fixed_arms_of(layout), self.penalty), places >= 0
        counts = np.zeros(other.counts.shape)
        counts[:, known] = self.counts[:, places[known]]
        other._ridge.restart(self._ridge.whole_sums(), counts, self.n_observations)
        other._squares = self._squares.copy()
        return other

    def arrays(self) -> Arrays:
        """The whole state; `truth` has the run under way in it, for an estimator that knows of no runs."""
        return self._ridge.arrays() | {"scatter": np.array(self._squares.figures)}

    def restore(self, arrays: Arrays) -> None:
        """Replaces the state by saved arrays: bit for bit, or from the sums where there is no more."""
        n_observations = int(fitting("told", arrays["told"], (), whole=True))
        counts = fitting_counts(arrays["counts"], self.columns.shape[1], n_observations)
        squares = arrays.get("scatter")
        restored = None if squares is None else SquaredRewards.restored(squares, n_observations)
        try:
            if "closed" in arrays:
                self._ridge.restore(arrays)
            else:  # of another estimator, or over other arms
                dim = len(self.columns)
                sums = fitting_sums("truth", arrays["truth"], dim, n_observations, self.penalty)
                self._ridge.restart(sums, counts, n_observations)
        except ValueError as wrong:
            raise DamagedFile(str(wrong)) from None
        if restored is None:
            self._forget_squares(self._ridge.whole_sums())
        else:
            self._squares = restored

    def _forget_squares(self, sums: Floats) -> None:
        """Marks the squares of all rewards so far as unknown."""
        self._squares = SquaredRewards.unknown_of(sums, self.penalty, self.n_observations)

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        sums, n = self._ridge.whole_sums(), self.n_observations
        return self._squares.standard_errors(sums, self.penalty, n, rows, largest_variance)


def _unpickled(ridge: core.Ridge, squares: SquaredRewards) -> RidgeModel:
    model = object.__new__(RidgeModel)
    model._go_on_with(ridge, squares)
    return model


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ridge:
    """theta = V^-1 sum y x with V = penalty I + sum x x', as if no estimator were given.

    `penalty` goes before that of the bandit.

    The paper's two conditions on an estimator hold: sum over t of (X_t'theta_{t-1} - X_t'theta)^2 is
    O(d^2 log^2 T), and the error of x'theta falls as 1/sqrt(n) with n rewards of x (Abbasi-Yadkori, Pal
    and Szepesvari, 2011).

    >>> from infex import Bandit, Greedy
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), estimator=Ridge(penalty=0.1)).penalty
    0.1
    """

    penalty: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None:
            object.__setattr__(self, "penalty", checked_penalty(self.penalty))

    def scaled(self, unit: float) -> Ridge:
        """The same for features that are divided by `unit`: theta is then that many times as long."""
        return self if self.penalty is None else replace(self, penalty=self.penalty / unit**2)

    def new_model(self, columns: Floats, penalty: float) -> RidgeModel:
        """A model over these arms, with nothing learnt."""
        return RidgeModel(columns, penalty if self.penalty is None else self.penalty)
