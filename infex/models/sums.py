"""Sufficient statistics of rewards: moments, sums that add up with others', and revisions of a reward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers, fitting
from infex.checks import HEAVIEST_WEIGHT
from infex.core.bank import block_diagonal
from infex.core.choosing import smallest_eigenvalue
from infex.core.estimators import lasso, least_squares
from infex.core.ridge import add_rewards
from infex.errors import DamagedFile
from infex.models.layout import DesignRow

ROUNDING = 1e-6  # of the penalty, and of what rewards add up to
ROUNDED_OFF = 1e-12  # of the trace, how far rounding may bring an eigenvalue below 0


class Moments(NamedTuple):
    """sum x x', sum y x, and how many rewards are in them."""

    gram: Floats
    moment: Floats
    n_observations: int

    @staticmethod
    def of(sums: Floats, n_observations: int) -> Moments:
        """The moments of sums with carries, (2, d + 1, d), as `core/ridge.pxd` lays them out."""
        whole = sums[0] + sums[1]  # with the carry: else rounding would hide that a gram is singular
        lower = np.tril(whole[:-1])
        gram: Floats = lower + lower.T
        np.fill_diagonal(gram, np.diagonal(lower))
        return Moments(gram, whole[-1], n_observations)

    def least_squares(self) -> Floats:
        """The parameter of least squares; of the least length where many are equally good."""
        return least_squares(self.gram, self.moment)

    def lasso(self, strength: float, start: Floats | None = None) -> Floats:
        """The parameter that minimises sum (y - x'theta)^2/(2n) + strength |theta|_1.

        By coordinate descent from `start`, which makes the next fit after one more reward cheap.
        """
        if strength == 0.0:
            return self.least_squares()
        if self.n_observations == 0:
            return np.zeros(self.moment.size) if start is None else np.array(start, dtype=np.float64)
        return lasso(self.gram / self.n_observations, self.moment / self.n_observations, strength, start)

    def least_eigenvalue(self) -> tuple[float, float]:
        """The smallest eigenvalue of sum x x', and the trace."""
        return smallest_eigenvalue(self.gram)


class BlockMoments(NamedTuple):
    """The moments of each block, and how many rewards are in all of them.

    It answers as the `Moments` of one regression of K c features would, of which sum x x' is 0 between
    blocks, in the time of K small ones.
    """

    parts: tuple[Moments, ...]
    n_observations: int

    @property
    def gram(self) -> Floats:
        """sum x x', (K c, K c)."""
        return block_diagonal([part.gram for part in self.parts])

    @property
    def moment(self) -> Floats:
        """sum y x, (K c,)."""
        return np.concatenate([part.moment for part in self.parts])

    def least_squares(self) -> Floats:
        """The parameter of least squares; of the least length where many are equally good."""
        return np.concatenate([part.least_squares() for part in self.parts])

    def lasso(self, strength: float, start: Floats | None = None) -> Floats:
        """The parameter that minimises sum (y - x'theta)^2/(2n) + strength |theta|_1, n being all rewards."""
        if strength == 0.0:
            return self.least_squares()
        size = self.parts[0].moment.size
        theta = np.zeros(size * len(self.parts)) if start is None else np.array(start, dtype=np.float64)
        if self.n_observations > 0:
            for part, block in zip(self.parts, theta.reshape(-1, size), strict=True):
                block[:] = lasso(
                    part.gram / self.n_observations, part.moment / self.n_observations, strength, block
                )
        return theta

    def least_eigenvalue(self) -> tuple[float, float]:
        """The smallest eigenvalue of sum x x', and the trace."""
        least, traces = zip(*(part.least_eigenvalue() for part in self.parts), strict=True)
        return min(least), sum(traces)


