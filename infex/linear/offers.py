"""Arms with a regression for each: how many, what a round offers of them, what a reward is learnt on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from infex.arrays import Floats

GONE = -1  # the place of an arm that was removed


class Separate(NamedTuple):
    """So many arms, each with a regression of its own on contexts of `dim` features.

    `shared` further features of each arm have one parameter for all arms.
    """

    arms: int
    dim: int
    shared: int = 0

    @property
    def row(self) -> int:
        """How many features of one arm there are, its own and those that are shared."""
        return self.dim + self.shared

    @property
    def parameters(self) -> int:
        """How many parameters there are in all: those of each arm, and behind them those that are shared."""
        return self.arms * self.dim + self.shared


class InContext(NamedTuple):
    """All arms that have a regression of their own, in one context, (c,); shared features, (K, s), if any."""

    context: Floats
    rows: Floats | None = None

    def row(self, arm: int) -> Floats:
        """The context, and behind it the shared features of one arm."""
        return self.context if self.rows is None else np.concatenate([self.context, self.rows[arm]])


class InBlock(NamedTuple):
    """One arm in a context, (c,): its own regression learns the reward, and none does if the arm is gone.

    Behind the context stand features of the arm that are shared, if there are any.
    """

    arm: int
    context: Floats

    def row(self, dim: int, shared: int = 0) -> Floats:
        """The same as one row of `dim` features: the context in the arm's block, shared ones at the end."""
        row: Floats = np.zeros(dim)
        own = self.context.size - shared
        if self.arm != GONE:
            row[self.arm * own : (self.arm + 1) * own] = self.context[:own]
            row[dim - shared :] = self.context[own:]
        return row


Layout = Floats | Separate
"""What statistics are of: one regression over fixed arms, (d, K), which may be none; or one for each arm."""

Offer = Floats | InContext
"""The arms of a round: as columns, (d, K), or those that have a regression each, in a context."""

On = int | Floats | InBlock
"""What a reward is learnt on: a fixed arm, by its index, any x, or an arm's own regression in a context."""

Radius = float | Floats
"""A factor of widths: one for all arms, or one for each, (K,), where each has a regression of its own."""


def radius_at(radius: Radius, arm: int) -> float:
    """The factor of one arm's width."""
    return float(radius[arm]) if isinstance(radius, np.ndarray) and radius.ndim else float(radius)
