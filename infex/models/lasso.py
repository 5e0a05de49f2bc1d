"""LASSO, for rewards that depend on few features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.checks import real
from infex.core import estimators as core
from infex.models.base import FitSpec
from infex.models.fit import Solution, SummedFit
from infex.models.noise import StandardErrors
from infex.models.sums import Moments


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Lasso:
    """theta minimises sum (y - x'theta)^2/(2n) + strength |theta|_1: few features have a part in it.

    By coordinate descent from the last estimate. LASSO has no covariance of its own: widths,
    samples and the log_det_ratio are those of ridge regression on the same rewards.

    The paper's two conditions on an estimator do not hold for a `strength` that stays: it leaves an
    error of that order, however many rewards come. Known bounds want a strength that falls with n
    and arms that vary in all directions (Bastani and Bayati, 2020).

    >>> from infex import Bandit, Greedy
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Greedy(), estimator=Lasso(strength=0.25))
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.estimates().estimate.tolist()
    [0.75, 0.0]
    """

    strength: float = 0.05

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", real("strength", self.strength, above=0))

    def compiled(self) -> FitSpec:
        """The same in compiled loops."""
        return FitSpec(self._make)

    def _make(self, dim: int, penalty: float, rows: int, horizon: int) -> core.Fit:
        return core.LassoFit(dim, penalty, self.strength)

    def scaled(self, unit: float) -> Lasso:
        """The same for features that are divided by `unit`: theta is then that many times as long."""
        return replace(self, strength=self.strength / unit)

    def new_model(self, columns: Floats, penalty: float) -> LassoFit:
        """A model over these arms, with nothing learnt."""
        return LassoFit(columns, penalty, self)


@final
class LassoFit(SummedFit):
    """One sum of rewards; O(d^3) to solve, and O(d^2) for each sweep of the descent."""

    def __init__(self, columns: Floats, penalty: float, estimator: Lasso) -> None:
        super().__init__(columns, penalty, estimator)
        self._strength = estimator.strength

    def solve(self, start: Floats) -> Solution:
        factor, log_det_ratio = Solution.of(self._sums, self.penalty)
        theta = Moments.of(self._sums, self.n_observations).lasso(self._strength, start)
        return Solution(np.vstack([factor[:-1], theta]), log_det_ratio)

    def standard_errors(self, rows: Floats, arms: Integers | None, largest_variance: float) -> StandardErrors:
        """Standard errors of ridge regression on the same rewards, about the LASSO's estimate.

        What the LASSO leaves out is chosen by the same rewards, so that no noise about its own estimate tells
        how far it is off; an interval that has all of ridge regression's in it holds as often as that.
        """
        ridge = super().standard_errors(rows, arms, largest_variance)
        estimates = rows @ self.solution.theta
        return ridge._replace(estimates=estimates, shift=np.abs(estimates - ridge.estimates))
