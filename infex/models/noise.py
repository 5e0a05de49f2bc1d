"""How far rewards were seen to scatter, and what that says of estimates: for intervals that hold in practice.

Statistics add up squared rewards, sum w y^2. What the fit leaves of them is the noise, with as many degrees
of freedom as there are rewards less parameters spent, d - penalty tr V^-1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, final, runtime_checkable

import numpy as np

from infex.arrays import Floats, Integers, fitting
from infex.errors import DamagedFile
from infex.models.base import Arrays
from infex.models.layout import Offer
from infex.models.sums import Moments, Revision

LARGE = 2.0**20  # whose square may hide those of other rewards in their sum
NO_MORE = 1e-9  # what rounding may bring below 0
LEFT_BY_A_SQUARE = LARGE**2 * 2.0**-50  # how far below 0 each square brought the sum in files from before


class NoiseEstimate(NamedTuple):
    """What is known of some x: `spread`, the standard error of x'theta, and `freedom` of the noise in it.

    `lean` is |penalty V^-1 x|: with a theta of length S the penalty draws an estimate by at most S times it.
    `length` is that of the estimated theta. `shift` is how far an estimate is from ridge regression's.
    """

    estimates: Floats
    spread: Floats
    lean: Floats
    freedom: Floats
    length: Floats
    shift: Floats


@runtime_checkable
class Scattering(Protocol):
    """Statistics that tell of the noise that was seen; NotKept where some of them cannot."""

    def noise_estimate(self, offer: Offer | None, most: float = 0.0) -> NoiseEstimate:
        """What it says of the fixed arms, or of those on offer; rewards have a variance of `most` at most."""


@runtime_checkable
class ScatteringApart(Scattering, Protocol):
    """The same of arms with a regression each."""

    def noise_estimate_of(self, arms: Integers, rows: Floats, most: float = 0.0) -> NoiseEstimate:
        """What it says of arms, each in a context, with its shared features behind it, (n, c + s)."""


def inverted(gram: Floats, penalty: float) -> Floats:
    """V^-1 of sum x x', or of several; one that is singular but for the penalty has an inverse too."""
    squares, turned = np.linalg.eigh(gram)
    inverse: Floats = (turned / (np.maximum(squares, 0.0) + penalty)[..., None, :]) @ np.swapaxes(
        turned, -1, -2
    )
    return inverse


class RidgeSolution(NamedTuple):
    """A ridge by its sums: V^-1, theta, what the fit takes from sum y^2, and the parameters it spends."""

    inverse: Floats
    theta: Floats
    fitted: float
    spent: float

    @staticmethod
    def of(truth: Floats, penalty: float) -> RidgeSolution:
        """From sums of x x' and y x with their carries, (2, d + 1, d)."""
        gram, moment, _ = Moments.of(truth, 0)
        inverse = inverted(gram, penalty)
        theta = inverse @ moment
        return RidgeSolution(
            inverse, theta, float(theta @ moment), len(moment) - penalty * float(np.trace(inverse))
        )


@final
class NoiseSums:
    """sum w y^2; of how many rewards it is not known, and how many parameters these had spent.

    Where rewards came as sums, or one was taken out that hid all others, what is known begins anew: `squares`
    is then what the fit makes of them, so that they leave no noise, and later ones what they add to it.
    """

    __slots__ = ("spent", "squares", "unknown")

    def __init__(self, squares: float = 0.0, unknown: float = 0.0, spent: float = 0.0) -> None:
        self.squares, self.unknown, self.spent = squares, unknown, spent

    def copy(self) -> NoiseSums:
        """The same."""
        return NoiseSums(self.squares, self.unknown, self.spent)

    def update_many(self, rewards: Floats, weights: Floats) -> None:
        """As if they came one by one, to the last bit."""
        self.squares = float(np.cumsum(np.append(self.squares, weights * rewards * rewards))[-1])

    def begin(self, truth: Floats, penalty: float, n_observations: int) -> NoiseSums:
        """Nothing is known of the rewards so far but their sums."""
        solved = RidgeSolution.of(truth, penalty)
        self.squares, self.unknown, self.spent = max(solved.fitted, 0.0), float(n_observations), solved.spent
        return self

    def revise(self, revision: Revision, truth: Floats, penalty: float, n_observations: int) -> None:
        """Takes a revision in, or begins anew where a square has hidden others, or may not be in the sum."""
        if not self.revised(revision):
            self.begin(truth, penalty, n_observations)

    def revised(self, revision: Revision) -> bool:
        """Takes a revision in, if all squares are known and none has hidden others."""
        after = 0.0 if revision.after is None else revision.after
        if self.unknown or max(abs(after), abs(revision.before)) > LARGE:
            return False
        change = revision.weight * (after * after - revision.before * revision.before)
        self.squares = max(self.squares + change, 0.0)  # rounding may leave less than nothing
        return True

    def merge_observations(
        self, other: NoiseSums, truth: Floats, penalty: float, n_observations: int
    ) -> None:
        """Takes in another's, or begins anew where one of them does not know all squares."""
        if not self.joined(other):
            self.begin(truth, penalty, n_observations)

    def joined(self, other: NoiseSums) -> bool:
        """Takes in another's, if both know all squares."""
        if self.unknown or other.unknown:
            return False
        self.squares += other.squares
        return True

    def freedom(self, n_observations: float, spent: float) -> float:
        """The degrees of freedom of the noise, after so many rewards and with so many parameters spent."""
        return n_observations - self.unknown - (spent - self.spent)

    def left(self, fitted: float, shrunk: float) -> float:
        """What the fit leaves of squared rewards; `shrunk`, penalty |theta|^2, belongs to the fit."""
        return self.squares - fitted - (0.0 if self.unknown else shrunk)

    @property
    def figures(self) -> tuple[float, float, float]:
        """All of it."""
        return self.squares, self.unknown, self.spent


