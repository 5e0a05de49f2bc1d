"""The factor of V, and what follows from it, from the truth alone; see `kernels`."""

import math

import numpy as np

from infex.arrays import Floats
from infex.kernels.algebra import add, row_dot, rows_dot
from infex.kernels.compiling import larger, within, woven
from infex.kernels.layout import LITTLE
from infex.kernels.pairs import minus_product, quotient, root


@woven
def factor(truth: Floats, penalty: float, solved: Floats) -> float:
    """The volume, and in `solved` the lower Cholesky factor of V, by columns: quotients need not wait."""
    grown, d = 0.0, solved.shape[1]
    for j in range(d):
        value = truth[0, j, j] + truth[1, j, j] - rows_dot(solved, j, j, j)
        pivot = solved[j, j] = math.sqrt(value + penalty)
        if abs(value) < LITTLE * penalty:  # rounding makes no volume of nothing
            grown += math.log1p(value / penalty)
        else:
            grown += math.log(pivot * pivot / penalty)
        for i in range(j + 1, d):
            solved[i, j] = (truth[0, i, j] + truth[1, i, j] - rows_dot(solved, i, j, j)) / pivot
    return grown


@woven
def invert(solved: Floats) -> None:
    """A lower triangular matrix becomes its inverse, row by row in its place."""
    d = solved.shape[1]
    row = np.empty(d)
    for i in range(d):
        for j in range(i):
            row[j] = 0.0
        for k in range(i):
            for j in range(k + 1):
                row[j] -= solved[i, k] * solved[k, j]
        pivot = 1.0 / solved[i, i]
        row[i] = 1.0
        for j in range(i + 1):
            solved[i, j] = pivot * row[j]


@woven
def estimate(truth: Floats, solved: Floats) -> None:
    """theta = M'(M b), below M."""
    d = solved.shape[1]
    theta, moment = solved[d], np.empty(d)
    for i in range(d):
        theta[i], moment[i] = 0.0, truth[0, d, i] + truth[1, d, i]
    for i in range(d):
        value = row_dot(solved, i, moment, i + 1)
        for j in range(i + 1):
            theta[j] += value * solved[i, j]


@within
def factor_finely(truth: Floats, penalty: float, solved: Floats) -> float:
    """The volume, and in `solved` the lower Cholesky factor L of V and theta = L'^-1 L^-1 b.

    b stands below V in the truth: as one row more of the factor it becomes L^-1 b. What a pivot has
    grown beyond the penalty is no less than 0, as V - penalty I is a sum of x x'.
    """
    d = solved.shape[1]
    left = np.zeros((d + 1, d))  # over from each number in `solved`
    volume = 0.0
    for i in range(d + 1):
        for j in range(min(i + 1, d)):
            value, rest = add(truth[0, i, j], 0.0, truth[1, i, j])
            for k in range(j):
                value, rest = minus_product(value, rest, solved[i, k], left[i, k], solved[j, k], left[j, k])
            if i == j:
                grown = larger(value, 0.0)
                volume += math.log1p(grown / penalty)
                pivot, rest = add(grown, rest, penalty)
                solved[i, i], left[i, i] = root(pivot, rest)
            else:
                solved[i, j], left[i, j] = quotient(value, rest, solved[j, j], left[j, j])
    for i in range(d - 1, -1, -1):
        solved[d, i], left[d, i] = quotient(solved[d, i], left[d, i], solved[i, i], left[i, i])
        for j in range(i):
            solved[d, j], left[d, j] = minus_product(
                solved[d, j], left[d, j], solved[i, j], left[i, j], solved[d, i], left[d, i]
            )
    return volume