def fitting_sums(name: str, array: object, dim: int, n_observations: int, penalty: float) -> Floats:
    """Saved sums of x x' and y x, (2, d + 1, d), if so many rewards can add up to them."""
    sums: Floats = fitting(name, array, (2, dim + 1, dim))
    with np.errstate(all="ignore"):  # numbers of a file may be anything
        gram = Moments.of(sums, n_observations).gram
        trace = float(np.trace(gram))
    if not trace <= n_observations * HEAVIEST_WEIGHT * (1.0 + ROUNDING):
        raise DamagedFile(f"{name} is more than {n_observations} rewards add up to")
    if not float(np.linalg.eigvalsh(gram)[0]) >= -(ROUNDING * penalty + ROUNDED_OFF * trace):
        raise DamagedFile(f"{name} is no sum of x x'")
    return sums


class SufficientStatistics(NamedTuple):
    """Sums of x x' and y x, each with its carry, (2, d + 1, d), or those of each arm, (K, 2, c + 1, c).

    `counts` are pulls and summed rewards of the arms, (2, K), and `n_observations` how many rewards.
    Where arms share features z, their sums have rows of z x' below, (K, 2, c + 1 + s, c), and `common` are
    sums of z z' and y z, (2, s + 1, s).
    """

    sums: Floats
    counts: Floats
    n_observations: int
    common: Floats | None = None

    def plus(self, other: SufficientStatistics) -> SufficientStatistics:
        """The statistics of both together."""
        common = None
        if self.common is not None and other.common is not None:
            common = added(self.common, other.common)
        counts, n_observations = self.counts + other.counts, self.n_observations + other.n_observations
        return SufficientStatistics(added(self.sums, other.sums), counts, n_observations, common)

    def minus(self, other: SufficientStatistics) -> SufficientStatistics:
        """The difference: what came since `other`."""
        common = None if other.common is None else -other.common
        return self.plus(SufficientStatistics(-other.sums, -other.counts, -other.n_observations, common))

    def moved_to(self, places: Integers, count: int) -> SufficientStatistics:
        """The statistics over `count` other arms: each of these arms is at a place there, or nowhere (-1)."""
        known = places >= 0
        counts = np.zeros((2, count))
        counts[:, places[known]] = self.counts[:, known]
        if self.sums.ndim == 3:
            return self._replace(counts=counts)
        sums = np.zeros((count, *self.sums.shape[1:]))
        sums[places[known]] = self.sums[known]
        lost = 0 if self.common is not None else int(self.counts[0].sum() - counts[0].sum())
        return SufficientStatistics(sums, counts, self.n_observations - lost, self.common)


def added(one: Floats, two: Floats) -> Floats:
    """The sum of sums with carries, exact but for the carries' rounding (Knuth's two-sum)."""
    first, second = (np.moveaxis(each, -3, 0) for each in (one, two))
    total = first[0] + second[0]
    part = total - first[0]
    lost = (first[0] - (total - part)) + (second[0] - part)
    return np.ascontiguousarray(np.moveaxis(np.array([total, first[1] + second[1] + lost]), 0, -3))


class Revision(NamedTuple):
    """A reward that was `before`, learnt on `on` with an effective `weight`, is `after`; None takes it out.

    `number` is what `Model.observation_number` said before it was learnt.
    """

    on: DesignRow
    before: float
    after: float | None
    weight: float = 1.0
    number: int = 0

    @property
    def pulls(self) -> int:
        """The change of the number of rewards: 0, or -1."""
        return -1 if self.after is None else 0

    @property
    def gain(self) -> float:
        """The change of the sum of rewards."""
        return (0.0 if self.after is None else self.after) - self.before


def revise_sums(sums: Floats, penalty: float, x: Floats, revision: Revision, share: float = 1.0) -> None:
    """Applies the revision of a reward of x to sums, (2, d + 1, d); `share` is a factor of its weight.

    What went in comes out again as the very same products, so that nothing of it stays; where the reward
    only gets another value, sum x x' does not change at all.
    """
    weight = share * float(revision.weight)
    if revision.after is None:
        add_rewards(sums, penalty, x, -weight, -weight * revision.before)
        return
    add_rewards(sums, penalty, x, 0.0, -weight * revision.before)
    add_rewards(sums, penalty, x, 0.0, weight * revision.after)
