"""The noise of rewards, by the residuals of a ridge fit, and standard errors of estimates for intervals.

A model adds up squared rewards, sum w y^2. What the fit leaves of them are the residuals, with as many
degrees of freedom as there are rewards less the parameters that the fit spends, d - penalty tr V^-1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers, fitting
from infex.errors import DamagedFile
from infex.models.base import Arrays
from infex.models.sums import Moments, Revision

LARGE = 2.0**20  # a reward whose square may hide those of others in their sum
NO_MORE = 1e-9  # what rounding may bring below 0
LEFT_BY_A_SQUARE = LARGE**2 * 2.0**-50  # how far below 0 rounding may bring the sum with each square


class StandardErrors(NamedTuple):
    """Estimates of x'theta for n rows x with their standard errors, each (n,).

    `bias` is |penalty V^-1 x|: with a theta of length S the penalty shrinks an estimate by at most S times
    it. `theta_norm` is the length of the estimated theta, and `shift` how far an estimate is from the
    ridge's.
    """

    estimates: Floats
    standard_error: Floats
    bias: Floats
    degrees_of_freedom: Floats
    theta_norm: Floats
    shift: Floats

    @staticmethod
    def of(
        estimates: Floats, unit_variance: Floats, noise: float, bias: Floats, freedom: float, norm: float
    ) -> StandardErrors:
        """Standard errors of one fit; `unit_variance` is each estimate's where rewards have variance 1."""
        with np.errstate(invalid="ignore"):
            standard_error = np.sqrt(np.maximum(unit_variance, 0.0) * noise)
        alike = (np.full(len(estimates), each) for each in (freedom, norm, 0.0))
        return StandardErrors(estimates, standard_error, bias, *alike)

    @staticmethod
    def for_each(
        arms: Integers, rows: Floats, fit: Callable[[int, Floats], StandardErrors]
    ) -> StandardErrors:
        """Standard errors of arms in contexts, (n, c), where each arm has a fit of its own."""
        found = StandardErrors(*np.empty((len(StandardErrors._fields), arms.size)))
        for arm in np.unique(arms).tolist():
            own = arms == arm
            for whole, part in zip(found, fit(arm, rows[own]), strict=True):
                whole[own] = part
        return found


class RidgeSolution(NamedTuple):
    """A ridge by its sums: V^-1, theta, what the fit takes from sum y^2, and the parameters it spends."""

    inverse: Floats
    theta: Floats
    fitted: float
    spent: float

    @staticmethod
    def of(sums: Floats, penalty: float) -> RidgeSolution:
        """The solution of sums of x x' and y x with their carries, (2, d + 1, d)."""
        gram, moment, _ = Moments.of(sums, 0)
        inverse = inverted(gram, penalty)
        theta = inverse @ moment
        spent = len(moment) - penalty * float(np.trace(inverse))
        return RidgeSolution(inverse, theta, float(theta @ moment), spent)


def inverted(gram: Floats, penalty: float) -> Floats:
    """V^-1 of sum x x', or of several; one that is singular but for the penalty has an inverse too."""
    squares, turned = np.linalg.eigh(gram)
    inverse: Floats = (turned / (np.maximum(squares, 0.0) + penalty)[..., None, :]) @ np.swapaxes(
        turned, -1, -2
    )
    return inverse


def residual_variance(left: float, counted: float, freedom: float, largest: float) -> float:
    """The variance of a reward, by the squared residuals that are `left` of `counted` rewards.

    With a `largest` variance, one reward more counts with that: rewards that were all alike so far do not
    make it 0.
    """
    return (max(left, 0.0) + largest) / (counted + (largest > 0.0)) if freedom > 0.0 else np.inf


