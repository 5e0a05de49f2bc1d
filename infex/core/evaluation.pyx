"""Loops over the rounds of a log and the arms of each: what targets play, and what laws could have played."""

import numpy as np

from libc.math cimport fabs, isnan
from libc.stdint cimport int64_t

from infex.core.ridge cimport best

cdef extern from "<math.h>" nogil:
    double NAN


cpdef enum LawFault:
    SOUND
    UNKNOWN   # a probability is NaN
    OUTSIDE   # a probability is not in [0, 1]
    NOT_ONE   # they do not add up to 1


cdef const double[:, ::1] _table(name, values, int64_t rows, int64_t columns):
    """Numbers of this shape, along memory; a size below 0 is not checked."""
    table = np.ascontiguousarray(values, dtype=np.float64)
    wanted = tuple(size if asked < 0 else asked for size, asked in zip(table.shape, (rows, columns)))
    if table.ndim != 2 or table.shape != wanted:
        raise ValueError(f"{name} must be a table of the shape {wanted}, got {table.shape}")
    return table


def mean_features(offers, chances):
    """The mean features of each round, (n, d): offers, (n, K, d), under the chances of arms, (n, K)."""
    rows = np.ascontiguousarray(offers, dtype=np.float64)
    if rows.ndim != 3:
        raise ValueError(f"offers must have the shape (n, K, d), got {rows.shape}")
    cdef const double[:, :, ::1] x = rows
    cdef int64_t n = rows.shape[0], K = rows.shape[1], d = rows.shape[2], t, k, i
    cdef const double[:, ::1] shares = _table("chances", chances, n, K)
    out = np.zeros((n, d))
    cdef double[:, ::1] means = out
    cdef double share
    with nogil:
        for t in range(n):
            for k in range(K):
                share = shares[t, k]
                if share != 0.0:
                    for i in range(d):
                        means[t, i] += share * x[t, k, i]
    return out


def add_to_blocks(values, block, double[:, ::1] sums not None):
    """Adds row t of `values`, (n, m), to row `block[t]` of `sums`; rows of block -1 are left out."""
    cdef const double[:, ::1] rows = _table("values", values, -1, sums.shape[1])
    cdef const int64_t[::1] places = np.ascontiguousarray(block, dtype=np.int64)
    cdef int64_t n = rows.shape[0], m = rows.shape[1], t, i
    if places.shape[0] != n:
        raise ValueError(f"there must be a block for each of {n} rows, got {places.shape[0]}")
    for t in range(n):
        if not -1 <= places[t] < sums.shape[0]:
            raise IndexError(f"a block must be from -1 to {sums.shape[0] - 1}, got {places[t]}")
    with nogil:
        for t in range(n):
            if places[t] >= 0:
                for i in range(m):
                    sums[places[t], i] += rows[t, i]


def best_in_rows(scores):
    """The arm of the largest score in each row, by the rule for ties; -1 where none is a number."""
    cdef const double[:, ::1] rows = _table("scores", scores, -1, -1)
    cdef int64_t n = rows.shape[0], K = rows.shape[1], t
    if K == 0:
        raise ValueError("a row of scores must have an arm, got none")
    out = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] arms = out
    with nogil:
        for t in range(n):
            arms[t] = best(&rows[t, 0], K)
    return out


def law_faults(laws, double within):
    """The first `LawFault` of each law, a row of `laws`; its sum may miss 1 by `within`."""
    cdef const double[:, ::1] rows = _table("laws", laws, -1, -1)
    cdef int64_t n = rows.shape[0], K = rows.shape[1], t, k
    out = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] faults = out
    cdef LawFault fault
    cdef double total
    with nogil:
        for t in range(n):
            fault, total = SOUND, 0.0
            for k in range(K):
                total += rows[t, k]
                if isnan(rows[t, k]):
                    fault = UNKNOWN
                elif fault == SOUND and not 0.0 <= rows[t, k] <= 1.0:
                    fault = OUTSIDE
            if fault == SOUND and fabs(total - 1.0) > within:
                fault = NOT_ONE
            faults[t] = fault
    return out


def law_gaps(chances, laws, double[::1] by_arm not None):
    """The greatest chance over law, and each round's chance of arms whose law is 0, (n,).

    That is NaN where the law is not known. `by_arm` adds these chances up by arm.
    """
    cdef const double[:, ::1] law = _table("laws", laws, -1, by_arm.shape[0])
    cdef const double[:, ::1] chance = _table("chances", chances, law.shape[0], law.shape[1])
    cdef int64_t n = law.shape[0], K = law.shape[1], t, k
    out = np.empty(n)
    cdef double[::1] missing = out
    cdef double most = 0.0, gone
    cdef bint known
    with nogil:
        for t in range(n):
            gone, known = 0.0, True
            for k in range(K):
                if isnan(law[t, k]):
                    known = False
                elif law[t, k] > 0.0:
                    most = max(most, chance[t, k] / law[t, k])
                else:
                    gone += chance[t, k]
            if known and gone > 0.0:
                for k in range(K):
                    if not law[t, k] > 0.0:
                        by_arm[k] += chance[t, k]
            missing[t] = gone if known else NAN
    return most, out
