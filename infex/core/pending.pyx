"""Decisions that wait for their reward, as fantasy updates; `pending.pxd` explains the sums."""

import numpy as np

from infex.errors import UnknownArm

from libc.math cimport floor, sqrt
from libc.string cimport memcpy, memset

from infex.core.pairs cimport Pair, exact_product
from infex.core.posterior cimport RidgePosterior
from infex.core.ridge cimport dot, larger, log_det_ratio, rank_one

cdef double UNITS = 2.0**34
cdef double SMALL_UNITS = 2.0**68
cdef int64_t MOST_TIMES = 2**28


cdef void expect_product(int64_t *sums, int64_t size, int64_t at, double a, double b, int64_t times) noexcept nogil:
    """Adds a b, so many times, to the sum at a place; what is left over of it stands `size` places on."""
    cdef Pair exact = exact_product(a, b)
    cdef int64_t units = <int64_t>floor(UNITS * exact.value + 0.5)
    sums[at] += times * units
    sums[size + at] += times * <int64_t>floor(
        SMALL_UNITS * ((exact.value - <double>units / UNITS) + exact.rest) + 0.5
    )


cdef void expect(int64_t *sums, int64_t d, const double *x, double weight, int64_t times) noexcept nogil:
    """Adds w x x', so many times, to sums of the shape (2, d, d)."""
    cdef int64_t i, j
    for i in range(d):
        if x[i] == 0.0:  # as most are where each arm has features of its own
            continue
        for j in range(i + 1):
            expect_product(sums, d * d, i * d + j, weight * x[i], x[j], times)


cdef void pending_sum(const int64_t *sums, int64_t d, double *P) noexcept nogil:
    """In P sum w x x' as floats, both triangles."""
    cdef int64_t i, j
    for i in range(d):
        for j in range(i + 1):
            P[i * d + j] = P[j * d + i] = sums[i * d + j] / UNITS + sums[(d + i) * d + j] / SMALL_UNITS


cdef void narrow(const State *s, const double *P, double *work, State *out) noexcept nogil:
    """In `out` the factor of V + P, and theta and log det V without it; `work` has room for 2 d^2 + d numbers.

    With V^-1 = M'M and G G' = I + M P M' the factor is G^-1 M, as V + P = M^-1 G G' M'^-1. No pivot of I + M P M' is
    below 1.
    """
    cdef int64_t d = s.d, i, j, k
    cdef double *M = work
    cdef double *G = M + d * d
    cdef double *row = G + d * d
    cdef double part, value
    memcpy(M, s.M, d * d * sizeof(double))
    if s.run.pulls > 0.0:
        rank_one(M, s.p, d, s.run.pulls, row)
    for i in range(d):
        for j in range(i + 1):
            row[j] = 0.0
        for k in range(i + 1):
            part = M[i * d + k]
            for j in range(i + 1):
                row[j] += part * P[k * d + j]
        for j in range(i + 1):
            value = dot(M + j * d, row, j + 1) - dot(G + i * d, G + j * d, j)
            G[i * d + j] = value / G[j * d + j] if i > j else sqrt(larger(1.0 + value, 1.0))
    memset(out.M, 0, d * d * sizeof(double))
    for i in range(d):
        for j in range(i + 1):
            out.M[i * d + j] = M[i * d + j]
        for k in range(i):
            part = G[i * d + k]
            for j in range(k + 1):
                out.M[i * d + j] -= part * out.M[k * d + j]
        for j in range(i + 1):
            out.M[i * d + j] /= G[i * d + i]
    for i in range(d):
        out.theta[i] = s.theta[i] + s.run.phi * s.u[i]
    memset(out.run, 0, sizeof(out.run[0]))
    out.run.arm, out.run.log_det_ratio = -1.0, log_det_ratio(s)


