"""What follows from rewards: an estimate, and the factor of its covariance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.kernels.layout import VOLUME, blank


class Solution(NamedTuple):
    """theta, a lower triangular M with M'M its covariance, and the volume.

    They stand in the arrays that `infex.kernels` describes, with no run under way.
    """

    solved: Floats
    vectors: Floats
    run: Floats

    @staticmethod
    def of(truth: Floats, penalty: float) -> Solution:
        """Ridge regression: theta = V^-1 b and M'M = V^-1, by the sums that `infex.kernels` calls truth."""
        dim = truth.shape[2]
        _, solved, board, vectors, run = blank(dim, 0)
        kernels.refresh(truth, penalty, solved, np.zeros((dim, 0)), board, run)
        return Solution(solved, vectors, run)

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

    def spread(self, root: Floats, volume: float) -> Solution:
        """The same estimate with the covariance root'root, and another volume."""
        run = self.run.copy()
        run[VOLUME] = volume
        return Solution(np.vstack([lower(root), self.theta]), self.vectors, run)


def lower(root: Floats) -> Floats:
    """The lower triangular M with a positive diagonal and M'M = root'root; there is one."""
    upper: Any = np.linalg.qr(root[:, ::-1], mode="r")
    turned: Floats = upper[::-1, ::-1]
    return np.tril(turned) * np.where(np.diag(turned) < 0.0, -1.0, 1.0)[:, None]
