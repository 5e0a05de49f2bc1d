"""Arms that are on offer in one round only."""

import math
from typing import final

import numpy as np

from infex.linear import kernels
from infex.linear.kernels import Floats
from infex.linear.ridge import Ridge


@final
class Offer:
    """What a ridge knows of arms that it keeps no scores of: each figure is computed when asked for."""

    __slots__ = ("_ridge", "columns")

    def __init__(self, ridge: Ridge, columns: Floats) -> None:
        self._ridge = ridge
        self.columns = np.ascontiguousarray(columns, dtype=np.float64)

    @property
    def penalty(self) -> float:
        return self._ridge.penalty

    @property
    def volume(self) -> float:
        return self._ridge.volume

    def estimates(self) -> tuple[int, Floats]:
        out = np.empty(self.columns.shape[1])
        kernels.product(self.columns, self._ridge.theta, out)
        return kernels.best(out), out

    def widths(self) -> Floats:
        return np.sqrt(self._direct()[1])

    def width(self, arm: int) -> float:
        x = np.ascontiguousarray(self.columns[:, arm])
        return math.sqrt(kernels.project(self._ridge.factor, x, np.empty(x.size), np.empty(x.size)))

    def upper(self, beta: float) -> Floats:
        scores, squares = self._direct()
        kernels.upper(scores, squares, squares, 0.0, 0.0, beta, scores)
        return scores

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        return self._ridge.perturbed(scale, direction)

    def _direct(self) -> tuple[Floats, Floats]:
        """Every arm's estimate and squared width."""
        scores, squares = np.empty((2, self.columns.shape[1]))
        kernels.direct(self._ridge.factor, self.columns, self._ridge.theta, scores, squares)
        return scores, squares