cdef class Pending:
    """What is pending over `dim` features: of `arms` fixed arms, or of any x if there are none."""

    def __cinit__(self, int64_t dim, int64_t arms=0):
        cdef int64_t[:, :, ::1] sums
        cdef int64_t[::1] changes
        cdef double[::1] room
        if dim < 1 or arms < 0:
            raise ValueError(f"there must be a feature and no less than 0 arms, got {dim} and {arms}")
        self.d, self.K = dim, arms
        self._arrays = (
            np.zeros((2, dim, dim), dtype=np.int64), np.zeros(max(arms, 1), dtype=np.int64),
            np.zeros(3 * dim * dim + 2 * dim),
        )
        sums, changes, room = self._arrays
        self.sums, self.changes, self.P = &sums[0, 0, 0], &changes[0], &room[0]
        self.x, self.work = self.P + dim * dim, self.P + dim * dim + dim

    cdef void add_arm(self, int64_t arm, int64_t times) noexcept nogil:
        """So many decisions on a fixed arm more are pending, or fewer."""
        self.count += times
        self.changes[arm] += times

    cdef void add(self, const double *x, double weight, int64_t times) noexcept nogil:
        """So many decisions on x, with a weight each, more are pending, or fewer."""
        self.count += times
        expect(self.sums, self.d, x, weight, times)

    cdef void narrow(self, const State *s, State *out) noexcept nogil:
        """In `out` the factor of V with all that is pending, and theta and log det V without it."""
        cdef int64_t d = self.d, i, k
        for k in range(self.K):
            if self.changes[k] != 0:
                for i in range(d):
                    self.x[i] = s.columns[i * s.K + k]
                expect(self.sums, d, self.x, 1.0, self.changes[k])
                self.changes[k] = 0
        pending_sum(self.sums, d, self.P)
        narrow(s, self.P, self.work, out)

    def add_rows(self, rows, weights, times=1):
        """So many decisions on each of some x, (n, d), with weights up to 1, more are pending, or fewer."""
        cdef const double[:, ::1] x = np.ascontiguousarray(rows, dtype=np.float64)
        cdef const double[::1] w = np.ascontiguousarray(weights, dtype=np.float64)
        cdef const int64_t[::1] many = np.ascontiguousarray(np.broadcast_to(times, w.shape[0]), dtype=np.int64)
        cdef int64_t n, i
        if x.shape[1] != self.d or x.shape[0] != w.shape[0]:
            raise ValueError(
                f"there must be {self.d} features and a weight each, got {np.shape(rows)} and {np.shape(weights)}"
            )
        for n in range(x.shape[0]):
            if not 0.0 < w[n] <= 1.0:
                raise ValueError(f"a weight must be above 0 and no more than 1, got {w[n]}")
            if not -MOST_TIMES <= many[n] <= MOST_TIMES:
                raise ValueError(f"no more than {MOST_TIMES} decisions may be pending, got {many[n]}")
            for i in range(self.d):
                if not -2.0 < x[n, i] < 2.0:  # whole numbers have room for x up to a length of 1, and some rounding
                    raise ValueError("x must be no longer than 1")
        for n in range(x.shape[0]):
            self.add(&x[n, 0], w[n], many[n])

    def narrowed(self, RidgePosterior posterior not None):
        """A posterior with all that is pending in V; estimates and the determinant stay as they are."""
        cdef RidgePosterior other
        if posterior.state.d != self.d:
            raise ValueError(f"there are {self.d} features pending, and {posterior.state.d} in the posterior")
        posterior.read()
        other = posterior.like()
        other.columns, other._counts, other.fixed = posterior.columns, posterior._counts, posterior.fixed
        if posterior.has_sums:
            other.own_sums()
            posterior.fill_sums(other.state.sums)
        other.own_solution()
        self.narrow(&posterior.state, &other.state)
        other.same_estimates = True
        other._means, other.means, other.best_arm = posterior._means, posterior.means, posterior.best_arm
        return other

    def copy(self):
        """The same, which goes on by itself."""
        return _restored(self.d, self.K, self._arrays[0], self._arrays[1], self.count)

    def __reduce__(self):
        return _restored, (self.d, self.K, self._arrays[0].copy(), self._arrays[1].copy(), self.count)

    def whole_numbers(self):
        """The sums in units of 2^-34, and what is left over in units of 2^-68, (2, d, d), as an array of its own."""
        return self._arrays[0].copy()


