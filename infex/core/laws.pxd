"""Probabilities of arms, by policies that know them."""

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t


cdef int64_t drawn_arm(const double *law, int64_t K, bitgen_t *rng) noexcept nogil
cdef void divergence_law(const double *estimates, const double *reaches, const double *columns, int64_t d, int64_t K,
                         int64_t greedy, double share, double *work, double *law) noexcept nogil
cdef void information_law(const double *uppers, const double *lowers, const double *widths, const double *covariances,
                          int64_t K, int64_t best_arm, double *work, double *law) noexcept nogil