def noise_estimate(
    truth: Floats, penalty: float, scatter: NoiseSums, n_observations: float, rows: Floats, most: float
) -> NoiseEstimate:
    """What is known of rows x, (n, d), after so many rewards.

    The variance of the noise is (sum y^2 - b'theta)/(n - spent), less penalty |theta|^2 in the numerator,
    which belongs to the fit, where all squares are known. With a `most` that it can be, one reward more
    counts with that: rewards that were all alike so far do not make it 0. The spread is its root times |x|
    in V^-1 sum(x x') V^-1.
    """
    solved = RidgeSolution.of(truth, penalty)
    length = float(np.linalg.norm(solved.theta))
    freedom = scatter.freedom(n_observations, solved.spent)
    noise = residual_variance(scatter.left(solved.fitted, penalty * length**2), freedom, freedom, most)
    turned = rows @ solved.inverse
    square = np.einsum("ij,ij->i", turned, rows) - penalty * np.einsum("ij,ij->i", turned, turned)
    lean = penalty * np.linalg.norm(turned, axis=1)
    return standard_errors_of(rows @ solved.theta, square, noise, lean, freedom, length)


def residual_variance(left: float, counted: float, freedom: float, most: float) -> float:
    """The variance of one reward, of what `counted` rewards leave; one more has the `most` that can be."""
    return (max(left, 0.0) + most) / (counted + (most > 0.0)) if freedom > 0.0 else np.inf


def standard_errors_of(
    estimates: Floats, square: Floats, noise: float, lean: Floats, freedom: float, length: float
) -> NoiseEstimate:
    """What is known of some x, by the variance of each estimate for a noise of 1."""
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(np.maximum(square, 0.0) * noise)
    alike = (np.full(len(estimates), each) for each in (freedom, length, 0.0))
    return NoiseEstimate(estimates, spread, lean, *alike)


def for_each_arm(arms: Integers, rows: Floats, tell: Callable[[int, Floats], NoiseEstimate]) -> NoiseEstimate:
    """What is known of arms in contexts, each by its own rewards."""
    found = NoiseEstimate(*np.empty((len(NoiseEstimate._fields), arms.size)))
    for arm in np.unique(arms).tolist():
        own = arms == arm
        for whole, part in zip(found, tell(arm, rows[own]), strict=True):
            whole[own] = part
    return found


def all_arms_in(arms: int, row: Floats) -> tuple[Integers, Floats]:
    """Every arm, in one context."""
    return np.arange(arms), np.tile(row, (arms, 1))


def noise_sums_kept(array: object, n_observations: float) -> NoiseSums:
    """That of a file, of so many rewards."""
    squares, unknown, spent = fitting("scatter", array, (3,)).tolist()
    least = -LEFT_BY_A_SQUARE * (n_observations + 1.0)
    if not (squares >= least and 0.0 <= unknown <= n_observations and spent >= -NO_MORE):
        raise DamagedFile("squares of rewards cannot be below 0, nor unknown of more rewards than were told")
    return NoiseSums(max(squares, 0.0), unknown, spent)


def noise_sums_of(arrays: Arrays, truth: Floats, penalty: float, n_observations: int) -> NoiseSums:
    """That of a file; one from before has none, and begins anew."""
    if "scatter" in arrays:
        return noise_sums_kept(arrays["scatter"], n_observations)
    return NoiseSums().begin(truth, penalty, n_observations)
