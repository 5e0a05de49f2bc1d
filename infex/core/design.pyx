"""Optimal designs: how often to play each arm, to know all of them alike.

Arms stand as columns, (d, K), so that each loop runs along memory.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset

from infex.core.ridge cimport larger, product

cdef extern from "<math.h>" nogil:
    double INFINITY

cdef extern from "loops.h" nogil:
    double NEARLY
    int64_t first_largest(const double *values, int64_t K)
    double wide_dot(const double *a, const double *b, int64_t n)
    void subtract(double *a, double share, const double *b, int64_t n)
    void square_lengths(const double *columns, int64_t K, int64_t d, double *squares)
    void update_widths(double *widths, const double *along, int64_t K, double factor, double rest)

cdef double SINGULAR = 1e-10   # of the longest: a direction in which arms do not go
cdef double NOT_PLAYED = 1e-15
cdef int64_t MOST_STEPS = 100_000


cdef int64_t design_size(int64_t d, int64_t K) noexcept nogil:
    """How many numbers `find_design` needs room for."""
    return 2 * d * K + 2 * K + 2 * d * d + 2 * d


cdef double scaled(const double *columns, const double *factors, int64_t d, int64_t K, double *out) noexcept nogil:
    """Writes the arms times their factors into `out`, divided by the largest number of all, which it gives.

    So no square is lost.
    """
    cdef double top = 0.0
    cdef int64_t i, k
    for i in range(d):
        for k in range(K):
            out[i * K + k] = columns[i * K + k] * factors[k] if factors is not NULL else columns[i * K + k]
            top = larger(fabs(out[i * K + k]), top)
    if top > 0.0:
        for i in range(d * K):
            out[i] /= top
    return top


cdef int64_t whiten(double *columns, int64_t d, int64_t K) noexcept nogil:
    """The rank r of the arms; in `columns`, r rows that are orthonormal and span the same, so that no width changes.

    By the modified Gram-Schmidt process, the longest row first.
    """
    cdef double longest, length, first = 0.0
    cdef double *row
    cdef double *other
    cdef int64_t j, i, k, at
    for j in range(min(d, K)):
        row, longest, at = columns + j * K, -1.0, j
        for i in range(j, d):
            length = wide_dot(columns + i * K, columns + i * K, K)
            if length > longest:
                longest, at = length, i
        if j == 0:
            first = longest
        if not longest > SINGULAR * SINGULAR * first:
            return j
        other, length = columns + at * K, sqrt(longest)
        for k in range(K):
            row[k], other[k] = other[k], row[k]
        for k in range(K):
            row[k] /= length
        for i in range(j + 1, d):
            other = columns + i * K
            subtract(other, wide_dot(row, other, K), row, K)
    return min(d, K)


cdef int64_t span(double *rest, int64_t d, int64_t K, double *room, double *basis, double *found) noexcept nogil:
    """How many arms span all, at most d: each the farthest from the span of those before.

    In `found`, (d,), their indices, in `basis`, (d, d), the direction that each adds. Of `rest`, the arms, nothing is
    left; `room` is for 2 K numbers.
    """
    cdef double *lengths = room
    cdef double *along = room + K
    cdef double *direction
    cdef double first = 0.0, length
    cdef int64_t count = 0, arm, i, j
    memset(found, 0, d * sizeof(double))
    while count < min(d, K):
        square_lengths(rest, K, d, lengths)
        for j in range(count):
            lengths[<int64_t>found[j]] = -1.0
        arm = first_largest(lengths, K)
        if count == 0:
            first = lengths[arm]
        if not lengths[arm] > SINGULAR * SINGULAR * first:
            break
        direction, length = basis + count * d, sqrt(lengths[arm])
        for i in range(d):
            direction[i] = rest[i * K + arm] / length
        found[count] = arm
        count += 1
        product(rest, K, direction, d, along)
        for i in range(d):
            subtract(rest + i * K, direction[i], along, K)
    return count


cdef void invert_start(const double *points, int64_t r, int64_t K, const double *found, double *basis,
                       double *inverse) noexcept nogil:
    """Writes W with W'W = (sum p p')^-1 over the r points that `found` names into `basis`, r W'W into `inverse`.

    In the orthonormal `basis` B these points are the rows of a lower triangular L, so W = L^-T B.
    """
    cdef int64_t i, j, b
    cdef double part
    cdef double *L = inverse
    for j in range(r):
        for b in range(j + 1):
            L[j * r + b] = 0.0
            for i in range(r):
                L[j * r + b] += points[i * K + <int64_t>found[j]] * basis[b * r + i]
    for b in range(r - 1, -1, -1):  # L'W = B from its last row up
        for j in range(b + 1, r):
            part = L[j * r + b]
            for i in range(r):
                basis[b * r + i] -= part * basis[j * r + i]
        for i in range(r):
            basis[b * r + i] /= L[b * r + b]
    memset(inverse, 0, r * r * sizeof(double))
    for b in range(r):
        for i in range(r):
            part = r * basis[b * r + i]
            for j in range(r):
                inverse[i * r + j] += part * basis[b * r + j]


cdef void find_design(const double *columns, const double *factors, int64_t d, int64_t K, double tolerance,
                      double *work, double *shares) noexcept nogil:
    """Writes an optimal design into `shares`, (K,): of arms times `factors`, (K,), unless that is NULL.

    By Frank-Wolfe steps towards the widest arm or away from the narrowest that is played, whichever is farther from the
    rank r, from r arms that span a large volume (Kumar and Yildirim, 2005), until the largest width is at most
    (1 + tolerance) r. `work` has room for `design_size` numbers.
    """
    cdef double *points = work
    cdef double *rest = points + d * K
    cdef double *widths = rest + d * K
    cdef double *along = widths + K
    cdef double *inverse = along + K
    cdef double *basis = inverse + d * d
    cdef double *found = basis + d * d
    cdef double *solved = found + d
    cdef double step, least, wide, factor, total = 0.0
    cdef int64_t r = 0, i, j, k, widest, narrowest, arm, steps
    if scaled(columns, factors, d, K, points) > 0.0:
        r = whiten(points, d, K)
    if r == 0:
        for k in range(K):
            shares[k] = 1.0 / K
        return
    memcpy(rest, points, r * K * sizeof(double))
    span(rest, r, K, widths, basis, found)
    invert_start(points, r, K, found, basis, inverse)
    for k in range(K):
        shares[k] = widths[k] = 0.0
    for i in range(r):
        shares[<int64_t>found[i]] = 1.0 / r
        product(points, K, basis + i * r, r, along)
        update_widths(widths, along, K, -<double>r, 1.0)
    for steps in range(MOST_STEPS):
        widest = first_largest(widths, K)
        if widths[widest] <= (1.0 + tolerance) * r:
            break
        for k in range(K):
            along[k] = -widths[k] if shares[k] > 0.0 else -INFINITY
        narrowest = first_largest(along, K)
        arm = narrowest if r - widths[narrowest] > (1.0 + NEARLY) * (widths[widest] - r) else widest
        least = -shares[arm] / (1.0 - shares[arm])  # then it is not played at all
        step, wide = least, widths[arm]
        if wide > 1.0:  # where det V is largest on the way
            step = larger((wide / r - 1.0) / (wide - 1.0), least)
        for i in range(r):
            solved[i] = 0.0
        for j in range(r):
            for i in range(r):
                solved[i] += inverse[j * r + i] * points[j * K + arm]
        product(points, K, solved, r, along)
        factor = step / (1.0 - step + step * wide)
        for i in range(r):
            for j in range(r):
                inverse[i * r + j] = (inverse[i * r + j] - factor * solved[i] * solved[j]) / (1.0 - step)
        update_widths(widths, along, K, factor, 1.0 - step)
        for k in range(K):
            shares[k] *= 1.0 - step
        shares[arm] += step
        if shares[arm] < NOT_PLAYED:
            shares[arm] = 0.0
    for k in range(K):
        total += shares[k]
    for k in range(K):
        shares[k] /= total


def _checked(columns):
    found = np.ascontiguousarray(columns, dtype=np.float64)
    if found.ndim != 2 or found.size == 0 or not np.isfinite(found).all():
        raise ValueError(f"columns must be finite numbers, (d, K), got the shape {found.shape}")
    return found


def optimal_shares(columns, factors, double tolerance):
    """`find_design` of the arms, (d, K), times their `factors`, (K,), or None."""
    cdef const double[:, ::1] arms = _checked(columns)
    cdef int64_t d = arms.shape[0], K = arms.shape[1]
    cdef const double[::1] by = np.ones(K) if factors is None else np.ascontiguousarray(factors, dtype=np.float64)
    cdef double[::1] work = np.empty(design_size(d, K)), shares = np.empty(K)
    if by.shape[0] != K or not (np.greater_equal(by, 0.0) & np.less_equal(by, 1.0)).all():
        raise ValueError(f"there must be {K} factors from 0 to 1, got {by.shape[0]}")
    if not tolerance > 0.0:
        raise ValueError(f"tolerance must be above 0, got {tolerance}")
    with nogil:
        find_design(&arms[0, 0], &by[0], d, K, tolerance, &work[0], &shares[0])
    return np.asarray(shares)


def spanning_arms(columns):
    """As many of the arms, (d, K), as they have dimensions, each the farthest from the span of those before."""
    cdef const double[:, ::1] arms = _checked(columns)
    cdef int64_t d = arms.shape[0], K = arms.shape[1], count = 0
    cdef double[::1] rest = np.empty(d * K), room = np.empty(2 * K), basis = np.empty(d * d), found = np.empty(d)
    if scaled(&arms[0, 0], NULL, d, K, &rest[0]) > 0.0:
        count = span(&rest[0], d, K, &room[0], &basis[0], &found[0])
    return np.asarray(found[:count]).astype(np.int64)
