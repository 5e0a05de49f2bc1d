"""What follows from rewards: an estimate, and the factor of its covariance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats
from infex.core.estimators import solve_ridge


class Solution(NamedTuple):
    """theta, a lower triangular M with M'M its covariance, and the log_det_ratio.

    `solved`, (d + 1, d), has M and, in its last row, theta.
    """

    solved: Floats
    log_det_ratio: float

    @staticmethod
    def of(truth: Floats, penalty: float) -> Solution:
        """Ridge regression: theta = V^-1 b and M'M = V^-1, by sums of x x' and y x, (2, d + 1, d)."""
        solved = np.zeros(truth.shape[1:])
        return Solution(solved, solve_ridge(truth, penalty, solved))

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""
        theta: Floats = self.solved[-1].copy()
        return theta

    @property
    def factor(self) -> Floats:
        """M, (d, d)."""
        return self.solved[:-1].copy()

    def at(self, theta: Floats) -> Solution:
        """The same about another estimate."""
        return Solution(np.vstack([self.factor, theta]), self.log_det_ratio)

    @staticmethod
    def about(theta: npt.ArrayLike, covariance: npt.ArrayLike, log_det_ratio: float) -> Solution:
        """That of an estimate, (d,), its covariance, (d, d) and positive definite, and the log_det_ratio.

        >>> Solution.about([0.5], [[0.25]], log_det_ratio=0.1).factor.tolist()
        [[0.5]]
        """
        root: Any = np.linalg.cholesky(np.asarray(covariance, dtype=np.float64))
        return Solution(np.vstack([lower(root.T), np.asarray(theta, dtype=np.float64)]), log_det_ratio)


def lower(root: Floats) -> Floats:
    """The lower triangular M with a positive diagonal and M'M = root'root; there is one."""
    upper: Any = np.linalg.qr(root[:, ::-1], mode="r")
    turned: Floats = upper[::-1, ::-1]
    return np.tril(turned) * np.where(np.diag(turned) < 0.0, -1.0, 1.0)[:, None]
