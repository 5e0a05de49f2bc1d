"""Estimators other than plain ridge regression, as compiled loops call them.

A `Fit` takes in one reward at a time and solves. What it has learnt stands in one array, `memory`, so that it
can be saved and restored. What follows from it is written into `solved`, which belongs to the caller:
(d + 1) d numbers, a lower triangular M with M'M the covariance of theta, and theta behind it. Between two
calls `solved` stays as it is, as logistic regression goes on from there.
"""

from libc.stdint cimport int64_t

from infex.core.ridge cimport State


cdef struct SparseRoom:  # for least squares and LASSO of d coefficients
    double *factor       # (d, d)
    double *root         # (d, d)
    double *inner        # (d, d)
    double *left         # (d,)
    double *right        # (d,)
    double *equations    # (d, d)
    double *slopes       # (d,)
    double *solution     # (d,)
    int64_t *active      # (d,)


cdef inline int64_t sparse_size(int64_t d) noexcept nogil:
    """How many numbers `lay_out` divides."""
    return 4 * d * d + 5 * d


cdef void lay_out(SparseRoom *room, double *memory, int64_t d) noexcept nogil
cdef void solve_least_squares(const double *gram, const double *moment, int64_t d, double *theta,
                              SparseRoom *room) noexcept nogil
cdef void descend(const double *gram, const double *moment, double strength, double *theta, int64_t d,
                  SparseRoom *room) noexcept nogil


cdef class Fit:
    cdef readonly int64_t dim
    cdef readonly double penalty
    cdef readonly object memory  # for reading
    cdef double *numbers         # the same memory
    cdef int64_t size            # how many numbers it has
    cdef int64_t search_start    # where the estimate stands from which the next search starts; -1: nowhere
    cdef State state             # `sums` and room for solving; M and theta are the caller's
    cdef object _owner, _room

    cdef int allocate(self, dim, double penalty, size) except -1
    cdef double *more_room(self, size) except NULL
    cdef void use_sums(self, double *sums) noexcept nogil
    cdef int check_memory(self, const double *numbers) except -1
    cdef double take(self, const double *x, double reward, double weight,
                     double *solved) except? -1.0 nogil


cdef class WeightedFit(Fit):
    pass


cdef class WindowedFit(Fit):
    cdef readonly int64_t window
    cdef int64_t rows  # that memory has room for: no more than the window
    cdef double *last  # (rows, d + 2): x, reward and weight

    cdef void sum_anew(self) noexcept nogil


cdef class DiscountedFit(Fit):
    cdef readonly double rate
    cdef double squared_rate


cdef class LassoFit(Fit):
    cdef readonly double strength
    cdef double *gram
    cdef double *moment
    cdef SparseRoom sparse


cdef class LogisticFit(Fit):
    cdef readonly int64_t rows  # different x that memory has room for
    cdef double *features       # (rows, d)
    cdef double *losses         # (rows,)
    cdef double *wins           # (rows,)
    cdef double *weights        # (rows,)
    cdef double *slope          # (d,)
    cdef double *theta          # (d,)

    cdef int count(self, const double *x, double reward, double weight) except -1 nogil


cdef class PythonFit(Fit):
    cdef readonly object function
    cdef object _writable

    cdef double call(self, const double *x, double reward, double weight, double *solved) except? -1.0
