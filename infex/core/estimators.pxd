"""Estimators in the place of ridge regression, each kept up with every reward."""

from libc.stdint cimport int64_t


cdef class Fit:
    cdef readonly object memory
    cdef readonly int64_t search_at
    cdef double *numbers
    cdef double take(self, const double *x, double reward, double weight, double *solved) except? -1.0 nogil
