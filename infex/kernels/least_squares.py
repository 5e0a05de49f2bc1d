"""Least squares and LASSO from sums, without a penalty."""

import math

import numpy as np

from infex.arrays import Floats
from infex.kernels.algebra import row_dot
from infex.kernels.compiling import compiled, copy_into, shared, woven

CLEAR = 1e-6  # a pivot that is no smaller, against its diagonal, is no work of rounding
RANK = 1e-13  # how small, against the largest, a pivot counts as nothing
WORK = 1e7  # numbers that descent may look at: few sweeps over many coefficients, many over few
POLISH = 10
SMALLEST_CHANGE = 1e-10  # the change of a coefficient, against the largest, at which descent stops


@compiled
def pivoted(gram: Floats, factor: Floats) -> int:
    """gram = F F' by Cholesky with pivoting; the rank r, and F in the first r columns of `factor`."""
    d = gram.shape[0]
    left, rank = np.empty(d), 0
    for i in range(d):
        left[i] = gram[i, i]
        for j in range(d):
            factor[i, j] = 0.0
    limit = RANK * d * max(left[place_of_largest(left)], 0.0)
    while rank < d:
        pivot = place_of_largest(left)
        if not left[pivot] > limit:
            break
        root = math.sqrt(left[pivot])
        for i in range(d):
            value = gram[max(i, pivot), min(i, pivot)]
            for j in range(rank):
                value -= factor[i, j] * factor[pivot, j]
            factor[i, rank] = value / root
            left[i] -= factor[i, rank] * factor[i, rank]
        left[pivot] = -1.0
        rank += 1
    return rank


@woven
def place_of_largest(values: Floats) -> int:
    """The place of the largest number, the first of equal ones."""
    place = 0
    for i in range(1, values.size):
        if values[i] > values[place]:
            place = i
    return place


@shared
def least_squares(gram: Floats, moment: Floats, theta: Floats) -> None:
    """theta = gram^+ moment; reads the lower triangle of gram.

    With gram = F F' and F of full column rank, gram^+ = F (F'F)^-2 F'.
    """
    d = gram.shape[0]
    factor = np.empty((d, d))
    copy_into(theta, moment)
    if cholesky(gram, factor, CLEAR):
        solve(factor, theta)
        return
    rank = pivoted(gram, factor)
    theta[:] = 0.0
    if rank == 0:
        return
    inner = np.zeros((rank, rank))
    right = np.zeros(rank)
    for a in range(rank):
        for i in range(d):
            right[a] += factor[i, a] * moment[i]
        for b in range(a + 1):
            for i in range(d):
                inner[a, b] += factor[i, a] * factor[i, b]
    root = np.empty((rank, rank))
    cholesky(inner, root, 0.0)
    solve(root, right)
    solve(root, right)
    for i in range(d):
        for a in range(rank):
            theta[i] += factor[i, a] * right[a]


@compiled
def cholesky(matrix: Floats, root: Floats, clear: float) -> bool:
    """The lower factor of a matrix, from its lower triangle; is every pivot above `clear` of its diagonal?

    Without pivoting, rounding may leave a pivot that should be 0 well above it.
    """
    n = matrix.shape[0]
    for j in range(n):
        for i in range(j, n):
            value = matrix[i, j]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            if i > j:
                root[i, j] = value / root[j, j]
            elif value > clear * matrix[i, i]:
                root[i, j] = math.sqrt(value)
            else:
                return False
    return True


@compiled
def solve(root: Floats, right: Floats) -> None:
    """right becomes (root root')^-1 right."""
    n = root.shape[0]
    for i in range(n):
        for k in range(i):
            right[i] -= root[i, k] * right[k]
        right[i] /= root[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= root[k, i] * right[k]
        right[i] /= root[i, i]


@shared
def descend(gram: Floats, moment: Floats, strength: float, theta: Floats) -> None:
    """Coordinate descent on theta'gram theta/2 - moment'theta + strength |theta|_1, from theta on.

    Where columns are nearly alike it would creep, so now and then the signs it has found are solved for.
    """
    d = theta.size
    for sweep in range(int(WORK / (d * d)) + 1):
        change, largest = 0.0, 0.0
        for i in range(d):
            old = theta[i]
            pull = moment[i] + gram[i, i] * old - row_dot(gram, i, theta, d)
            size = max(abs(pull) - strength, 0.0)
            theta[i] = math.copysign(size / gram[i, i], pull) if gram[i, i] > 0.0 else 0.0
            change = max(change, abs(theta[i] - old))
            largest = max(largest, abs(theta[i]))
        if change <= SMALLEST_CHANGE * largest or (
            sweep % POLISH == POLISH - 1 and polish(gram, moment, strength, theta)
        ):
            return


@compiled
def polish(gram: Floats, moment: Floats, strength: float, theta: Floats) -> bool:
    """Solves for the coefficients that are not 0, with their signs; did that give the minimum?"""
    active, n, largest = np.empty(theta.size, dtype=np.int64), 0, 0.0
    for i in range(theta.size):
        largest = max(largest, abs(moment[i]))
        if theta[i] != 0.0:
            active[n] = i
            n += 1
    if n == 0:
        return False
    inner, right, found = np.empty((n, n)), np.empty(n), np.empty(n)
    for a in range(n):
        right[a] = moment[active[a]] - math.copysign(strength, theta[active[a]])
        for b in range(n):
            inner[a, b] = gram[active[a], active[b]]
    least_squares(inner, right, found)
    for a in range(n):
        if found[a] * theta[active[a]] <= 0.0:
            return False
    for i in range(theta.size):
        slope = moment[i]
        for b in range(n):
            slope -= gram[i, active[b]] * found[b]
        if abs(slope) > strength * (1.0 + 1e-9) + 1e-14 * largest:
            return False
    for a in range(n):
        theta[active[a]] = found[a]
    return True
