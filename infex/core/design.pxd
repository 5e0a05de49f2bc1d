"""Optimal designs: how often to play each arm, to know all of them alike."""

from libc.stdint cimport int64_t


cdef int64_t design_size(int64_t d, int64_t K) noexcept nogil
cdef void find_design(const double *columns, const double *factors, int64_t d, int64_t K, double tolerance,
                      double *work, double *shares) noexcept nogil
