"""Which regressions there are, the arms of a round, and what rewards are learnt on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.errors import InvalidArms, UnknownArm

GONE = -1  # the place of an arm that was removed


class PerArm(NamedTuple):
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


class ContextOffer(NamedTuple):
    """All arms that have a regression of their own, in one context, (c,); shared features, (K, s), if any."""

    context: Floats
    rows: Floats | None = None

    def row(self, arm: int) -> Floats:
        """The context, and behind it the shared features of one arm."""
        return self.context if self.rows is None else np.concatenate([self.context, self.rows[arm]])


class ArmRow(NamedTuple):
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


Layout = Floats | PerArm
"""What statistics are of: one regression over fixed arms, (d, K), which may be none; or one for each arm."""

Offer = Floats | ContextOffer
"""The arms of a round: as columns, (d, K), or those that have a regression each, in a context."""

DesignRow = int | Floats | ArmRow
"""What a reward is learnt on: a fixed arm, by its index, any x, or an arm's own regression in a context."""

Radius = float | Floats
"""A factor of widths: one for all arms, or one for each, (K,), where each has a regression of its own."""


def radius_at(radius: Radius, arm: int) -> float:
    """The factor of one arm's width."""
    return float(radius[arm]) if isinstance(radius, np.ndarray) and radius.ndim else float(radius)


NO_PLACE = -1
NO_ROWS_AT_ALL: Floats = np.zeros((0, 0))


class DesignRows(NamedTuple):
    """What n rewards are learnt on: the fixed arm at `place` or, where that is -1, features `rows[row]`.

    Where arms have a regression each (`per_arm`), all are learnt on the one at `place`, -1 if it is gone, in
    the context `rows[row]`.
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
        """Those of single rewards."""
        rows: list[Floats] = []
        places, of_row, per_arm = [], [], False
        for on in each:
            fixed = isinstance(on, int)
            of_row.append(NO_PLACE if fixed else len(rows))
            places.append(_place_of(on))
            if not isinstance(on, int):
                rows.append(_row_of(on))
                per_arm = isinstance(on, ArmRow)
        kept = np.array(rows, dtype=np.float64) if rows else NO_ROWS_AT_ALL
        return DesignRows(np.array(places, dtype=np.int64), np.array(of_row, dtype=np.int64), kept, per_arm)

    @staticmethod
    def joined(parts: Sequence[DesignRows]) -> DesignRows:
        """Several, one after the other."""
        rows, starts, first = [part.rows for part in parts if len(part.rows)], [], 0
        for part in parts:
            starts.append(np.where(part.row >= 0, part.row + first, NO_PLACE))
            first += len(part.rows)
        place, row = np.concatenate([part.place for part in parts]), np.concatenate(starts)
        kept = np.vstack(rows) if rows else NO_ROWS_AT_ALL
        return DesignRows(place, row, kept, any(part.per_arm for part in parts))

    def features(self, columns: Floats) -> Floats:
        """The features of each, (n, d), of fixed arms that stand in columns, (d, K), or as they are."""
        rows, fixed = np.empty((self.size, len(columns))), self.place >= 0
        rows[fixed] = columns[:, self.place[fixed]].T
        if not fixed.all():
            rows[~fixed] = self.rows[self.row[~fixed]]
        return rows

    @property
    def size(self) -> int:
        """n."""
        return int(self.place.size)

    def on(self, which: int) -> DesignRow:
        """What one of the rewards is learnt on."""
        place = int(self.place[which])
        if self.per_arm:
            return ArmRow(place, np.array(self.rows[self.row[which]]))
        return place if place >= 0 else np.array(self.rows[self.row[which]])

    def at(self, which: Integers | Bools) -> DesignRows:
        """Those of some rewards, with no more rows than they have."""
        place, row = self.place[which], self.row[which]
        used = row >= 0
        renumbered = np.full(row.size, NO_PLACE)
        renumbered[used] = np.arange(int(used.sum()))
        rows = self.rows[row[used]] if used.any() else NO_ROWS_AT_ALL
        return DesignRows(place, renumbered, rows, self.per_arm)

    def span(self, first: int, last: int) -> DesignRows:
        """Those from one place up to before another, as views of the same arrays."""
        return self._replace(place=self.place[first:last], row=self.row[first:last])

    def overwritten(self, which: Integers, others: DesignRows) -> DesignRows:
        """The same with other grounds for some rewards; the arrays are the same where they can be."""
        if not np.array_equal(self.row[which] >= 0, others.row >= 0):  # an arm here, features there
            order = np.arange(self.size)
            order[which] = self.size + np.arange(others.size)
            return DesignRows.joined([self, others]).at(order)
        self.place[which] = others.place
        if len(others.rows):
            self.rows[self.row[which]] = others.rows[others.row]
        return self

    def moved(self, places: Integers, columns: Floats) -> DesignRows:
        """The same when arms have come to new places, `places` being their old ones.

        A fixed arm that is gone is learnt by its features, of the old `columns`.
        """
        known, new_place = places >= 0, np.full(int(max(self.place.max(), places.max())) + 2, NO_PLACE)
        new_place[places[known]] = np.flatnonzero(known)
        place = np.where(self.place >= 0, new_place[self.place], NO_PLACE)
        gone = (self.place >= 0) & (place < 0)
        if self.per_arm or not gone.any():
            return self._replace(place=place)
        row = self.row.copy()
        row[gone] = len(self.rows) + np.arange(int(gone.sum()))
        rows = columns.T[self.place[gone]]
        return DesignRows(place, row, np.vstack([self.rows, rows]) if len(self.rows) else rows.copy())


def _place_of(on: DesignRow) -> int:
    if isinstance(on, ArmRow):
        return on.arm
    return on if isinstance(on, int) else NO_PLACE


def _row_of(on: Floats | ArmRow) -> Floats:
    return on.context if isinstance(on, ArmRow) else on


def check_design(design: DesignRows, shape: tuple[int, ...]) -> None:
    """Refuses places of arms and rows that are not there: compiled code would read beyond its arrays."""
    dim, arms = shape
    place, row, rows, per_arm = design
    if (place >= 0).any():
        check_arm(int(place.max()), arms)
    on_rows = row[place < 0]
    if per_arm:
        raise UnknownArm("rewards of arms with a regression each cannot be learnt by one for all")
    if on_rows.size and not (on_rows.min() >= 0 and on_rows.max() < len(rows) and rows.shape[1] == dim):
        raise UnknownArm(f"rewards cannot be learnt on features {rows.shape} where arms have {dim}")


def readable_rows(design: DesignRows, dim: int) -> Floats:
    """The rows as compiled code reads them, also where there are none."""
    return np.ascontiguousarray(design.rows) if len(design.rows) else np.zeros((0, dim))


def check_arm(on: int, arms: int) -> None:
    """Refuses the index of an arm that is not there."""
    if not 0 <= on < arms:
        raise UnknownArm(f"a reward cannot be learnt on arm {on} of {arms}")


def features_only(on: Floats | ArmRow) -> Floats:
    """Features; refuses an arm in a context, which only a regression of its own can learn on."""
    if isinstance(on, ArmRow):
        raise UnknownArm(f"a reward of arm {on.arm} in a context needs a regression for each arm")
    return on


def one_regression(layout: Layout) -> Floats:
    """Fixed arms, (d, K); refuses a layout with a regression for each."""
    if isinstance(layout, PerArm):
        raise InvalidArms(f"one regression cannot go on as one for each of {layout.arms} arms")
    return layout