def expect_in_bank(int64_t[:, :, :, ::1] sums, const int64_t[::1] arms, const int64_t[::1] rows,
                   const double[:, ::1] contexts, const double[::1] weights, int64_t times=1):
    """So many decisions on each of `arms[n]` in `contexts[rows[n]]` more are pending, or fewer.

    `sums`, (K, 2, c, c), are of arms with a ridge each; an arm of -1 is gone, and left out.
    """
    cdef int64_t c = sums.shape[2], n
    if sums.shape[1] != 2 or sums.shape[3] != c:
        raise ValueError(f"sums must have the shape (K, 2, c, c), got {np.shape(sums)}")
    refuse_decisions(arms, rows, contexts, weights, times, sums.shape[0], c)
    for n in range(arms.shape[0]):
        if arms[n] >= 0:
            expect(&sums[arms[n], 0, 0, 0], c, &contexts[rows[n], 0], weights[n], times)


def expect_in_hybrid(int64_t[:, :, :, ::1] own, int64_t[:, :, :, ::1] cross, int64_t[:, :, ::1] common,
                     const int64_t[::1] arms, const int64_t[::1] rows, const double[:, ::1] contexts,
                     const double[::1] weights, int64_t times=1):
    """The same where contexts are x and shared z: sum x x', (K, 2, c, c), x z', (K, 2, c, s), and z z', (2, s, s)."""
    cdef int64_t K = cross.shape[0], c = cross.shape[2], s = cross.shape[3], n, i, j
    cdef const double *x
    cdef double scaled
    if np.shape(own) != (K, 2, c, c) or np.shape(cross) != (K, 2, c, s) or np.shape(common) != (2, s, s):
        raise ValueError(f"sums do not fit together: {np.shape(own)}, {np.shape(cross)} and {np.shape(common)}")
    refuse_decisions(arms, rows, contexts, weights, times, K, c + s)
    for n in range(arms.shape[0]):
        if arms[n] < 0:
            continue
        x = &contexts[rows[n], 0]
        expect(&own[arms[n], 0, 0, 0], c, x, weights[n], times)
        for i in range(c):
            scaled = weights[n] * x[i]
            for j in range(s):
                expect_product(&cross[arms[n], 0, 0, 0], c * s, i * s + j, scaled, x[c + j], times)
        expect(&common[0, 0, 0], s, x + c, weights[n], times)


cdef int refuse_decisions(const int64_t[::1] arms, const int64_t[::1] rows, const double[:, ::1] contexts,
                          const double[::1] weights, int64_t times, int64_t count, int64_t size) except -1:
    """Refuses decisions on arms, of which there are `count`, in contexts of `size` numbers, if one cannot be."""
    cdef int64_t n, i
    if not arms.shape[0] == rows.shape[0] == weights.shape[0]:
        raise ValueError("there must be an arm, a context and a weight for each decision")
    if not -MOST_TIMES <= times <= MOST_TIMES:
        raise ValueError(f"no more than {MOST_TIMES} decisions may be pending, got {times}")
    if arms.shape[0] and contexts.shape[1] != size:
        raise ValueError(f"contexts must have {size} numbers, got {contexts.shape[1]}")
    for n in range(arms.shape[0]):
        if arms[n] >= count or not 0 <= rows[n] < contexts.shape[0]:
            raise UnknownArm(
                f"arm {arms[n]} of {count} in context {rows[n]} of {contexts.shape[0]} is no pending decision"
            )
        if not 0.0 < weights[n] <= 1.0:
            raise ValueError(f"a weight must be above 0 and no more than 1, got {weights[n]}")
        for i in range(size):
            if not -2.0 < contexts[rows[n], i] < 2.0:  # whole numbers have room for a length of 1, and some rounding
                raise ValueError(f"context {rows[n]} must be no longer than 1")
    return 0


def _restored(int64_t dim, int64_t arms, sums, changes, int64_t count):
    """Pending sums from what was kept of them."""
    cdef Pending pending = Pending(dim, arms)
    pending._arrays[0][:], pending._arrays[1][:], pending.count = sums, changes, count
    return pending
