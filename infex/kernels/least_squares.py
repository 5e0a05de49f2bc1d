"""Least squares and LASSO from sums, without a penalty."""

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import row_dot
from infex.kernels.compiling import compiled, copy_into, inner, larger, shared, woven

CLEAR = 1e-6  # a pivot that is no smaller, against its diagonal, is no work of rounding
RANK = 1e-13  # how small, against the largest, a pivot counts as nothing
WORK = 1e7  # numbers that descent may look at: few sweeps over many coefficients, many over few
POLISH = 10
SLOPE_SHARE = 1e-6
SLOPE_ROUNDING = 1e-10  # of moments: what rounding leaves of slopes that should be 0
REACHED_ZERO, AT_MINIMUM, LOST = 0, 1, 2  # what a step of polishing came to
SMALLEST_CHANGE = 1e-10  # the change of a coefficient, against the largest, at which descent stops


@inner
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


@inner
def cholesky(matrix: Floats, root: Floats, clear: float) -> bool:
    """The lower factor of a matrix, from its lower triangle; is every pivot above `clear` of its diagonal?

    Without pivoting, rounding may leave a pivot that should be 0 well above it. Four rows at a time: the sum
    of one would wait for each of its own additions.
    """
    n = matrix.shape[0]
    for j in range(n):
        left = matrix[j, j]
        for k in range(j):
            left -= root[j, k] * root[j, k]
        if not left > clear * matrix[j, j]:
            return False
        pivot = root[j, j] = math.sqrt(left)
        i = j + 1
        while i + 4 <= n:
            v0, v1, v2, v3 = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            for k in range(j):
                here = root[j, k]
                v0 -= root[i, k] * here
                v1 -= root[i + 1, k] * here
                v2 -= root[i + 2, k] * here
                v3 -= root[i + 3, k] * here
            root[i, j], root[i + 1, j] = v0 / pivot, v1 / pivot
            root[i + 2, j], root[i + 3, j] = v2 / pivot, v3 / pivot
            i += 4
        while i < n:
            left = matrix[i, j]
            for k in range(j):
                left -= root[i, k] * root[j, k]
            root[i, j] = left / pivot
            i += 1
    return True


@compiled
def solve(root: Floats, right: Floats) -> None:
    """right becomes (root root')^-1 right."""
    n = root.shape[0]
    for k in range(n):
        right[k] /= root[k, k]
        for i in range(k + 1, n):
            right[i] -= root[i, k] * right[k]
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
        if change <= SMALLEST_CHANGE * largest:
            return
        share = SLOPE_SHARE if sweep // POLISH % 2 == 0 else 0.0
        if sweep % POLISH == POLISH - 1 and polish(gram, moment, strength, theta, share):
            return


@inner
def polish(gram: Floats, moment: Floats, strength: float, theta: Floats, share: float) -> bool:
    """Goes to the minimum among parameters with the signs of theta; is that the minimum of all?

    Coefficients that reach 0 on the way there stay 0, and the others go on. The objective never grows.
    Equations count as solved up to this share of the strength: of columns that agree to four digits some are
    solved only by such a wide limit, and of those that agree to seven some only by rounding alone.
    """
    active, outcome = np.empty(theta.size, dtype=np.int64), REACHED_ZERO
    while outcome == REACHED_ZERO:
        n = list_active(theta, active)
        if n == 0:
            return False
        outcome = advance(gram, moment, strength, theta, active[:n], share)
    return outcome == AT_MINIMUM and no_slope_is_steeper(gram, moment, strength, theta)


@inner
def list_active(theta: Floats, active: Integers) -> int:
    """How many coefficients are not 0; their places are put into `active`."""
    n = 0
    for i in range(theta.size):
        if theta[i] != 0.0:
            active[n] = i
            n += 1
    return n


@inner
def advance(
    gram: Floats, moment: Floats, strength: float, theta: Floats, active: Integers, share: float
) -> int:
    """One step of the coefficients that are not 0, with their signs, up to the first that reaches 0.

    It goes to the solution for these signs. Where there is none, because columns depend on one another, it
    goes where the fit stays as it is and the sum of sizes shrinks: along what is left of the equations.
    """
    n = active.size
    inner, right, found = np.empty((n, n)), np.empty(n), np.empty(n)
    put_equations(gram, moment, strength, theta, active, inner, right)
    least_squares(inner, right, found)
    limit = larger(slope_rounding(moment, strength), share * strength)
    solvable = leave_residual(inner, right, found) <= limit
    reach, first = 1.0 if solvable else np.inf, -1
    for a in range(n):
        old = theta[active[a]]
        way = found[a] - old if solvable else right[a]
        if old * way < 0.0 and -old / way <= reach:
            reach, first = -old / way, a
    if first < 0 and not solvable:
        return LOST
    for a in range(n):
        way = found[a] - theta[active[a]] if solvable else right[a]
        theta[active[a]] = found[a] if first < 0 else theta[active[a]] + reach * way
    if first < 0:
        return AT_MINIMUM
    theta[active[first]] = 0.0
    return REACHED_ZERO


@inner
def put_equations(
    gram: Floats,
    moment: Floats,
    strength: float,
    theta: Floats,
    active: Integers,
    inner: Floats,
    right: Floats,
) -> None:
    """inner x = right is where all slopes are 0 for coefficients x with the signs of theta."""
    for a in range(active.size):
        right[a] = moment[active[a]] - math.copysign(strength, theta[active[a]])
        for b in range(active.size):
            inner[a, b] = gram[active[a], active[b]]


@inner
def leave_residual(inner: Floats, right: Floats, found: Floats) -> float:
    """right becomes right - inner found; the largest size in it."""
    largest = 0.0
    for a in range(found.size):
        for b in range(found.size):
            right[a] -= inner[a, b] * found[b]
        largest = max(largest, abs(right[a]))
    return largest


@inner
def no_slope_is_steeper(gram: Floats, moment: Floats, strength: float, theta: Floats) -> bool:
    """Is the slope of the squares nowhere above the strength, but for rounding?"""
    limit = strength + slope_rounding(moment, strength)
    for i in range(theta.size):
        slope = moment[i]
        for j in range(theta.size):
            slope -= gram[i, j] * theta[j]
        if abs(slope) > limit:
            return False
    return True


@compiled
def slope_rounding(moment: Floats, strength: float) -> float:
    """What rounding leaves of slopes that should be 0: the one limit, so that what is solved is a minimum."""
    largest = 0.0
    for i in range(moment.size):
        largest = larger(largest, abs(moment[i]))
    return SLOPE_ROUNDING * (largest + strength)