class SquaredRewards:
    """sum w y^2, and for how many rewards it is unknown, with the parameters that these had spent.

    Where rewards came as sums, or one was taken out whose square hid those of others, squares are `unknown`:
    they count as what the fit makes of them, so that they leave no residuals, and later rewards as what they
    add to it.
    """

    __slots__ = ("spent", "total", "unknown")

    def __init__(self, total: float = 0.0, unknown: float = 0.0, spent: float = 0.0) -> None:
        self.total, self.unknown, self.spent = total, unknown, spent

    @staticmethod
    def unknown_of(sums: Floats, penalty: float, n_observations: float) -> SquaredRewards:
        """Squares of rewards of which no more than their sums is known."""
        _, _, fitted, spent = RidgeSolution.of(sums, penalty)
        return SquaredRewards(max(fitted, 0.0), float(n_observations), spent)

    @staticmethod
    def restored(figures: object, n_observations: float) -> SquaredRewards:
        """Saved `figures`, checked; `n_observations` rewards were learnt."""
        total, unknown, spent = fitting("scatter", figures, (3,)).tolist()
        least = -LEFT_BY_A_SQUARE * (n_observations + 1.0)
        if not (total >= least and 0.0 <= unknown <= n_observations and spent >= -NO_MORE):
            raise DamagedFile(
                "squares of rewards cannot be below 0, nor unknown of more rewards than were told"
            )
        return SquaredRewards(max(total, 0.0), unknown, spent)

    @staticmethod
    def restored_or_unknown(
        arrays: Arrays, sums: Floats, penalty: float, n_observations: int
    ) -> SquaredRewards:
        """Saved squares, or unknown ones where none were saved."""
        if "scatter" in arrays:
            return SquaredRewards.restored(arrays["scatter"], n_observations)
        return SquaredRewards.unknown_of(sums, penalty, n_observations)

    @property
    def figures(self) -> tuple[float, float, float]:
        """The whole state, to be saved."""
        return self.total, self.unknown, self.spent

    def copy(self) -> SquaredRewards:
        """A copy."""
        return SquaredRewards(*self.figures)

    def add_many(self, rewards: Floats, weights: Floats) -> None:
        """Adds many rewards, to the last bit as if one by one."""
        self.total = float(np.cumsum(np.append(self.total, weights * rewards * rewards))[-1])

    def revise(self, revision: Revision) -> bool:
        """Applies a revision; False, and nothing changes, if a square is unknown or may hide others."""
        after = 0.0 if revision.after is None else revision.after
        if self.unknown or max(abs(after), abs(revision.before)) > LARGE:
            return False
        change = revision.weight * (after * after - revision.before * revision.before)
        self.total = max(self.total + change, 0.0)  # rounding may leave less than nothing
        return True

    def residuals(
        self, n_observations: float, fitted: float, spent: float, shrinkage: float, largest_variance: float
    ) -> tuple[float, float]:
        """The variance of a reward, and its degrees of freedom, after a fit.

        `shrinkage`, penalty |theta|^2, belongs to the fit where all squares are known.
        """
        freedom = n_observations - self.unknown - (spent - self.spent)
        left = self.total - fitted - (0.0 if self.unknown else shrinkage)
        return residual_variance(left, freedom, freedom, largest_variance), freedom

    def standard_errors(
        self, sums: Floats, penalty: float, n_observations: float, rows: Floats, largest_variance: float
    ) -> StandardErrors:
        """Standard errors for rows x, (n, d), after so many rewards, whose sums these are, (2, d + 1, d).

        The variance of a reward is (sum y^2 - b'theta - penalty |theta|^2)/(n - spent), and an estimate's
        that times |x|^2 in V^-1 sum(x x') V^-1.
        """
        inverse, theta, fitted, spent = RidgeSolution.of(sums, penalty)
        norm = float(np.linalg.norm(theta))
        noise, freedom = self.residuals(n_observations, fitted, spent, penalty * norm**2, largest_variance)
        turned = rows @ inverse
        unit = np.einsum("ij,ij->i", turned, rows) - penalty * np.einsum("ij,ij->i", turned, turned)
        bias = penalty * np.linalg.norm(turned, axis=1)
        return StandardErrors.of(rows @ theta, unit, noise, bias, freedom, norm)
