"""Which regressions a model has, the arms on offer, and the design rows that rewards are learnt on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.core.posterior import radius_of as radius_of
from infex.errors import InvalidArms, UnknownArm

GONE = -1  # the index of an arm that was removed
NO_PLACE = -1
NO_ROWS_AT_ALL: Floats = np.zeros((0, 0))


class PerArm(NamedTuple):
    """A regression for each of `arms` arms, on contexts of `dim` features.

    `shared` further features of each arm have one parameter for all arms.
    """

    arms: int
    dim: int
    shared: int = 0

    @property
    def row(self) -> int:
        """How many features an arm has, its own and the shared ones."""
        return self.dim + self.shared

    @property
    def parameters(self) -> int:
        """How many parameters there are in all: those of each arm, and behind them the shared ones."""
        return self.arms * self.dim + self.shared


class ContextOffer(NamedTuple):
    """All arms of a model with a regression each, in one context, (c,); shared features, (K, s), if any."""

    context: Floats
    rows: Floats | None = None

    def row(self, arm: int) -> Floats:
        """The context, and behind it the shared features of one arm."""
        return self.context if self.rows is None else np.concatenate([self.context, self.rows[arm]])


class ArmRow(NamedTuple):
    """A reward of one arm in a context, (c,), with the arm's shared features behind it, if there are any.

    The arm's own regression learns it; nothing does if the arm is GONE.
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


Layout = Floats | PerArm
"""One regression over fixed arms, (d, K), of which there may be none; or one for each arm."""

Offer = Floats | ContextOffer
"""The arms of a round: as columns, (d, K), or those that have a regression each, in a context."""

DesignRow = int | Floats | ArmRow
"""What a reward is learnt on: a fixed arm, by its index, any x, or an arm's own regression in a context."""

Radius = float | Floats
"""A factor of widths: one for all arms, or one for each, (K,), where each has a regression of its own."""


class DesignRows(NamedTuple):
    """What n rewards are learnt on: the fixed arm at `place` or, where that is -1, the features `rows[row]`.

    With `per_arm`, all are learnt by the regression of the arm at `place`, -1 if it is gone, in the context
    `rows[row]`.
    """

    place: Integers
    row: Integers
    rows: Floats
    per_arm: bool = False

    @staticmethod
    def on_arms(places: Integers) -> DesignRows:
        """Fixed arms alone."""
        return DesignRows(places, np.full(places.size, NO_PLACE), NO_ROWS_AT_ALL)

    @staticmethod
    def on_rows(rows: Floats) -> DesignRows:
        """Features alone, (n, d)."""
        return DesignRows(np.full(len(rows), NO_PLACE), np.arange(len(rows)), rows)

    @staticmethod
    def on_arm_rows(arms: Integers, contexts: Floats) -> DesignRows:
        """Arms with a regression each, in contexts, (n, c)."""
        return DesignRows(arms, np.arange(len(contexts)), contexts, True)

    @staticmethod
    def of(each: Iterable[DesignRow]) -> DesignRows:
        """The design of single rewards."""
        rows: list[Floats] = []
        places, row, per_arm = [], [], False
        for on in each:
            places.append(on if isinstance(on, int) else on.arm if isinstance(on, ArmRow) else NO_PLACE)
            row.append(NO_PLACE if isinstance(on, int) else len(rows))
            if not isinstance(on, int):
                rows.append(on.context if isinstance(on, ArmRow) else on)
                per_arm = isinstance(on, ArmRow)
        stacked = np.array(rows, dtype=np.float64) if rows else NO_ROWS_AT_ALL
        return DesignRows(np.array(places, dtype=np.int64), np.array(row, dtype=np.int64), stacked, per_arm)

    @property
    def size(self) -> int:
        """n, the number of rewards."""
        return int(self.place.size)

    def on(self, which: int) -> DesignRow:
        """The design row of one reward."""
        place = int(self.place[which])
        if self.per_arm:
            return ArmRow(place, np.array(self.rows[self.row[which]]))
        return place if place >= 0 else np.array(self.rows[self.row[which]])

    def at(self, which: Integers | Bools) -> DesignRows:
        """The design of some of the rewards, with no more rows than they need."""
        place, row = self.place[which], self.row[which]
        used = row >= 0
        renumbered = np.full(row.size, NO_PLACE)
        renumbered[used] = np.arange(int(used.sum()))
        rows = self.rows[row[used]] if used.any() else NO_ROWS_AT_ALL
        return DesignRows(place, renumbered, rows, self.per_arm)

    def features(self, columns: Floats) -> Floats:
        """The design matrix, (n, d), where the fixed arms are `columns`, (d, K)."""
        rows, fixed = np.empty((self.size, len(columns))), self.place >= 0
        rows[fixed] = columns[:, self.place[fixed]].T
        if not fixed.all():
            rows[~fixed] = self.rows[self.row[~fixed]]
        return rows

    def for_one_regression(self, shape: tuple[int, ...]) -> tuple[Integers, Integers, Floats]:
        """Places, row numbers and rows as compiled code reads them, for fixed arms of the shape (d, K).

        Refuses arms and rows that are not there: compiled code would read beyond its arrays.
        """
        dim, arms = shape
        if self.per_arm:
            raise UnknownArm("rewards of arms with a regression each cannot be learnt by one for all")
        if (self.place >= 0).any():
            check_arm(int(self.place.max()), arms)
        row, rows = self.row[self.place < 0], self.rows
        if row.size and not (row.min() >= 0 and row.max() < len(rows) and rows.shape[1] == dim):
            raise UnknownArm(f"rewards cannot be learnt on features {rows.shape} where arms have {dim}")
        return self.place, self.row, np.ascontiguousarray(rows) if len(rows) else np.zeros((0, dim))

    def for_each_arm(self) -> tuple[Integers, Integers, Floats]:
        """Arms, row numbers and contexts as compiled code reads them."""
        if self.size and not self.per_arm:
            raise UnknownArm("arms that have a regression each are known in a context alone")
        place, row = np.ascontiguousarray(self.place), np.ascontiguousarray(self.row)
        return place, row, np.ascontiguousarray(self.rows)


def check_arm(arm: int, arms: int) -> None:
    """Refuses the index of an arm that is not there."""
    if not 0 <= arm < arms:
        raise UnknownArm(f"a reward cannot be learnt on arm {arm} of {arms}")


def features_of(on: DesignRow, columns: Floats) -> Floats:
    """The features of a fixed arm, which are `columns`, or x itself; refuses an arm in a context."""
    if isinstance(on, ArmRow):
        raise UnknownArm(f"a reward of arm {on.arm} in a context needs a regression for each arm")
    if not isinstance(on, int):
        return on
    check_arm(on, columns.shape[1])
    return np.array(columns[:, on])


def arm_row_of(on: DesignRow) -> ArmRow:
    """An arm in a context; refuses anything else."""
    if not isinstance(on, ArmRow):
        raise UnknownArm(f"a reward must be learnt on an arm in a context, not on {type(on).__name__}")
    return on


def fixed_arms_of(layout: Layout) -> Floats:
    """Fixed arms, (d, K); refuses a layout with a regression for each."""
    if isinstance(layout, PerArm):
        raise InvalidArms(f"one regression cannot go on as one for each of {layout.arms} arms")
    return layout


def per_arm_of(layout: Layout) -> PerArm:
    """A layout with a regression for each arm."""
    assert isinstance(layout, PerArm), layout
    return layout
