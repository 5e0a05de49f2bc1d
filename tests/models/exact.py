"""Ridge regression in exact fractions: what rounding is measured against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import mpmath

from infex.arrays import Floats

Row = list[Fraction]


class Pulls(NamedTuple):
    """`pulls` rewards of an arm, and their sum."""

    arm: int
    pulls: int
    total: Fraction


def solve(matrix: Sequence[Row], right: Row) -> Row:
    """matrix^-1 right, by elimination; the matrix is positive definite, so no pivot is 0."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i, pivot in enumerate(rows):
        for row in rows[i + 1 :]:
            part = row[i] / pivot[i]
            row[:] = [a - part * b for a, b in zip(row, pivot, strict=True)]
    found = [Fraction(0)] * len(rows)
    for i in reversed(range(len(rows))):
        later = sum((rows[i][j] * found[j] for j in range(i + 1, len(rows))), Fraction(0))
        found[i] = (rows[i][-1] - later) / rows[i][i]
    return found


def determinant(matrix: Sequence[Row]) -> Fraction:
    """That of a positive definite matrix: the product of all pivots."""
    rows, found = [list(row) for row in matrix], Fraction(1)
    for i, pivot in enumerate(rows):
        found *= pivot[i]
        for row in rows[i + 1 :]:
            part = row[i] / pivot[i]
            row[:] = [a - part * b for a, b in zip(row, pivot, strict=True)]
    return found


def dot(one: Row, other: Row) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


class Exact:
    """V = penalty I + sum x x' and b = sum y x of the very numbers that a ridge was given."""

    def __init__(self, arms: Floats, told: Iterable[Pulls], penalty: float) -> None:
        self.arms = [[Fraction(float(part)) for part in arm] for arm in arms]
        self.penalty, dim = Fraction(penalty), arms.shape[1]
        self.gram = [[self.penalty if i == j else Fraction(0) for j in range(dim)] for i in range(dim)]
        self.moment = [Fraction(0)] * dim
        for arm, pulls, total in told:
            x = self.arms[arm]
            self.gram = [
                [v + pulls * a * b for v, b in zip(row, x, strict=True)]
                for row, a in zip(self.gram, x, strict=True)
            ]
            self.moment = [b + total * a for b, a in zip(self.moment, x, strict=True)]

    @property
    def theta(self) -> Row:
        return solve(self.gram, self.moment)

    @property
    def log_det_ratio(self) -> float:
        """log(det V/det V_0)."""
        grown = determinant(self.gram) / self.penalty ** len(self.moment)
        with mpmath.workdps(60):
            return float(mpmath.log(mpmath.mpf(grown.numerator) / mpmath.mpf(grown.denominator)))

    def squares(self) -> list[Fraction]:
        """x'V^-1 x of every arm: its squared width."""
        return [dot(x, solve(self.gram, x)) for x in self.arms]
