"""The built-in bases that read one ridge: which arm each plays."""

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from infex.core.ridge cimport Run, State


cpdef enum Kind:
    GREEDY
    UNIFORM
    ROUND_ROBIN
    EPSILON_GREEDY   # uniform with probability `rate`, t^(-1/3) if that is below 0; else greedy
    LINUCB
    LINTS
    LINTS_SPHERICAL
    HYBRID_TS        # a sample with probability `rate`, else greedy
    UCB1             # these three look at pulls and rewards of fixed arms alone
    GAUSSIAN_TS
    PLAIN_HYBRID_TS
    RARELY_SWITCHING # an optimistic parameter, found anew when det V has grown by 1 + `rate`
    RAND_LINUCB      # optimism of a degree that is drawn from `degrees`
    LINIMED          # the least divergence by estimates; the greedy arm's index is at least `rate`
    LINIMED_BY_UPPER # by upper bounds; that of the largest is at least -log(`rate`/gap^2)
    LINMED           # an arm drawn by its divergence from the greedy one, which has `rate` of all
    LINMED_BY_DESIGN # and by an optimal design
    LINIDS           # an arm drawn so that squared regret over information is least
    LINIDS_DIRECTED  # over information about the arm of the largest upper bound
    OPTIMISTIC_TS    # the larger of estimate and sample
    OPTIMISTIC_TS_SPHERICAL


cpdef enum Wrap:
    NOTHING
    GREEDY_FIRST     # greedy until the least eigenvalue of sum x x' has fallen too low
    SOFTENED         # a uniform arm with probability `first`
    COMMITS          # greedy after `second` rounds


cpdef enum Reads:    # what a base reads of the arms
    READS_NOTHING
    READS_SCORES
    READS_WIDTHS


cdef struct Radius:  # of confidence
    double noise, bound, delta, scale
    bint mixture     # sqrt(a^2 + b^2) in the place of a + b


cdef struct Settings:
    Kind kind
    Reads reads
    Radius radius
    double bonus                       # added to it
    double rate
    bint random_ties
    Wrap wrap
    double first, second
    bint wrap_random_ties
    const double *degrees  # (2, levels): their distribution function, and their values
    int64_t levels


cdef enum:           # the state of a policy, before room for d numbers
    SWITCHED, LEVEL_KNOWN, LEVEL, LEAST_SEEN, FOUND, AT_LOG_DET, STATE_SIZE


cdef class Base:
    cdef Settings settings
    cdef const double[:, ::1] degrees


cdef int64_t law_size(const Settings *base, int64_t d, int64_t K) noexcept nogil
cdef bint is_plain(const Settings *base) noexcept nogil
cdef Kind kind_at(const Settings *base, int64_t t, bitgen_t *rng) noexcept nogil
cdef bitgen_t *bits_of(generator) except NULL
cdef int64_t pick(const double *scores, int64_t K, bint random_ties, bitgen_t *rng) noexcept nogil
cdef int64_t uniform_arm(int64_t count, bitgen_t *rng) noexcept nogil
cdef void to_probabilities(double *odds, int64_t K) noexcept nogil
cdef double radius_at(const Radius *radius, double log_det_ratio, double penalty) noexcept nogil
cdef double largest_improvement(const double *gaps, const double *distances, int64_t K, double noise) noexcept nogil
cdef int64_t greedy_arm(State *s, bint logistic, bint random_ties, bitgen_t *rng) noexcept nogil
cdef int64_t choose(const Settings *base, State *s, bint logistic, double *policy_state, int64_t t, bitgen_t *rng,
                    bint *explored) noexcept nogil
