"""Decisions that wait for their reward, as fantasy updates; `pending.pxd` explains the sums."""

import numpy as np

from libc.math cimport floor, sqrt
from libc.string cimport memcpy, memset

from infex.core.posterior cimport Posterior
from infex.core.ridge cimport Pair, dot, exact_product, larger, log_det_ratio, rank_one

cdef double UNITS = 2.0**34
cdef double SMALL_UNITS = 2.0**68
cdef int64_t MOST_TIMES = 2**28


cdef class Pending:
    """What is pending over `dim` features: of `arms` fixed arms, or of any x if there are none."""

    def __cinit__(self, int64_t dim, int64_t arms=0):
        cdef int64_t[:, :, ::1] sums
        cdef int64_t[::1] changes
        cdef double[:, :, ::1] work
        cdef double[:, ::1] row
        if dim < 1 or arms < 0:
            raise ValueError(f"there must be a feature and no less than 0 arms, got {dim} and {arms}")
        self.d, self.K = dim, arms
        self._arrays = (
            np.zeros((2, dim, dim), dtype=np.int64), np.zeros(max(arms, 1), dtype=np.int64),
            np.zeros((3, dim, dim)), np.zeros((2, dim)),
        )
        sums, changes, work, row = self._arrays
        self.sums, self.changes, self.work, self.row = &sums[0, 0, 0], &changes[0], &work[0, 0, 0], &row[0, 0]

    cdef void add_arm(self, int64_t arm, int64_t times) noexcept nogil:
        """So many decisions on a fixed arm more are pending, or fewer."""
        self.count += times
        self.changes[arm] += times

    cdef void add(self, const double *x, double weight, int64_t times) noexcept nogil:
        """So many decisions on x, with a weight each, more are pending, or fewer."""
        self.count += times
        self._expect(x, weight, times)

    cdef void _expect(self, const double *x, double weight, int64_t times) noexcept nogil:
        cdef int64_t d = self.d, i, j, units
        cdef double scaled
        cdef Pair exact
        for i in range(d):
            if x[i] == 0.0:  # as most are where each arm has features of its own
                continue
            scaled = weight * x[i]
            for j in range(i + 1):
                exact = exact_product(scaled, x[j])
                units = <int64_t>floor(UNITS * exact.value + 0.5)
                self.sums[i * d + j] += times * units
                self.sums[(d + i) * d + j] += times * <int64_t>floor(
                    SMALL_UNITS * ((exact.value - <double>units / UNITS) + exact.rest) + 0.5
                )

    cdef void narrow(self, const State *s, State *out) noexcept nogil:
        """In `out` the factor of V with all that is pending, and theta and log det V without it.

        With V^-1 = M'M, P what is pending and G G' = I + M P M' the factor is G^-1 M, as
        V + P = M^-1 G G' M'^-1. No pivot of I + M P M' is below 1.
        """
        cdef int64_t d = self.d, i, j, k
        cdef double *M = self.work
        cdef double *G = M + d * d
        cdef double *P = G + d * d
        cdef double *row = self.row
        cdef double *x = self.row + d
        cdef double part, value
        for k in range(self.K):
            if self.changes[k] != 0:
                for i in range(d):
                    x[i] = s.columns[i * s.K + k]
                self._expect(x, 1.0, self.changes[k])
                self.changes[k] = 0
        for i in range(d):
            for j in range(i + 1):
                P[i * d + j] = P[j * d + i] = (
                    self.sums[i * d + j] / UNITS + self.sums[(d + i) * d + j] / SMALL_UNITS
                )
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

    def narrowed(self, Posterior posterior not None):
        """A posterior with all that is pending in V; estimates and the determinant stay as they are."""
        cdef Posterior other
        if posterior.state.d != self.d:
            raise ValueError(f"there are {self.d} features pending, and {posterior.state.d} in the posterior")
        posterior.read()
        other = posterior.like()
        other.columns, other._counts, other.lasting = posterior.columns, posterior._counts, posterior.lasting
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


def _restored(int64_t dim, int64_t arms, sums, changes, int64_t count):
    """Pending sums from what was kept of them."""
    cdef Pending pending = Pending(dim, arms)
    pending._arrays[0][:], pending._arrays[1][:], pending.count = sums, changes, count
    return pending
