"""K small ridges tied by features that have one parameter for all of them: block elimination (Schur complement).

An arm's reward is x'theta_k + z'beta. With A_k = penalty I + sum x x' and B_k = sum x z' of arm k, theta_k is
eliminated: G_k = A_k^-1 B_k says what the arm's own features tell of the shared ones, u = z - G_k'x is what they do
not tell, and beta is a ridge on the u (Li et al. 2010, Algorithm 2, where V of that ridge is A_0):

    x'theta_k + z'beta = x'theta_k0 + u'beta            theta_k0 = A_k^-1 sum y x, the arm by itself
    |(x, z)|^2 in V^-1 = |x|^2 in A_k^-1 + |u|^2        in the V^-1 of the shared ridge
    log det V = sum log det A_k + log det               of the shared ridge

A reward y of weight w is, to the shared ridge, one of u with the reward y - x'theta_k0 and the weight
w/(1 + w |x|^2 in A_k^-1), all from before it: so each part is a ridge by itself, and no number is the difference of
two large ones. Only what is computed anew from sums is, and there pairs of floats hold it; so where V is steep, the
shared ridge is computed anew, with what the arm has changed.
"""

from libc.stdint cimport int64_t

from infex.core.bank cimport RidgeBank
from infex.core.pairs cimport Pair


cdef class Hybrid:
    cdef int64_t K, c, s
    cdef readonly RidgeBank own     # the arms by themselves
    cdef readonly RidgeBank shared  # one ridge, of u
    cdef readonly double gone       # log det of arms that were removed, whose rewards stay in beta
    cdef readonly int64_t told, version
    cdef readonly object ties, cross, common
    cdef object _rooms
    cdef double *all_ties    # (K, c, s): G_k
    cdef double *all_cross   # (K, 2, c, s): B_k, as sums and carries
    cdef double *all_common  # (2, s + 1, s): sum z z' and sum y z of all arms, as sums and carries
    cdef Pair *low           # (c, c), room
    cdef Pair *half          # (s + 1, c), room
    cdef double *before      # (2, s + 1, s), room
    cdef double *u           # (s,), room
    cdef double *along       # (c,), room
    cdef double *columns     # (s, K): u of all arms in the context that is read
    cdef double *work        # (4, K), room
    cdef const double[::1] _untell(self, context, rows)
    cdef void _halve(self, int64_t arm) noexcept nogil
    cdef void _tie(self, int64_t arm, double *tie) noexcept nogil
    cdef void _eliminate(self, int64_t arm, double *tie, double *left) noexcept nogil
    cdef void _renew_shared(self) noexcept nogil
    cdef void _add_cross(self, int64_t arm, const double *x, double weight) noexcept nogil
    cdef void _add_common(self, double *sums, const double *z, double n, double rewards) noexcept nogil
    cdef bint _is_steep(self) noexcept nogil
    cdef void _learn(self, int64_t arm, const double *x, double reward, double weight) noexcept nogil
