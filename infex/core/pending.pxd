"""Decisions that wait for their reward, as fantasy updates: what they will add to V.

A sum of floats does not come back to what it was when a term is taken out again; a sum of whole numbers does,
in whatever order terms come and go. So sum w x x' is kept in units of 2^-34, and what is left over in units
of 2^-68; x is no longer than 1 and w no more than 1, so that 2^28 terms fit.

Exploring reads as if each pending decision had been told its estimate: theta stays as it is, and V grows. The
determinant, and with it the radius, stays that of rewards. Where an arm has many features, one decision narrows
it in one direction alone; a radius that grew at once would have the same arm tried again.
"""

from libc.stdint cimport int64_t

from infex.core.ridge cimport State

cdef double UNITS, SMALL_UNITS

cdef void expect_product(int64_t *sums, int64_t size, int64_t at, double a, double b, int64_t times) noexcept nogil
cdef void expect(int64_t *sums, int64_t d, const double *x, double weight, int64_t times) noexcept nogil
cdef void pending_sum(const int64_t *sums, int64_t d, double *P) noexcept nogil
cdef void narrow(const State *s, const double *P, double *work, State *out) noexcept nogil


cdef class Pending:
    cdef int64_t d, K
    cdef object _arrays
    cdef int64_t *sums     # (2, d, d): the lower triangle of sum w x x'
    cdef int64_t *changes  # (K,): fixed arms since `sums` were brought up to date
    cdef double *P         # (d, d), room
    cdef double *work      # room for 2 d^2 + d
    cdef double *x         # room for d
    cdef readonly int64_t count
    cdef void add_arm(self, int64_t arm, int64_t times) noexcept nogil
    cdef void add(self, const double *x, double weight, int64_t times) noexcept nogil
    cdef void narrow(self, const State *s, State *out) noexcept nogil
