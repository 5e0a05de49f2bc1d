"""What was learnt as sums, and what is read from them without a penalty: least squares and LASSO."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.core.choosing import smallest_eigenvalue
from infex.core.estimators import lasso, least_squares


class Moments(NamedTuple):
    """sum x x', sum y x, and how many rewards are in them."""

    gram: Floats
    moment: Floats
    told: int

    @staticmethod
    def of(truth: Floats, told: int) -> Moments:
        """Those of the truth that `kernels` describes."""
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
