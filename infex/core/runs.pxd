"""What both loops of whole runs share: laws of rewards, and what a run leaves behind."""

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal, random_standard_t


cpdef enum Law:
    SIGN
    BERNOULLI
    GAUSSIAN
    STUDENT
    TABLE      # the reward of every arm in every round is given


cdef inline double draw(Law law, double mean, double noise, double degrees, bitgen_t *rng) noexcept nogil:
    """A reward of an arm of that mean."""
    if law == GAUSSIAN:
        return mean + noise * random_standard_normal(rng)
    if law == STUDENT:
        return mean + noise * random_standard_t(rng, degrees)
    if law == BERNOULLI:
        return 1.0 if rng.next_double(rng.state) < mean else 0.0
    return 1.0 if rng.next_double(rng.state) < (1.0 + mean) / 2.0 else -1.0


cdef class Outcome:
    cdef const int64_t[::1] checkpoints
    cdef Law law
    cdef double[::1] _curve, _rewards, _losses
    cdef int64_t[::1] _counts, _arms
    cdef int64_t next_checkpoint     # its index
    cdef int64_t horizon
    cdef bint recorded
    cdef bint steady                 # do means stay, so that equal rounds in a row are added at once?
    cdef int64_t arm, rounds         # of the equal rounds that are not added yet
    cdef bint explores
    cdef double gap
    cdef readonly double regret_greedy, regret_exploring
    cdef readonly int64_t explored, optimal
    cdef readonly int64_t different  # rounds of a schedule in which the base played another arm than the greedy one
    cdef readonly object curve, counts, arms, rewards, losses
    cdef readonly int64_t next_round
    cdef int _begin(self, Law law, int64_t arms, int64_t horizon, checkpoints, bint record) except -1
    cdef int check_next(self, int64_t first, int64_t last) except -1
    cdef const double[:, ::1] check_table(self, rewards, int64_t rounds)
    cdef void record(self, int64_t t, int64_t arm, double reward, double gap) noexcept nogil
    cdef void count(self, int64_t t, int64_t arm, bint explores, double gap, int64_t rounds) noexcept nogil
    cdef void flush(self) noexcept nogil


cdef int check_rounds(str name, const int64_t[::1] rounds, int64_t first, int64_t last) except -1
cdef void set_gaps(const double *means, int64_t K, double *gaps) noexcept nogil
