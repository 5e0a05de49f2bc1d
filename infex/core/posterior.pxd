"""What a regression says of some arms as of now: estimates, widths, upper bounds, samples.

It reads M, theta and the run where the ridge has them, and copies nothing: it remembers the version of the ridge,
and refuses to be read once that has learnt. `copy` gives one that stays. Over a ridge's own arms it reads the scores
and squared widths that are kept up; over others it computes them when they are asked for.
"""

from libc.stdint cimport int64_t

from infex.core.ridge cimport Ridge, State


cdef class RidgePosterior:
    cdef State state              # pointers into the ridge, or into `_memory`
    cdef Ridge ridge              # None where all memory is its own
    cdef int64_t version          # of the ridge when this was made
    cdef bint has_sums
    cdef bint kept_up             # are scores and squared widths those that the ridge keeps up?
    cdef bint scored              # are they there?
    cdef bint same_estimates      # do estimates stay those of another, with a V that has grown?
    cdef double *means            # (K,): estimates; NULL until somebody reads them
    cdef int64_t best_arm
    cdef object _memory, _means, _widths, _counts
    cdef readonly object columns  # (d, K)
    cdef readonly bint fixed    # are these the fixed arms?
    cdef readonly bint logistic   # are scores log-odds, and estimates probabilities?
    cdef readonly bint likelihood # is the radius that of the likelihood ratio?
    cdef readonly int64_t told
    cdef RidgePosterior like(self)
    cdef int check(self) except -1
    cdef int score(self) except -1
    cdef int read(self) except -1
    cdef int set_columns(self, columns) except -1
    cdef int own_solution(self) except -1
    cdef int own_sums(self) except -1
    cdef int own_board(self) except -1
    cdef RidgePosterior settled(self)
    cdef void fill_sums(self, double *out) noexcept
    cdef object parameter_of(self, double scale, direction)
