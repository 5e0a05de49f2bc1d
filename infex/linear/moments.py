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
