"""What was learnt as sums, and what is read from them without a penalty: least squares and LASSO."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, fitting
from infex.checks import HEAVIEST_WEIGHT
from infex.core.choosing import smallest_eigenvalue
from infex.core.estimators import lasso, least_squares
from infex.errors import DamagedFile

ROUNDING = 1e-6  # of the penalty, and of what rewards add up to
ROUNDED_OFF = 1e-12  # of the trace, how far rounding may bring an eigenvalue below 0


class Moments(NamedTuple):
    """sum x x', sum y x, and how many rewards are in them."""

    gram: Floats
    moment: Floats
    told: int

    @staticmethod
    def of(truth: Floats, told: int) -> Moments:
        """Those of sums as `core/ridge.pxd` describes them, (2, d + 1, d), each with a carry."""
        sums = truth[0] + truth[1]  # with the carry: else rounding would hide that a gram is singular
        gram = np.tril(sums[:-1]) + np.tril(sums[:-1], -1).T
        return Moments(gram, sums[-1], told)

    def least_squares(self) -> Floats:
        """The parameter of least squares; of the least length where many are equally good."""
        return least_squares(self.gram, self.moment)

    def lasso(self, strength: float, start: Floats | None = None) -> Floats:
        """The parameter that minimises sum (y - x'theta)^2/(2n) + strength |theta|_1.

        By coordinate descent from `start`, which makes the next fit after one more reward cheap.
        """
        if strength == 0.0:
            return self.least_squares()
        if self.told == 0:
            return np.zeros(self.moment.size) if start is None else np.array(start, dtype=np.float64)
        return lasso(self.gram / self.told, self.moment / self.told, strength, start)

    def least_eigenvalue(self) -> tuple[float, float]:
        """The smallest eigenvalue of sum x x', and the trace."""
        return smallest_eigenvalue(self.gram)


class BlockMoments(NamedTuple):
    """The moments of each block, and how many rewards are in all of them.

    It answers as the `Moments` of one regression of K c features would, of which sum x x' is 0 between
    blocks, in the time of K small ones.
    """

    parts: tuple[Moments, ...]
    told: int

    @property
    def gram(self) -> Floats:
        """sum x x', (K c, K c)."""
        return diagonal_of([part.gram for part in self.parts])

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
        if self.told > 0:
            for part, block in zip(self.parts, theta.reshape(-1, size), strict=True):
                block[:] = lasso(part.gram / self.told, part.moment / self.told, strength, block)
        return theta

    def least_eigenvalue(self) -> tuple[float, float]:
        """The smallest eigenvalue of sum x x', and the trace."""
        least, traces = zip(*(part.least_eigenvalue() for part in self.parts), strict=True)
        return min(least), sum(traces)


def diagonal_of(blocks: list[Floats]) -> Floats:
    """A matrix with square blocks on its diagonal, 0 elsewhere."""
    size, count = len(blocks[0]), len(blocks)
    whole: Floats = np.zeros((count, size, count, size))
    whole[np.arange(count), :, np.arange(count), :] = blocks
    return whole.reshape(count * size, count * size)


def fitting_sums(name: str, array: object, dim: int, told: int, penalty: float) -> Floats:
    """Sums of x x' and y x from elsewhere, (2, d + 1, d), if so many rewards can have brought them."""
    truth: Floats = fitting(name, array, (2, dim + 1, dim))
    with np.errstate(all="ignore"):  # numbers of a file may be anything
        gram = Moments.of(truth, told).gram
        trace = float(np.trace(gram))
    if not trace <= told * HEAVIEST_WEIGHT * (1.0 + ROUNDING):
        raise DamagedFile(f"{name} is more than {told} rewards add up to")
    if not float(np.linalg.eigvalsh(gram)[0]) >= -(ROUNDING * penalty + ROUNDED_OFF * trace):
        raise DamagedFile(f"{name} is no sum of x x'")
    return truth
