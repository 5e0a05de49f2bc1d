"""What follows from rewards: an estimate, and the factor of its covariance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from infex import kernels
from infex.arrays import Floats
from infex.core.estimators import solve_ridge
from infex.kernels.layout import ARM, VOLUME, blank


class Solution(NamedTuple):
    """theta, a lower triangular M with M'M its covariance, and the volume.

    They stand in the arrays that `infex.kernels` describes, with no run under way.

    `solved` has M and, in its last row, theta; `vectors` are theirs for the fixed arms.
    """

    solved: Floats
    vectors: Floats
    run: Floats

    @staticmethod
    def of(truth: Floats, penalty: float) -> Solution:
        """Ridge regression: theta = V^-1 b and M'M = V^-1, by the sums that `infex.kernels` calls truth."""
        solution = Solution.blank(truth.shape[2])
        return solution.grown(solve_ridge(truth, penalty, solution.solved))

    @property
    def theta(self) -> Floats:
        """The estimate, (d,)."""
        theta: Floats = self.solved[-1].copy()
        return theta

    @property
    def factor(self) -> Floats:
        """M, (d, d)."""
        return self.solved[:-1].copy()

    @property
    def volume(self) -> float:
        """alpha."""
        return kernels.volume(self.run)

    def at(self, theta: Floats) -> Solution:
        """The same about another estimate."""
        return Solution(np.vstack([self.factor, theta]), self.vectors, self.run)

    @staticmethod
    def blank(dim: int) -> Solution:
        """Room for one, to be filled by a kernel."""
        _, solved, _, vectors, run = blank(dim, 0)
        run[ARM] = -1.0
        return Solution(solved, vectors, run)

    @staticmethod
    def about(theta: npt.ArrayLike, covariance: npt.ArrayLike, volume: float) -> Solution:
        """That of an estimate, (d,), its covariance, (d, d) and positive definite, and the volume.

        >>> Solution.about([0.5], [[0.25]], volume=0.1).factor.tolist()
        [[0.5]]
        """
        root: Any = np.linalg.cholesky(np.asarray(covariance, dtype=np.float64))
        solution = Solution.blank(len(root))
        solution.solved[:-1], solution.solved[-1] = lower(root.T), theta
        return solution.grown(volume)

    def grown(self, volume: float) -> Solution:
        """The same with that volume, in its place."""
        self.run[VOLUME] = volume
        return self


def lower(root: Floats) -> Floats:
    """The lower triangular M with a positive diagonal and M'M = root'root; there is one."""
    upper: Any = np.linalg.qr(root[:, ::-1], mode="r")
    turned: Floats = upper[::-1, ::-1]
    return np.tril(turned) * np.where(np.diag(turned) < 0.0, -1.0, 1.0)[:, None]
