"""Arms that are on offer in one round only."""

from __future__ import annotations

from typing import Protocol, final

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.kernels.view import View
from infex.linear.moments import Moments

REST = np.zeros(kernels.RUN)  # no run is under way


class Learnt(Protocol):
    """What an offer reads: a `Ridge`, or others that have theta and M, where M'M is theta's covariance."""

    @property
    def penalty(self) -> float:
        """The penalty."""

    @property
    def volume(self) -> float:
        """alpha."""

    @property
    def theta(self) -> Floats:
        """The estimate."""

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        """The parameter theta + scale M'direction."""

    def moments(self) -> Moments:
        """What was learnt, as sums."""

    def scored(self, columns: Floats) -> Floats:
        """A board for other arms, with no run under way."""

    def view_of(self, columns: Floats, board: Floats, settings: Floats) -> View:
        """What a kernel sees of other arms, whose board was scored just now."""


@final
class Offer:
    """What is known of arms that have no scores kept up: each figure is computed when asked for."""

    __slots__ = ("_board", "_ridge", "columns")

    lasting = False

    def __init__(self, ridge: Learnt, columns: Floats) -> None:
        self._ridge = ridge
        self._board: Floats | None = None
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
        out = np.empty(self.columns.shape[1])
        kernels.widths(self._scored(), REST, out)
        return out

    def width(self, arm: int) -> float:
        if self._board is not None:
            return kernels.arm_width(self._board, REST, arm)
        return Offer(self._ridge, self.columns[:, arm : arm + 1]).widths().item()

    def upper(self, beta: float) -> Floats:
        out = np.empty(self.columns.shape[1])
        kernels.upper(self._scored(), REST, beta, out)
        return out

    def perturbed(self, scale: float, direction: Floats) -> Floats:
        return self._ridge.perturbed(scale, direction)

    def means(self, scores: Floats) -> Floats:
        return scores

    def on(self, columns: Floats) -> Offer:
        return Offer(self._ridge, columns)

    def moments(self) -> Moments:
        return self._ridge.moments()

    def view(self, settings: Floats) -> View:
        return self._ridge.view_of(self.columns, self._scored(), settings)

    def _scored(self) -> Floats:
        if self._board is None:
            self._board = self._ridge.scored(self.columns)
        return self._board
