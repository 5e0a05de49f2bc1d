"""K ridge regressions of c features each, one for each arm, which share nothing but the context.

Contexts differ from reward to reward, so no run is ever under way: a reward costs O(c^2) in one ridge, and the
others are not touched. `wide` is theta and M turned, so that loops over arms run along memory: a row of K for each
number of theta, and then for each of the lower triangle of M, row by row. What is read of one arm is read from `M`,
in the same order of sums: to the last bit the same.
"""

from libc.stdint cimport int64_t

from infex.core.ridge cimport Run, State


cdef class RidgeBank:
    cdef State state        # of the ridge that learns, by `point_to`
    cdef int64_t K, c
    cdef readonly int64_t told, version
    cdef readonly object sums, solved, runs, counts
    cdef object _rooms
    cdef double *all_sums   # (K, 2, c + 1, c)
    cdef double *all_solved # (K, c + 1, c)
    cdef Run *all_runs      # (K,)
    cdef double *all_counts # (2, K): how often each arm was rewarded, and the sum of its rewards
    cdef double *wide       # (c + c (c + 1)/2, K)
    cdef double *scores     # (K,): x'theta_k
    cdef double *widths     # (K,): |x| in V_k^-1
    cdef double *work       # (K,), room
    cdef State *point_to(self, int64_t arm) noexcept nogil
    cdef void _turn(self, int64_t arm) noexcept nogil
    cdef void _renew(self, int64_t arm) noexcept nogil
    cdef void _renew_all(self) noexcept nogil
    cdef void learn(self, int64_t arm, const double *x, double reward, double weight) noexcept nogil
    cdef void count(self, int64_t arm, double reward) noexcept nogil
    cdef void take_out(self, int64_t arm, const double *x, double before, object after, double weight)
    cdef double square_width(self, int64_t arm, const double *x) noexcept nogil
    cdef void score(self, const double *x) noexcept nogil
    cdef void widen(self, const double *x) noexcept nogil
    cdef void perturb(self, const double *x, const double *directions, const double *radii) noexcept nogil
    cdef void deviate(self, const double *x, const double *directions) noexcept nogil
    cdef int refuse_arm(self, int64_t arm) except -1


cdef class BankPosterior:
    cdef RidgeBank bank
    cdef int64_t version          # of the bank when this was made
    cdef object _scores, _estimates, _lengths
    cdef int64_t best_arm
    cdef readonly object context  # (c,)
    cdef const double[::1] x      # the same
    cdef const double[::1] means  # estimates, once they are there
    cdef readonly object places   # (n,): which arms; None is all of them
    cdef readonly object told     # how many rewards are in the bank's sums; None if they are not kept
    cdef readonly bint logistic   # are scores log-odds, and estimates probabilities?
    cdef BankPosterior like(self, RidgeBank bank, context, places)
    cdef int check(self) except -1
    cdef int read(self) except -1
    cdef object some(self, numbers)
    cdef int64_t place(self, int64_t arm) except -1


cdef object array_of(const double *numbers, int64_t count)
cdef const double[::1] row_of(object context, int64_t size)
cdef int refuse_many(const int64_t[::1] arms, const int64_t[::1] rows, const double[:, ::1] contexts,
                     const double[::1] rewards, const double[::1] weights, int64_t count, int64_t size) except -1
cdef void add_sums(double *sums, const double *more, int64_t size) noexcept nogil
