"""The built-in bases that read one ridge: which arm each plays."""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport log, sqrt
from numpy.random.c_distributions cimport random_bounded_uint64, random_standard_normal

from infex.core.ridge cimport (
    best, best_upper, dot, estimates, log_det_ratio, perturb, product, tied_arm, tied_count, upper,
)

cdef extern from "<math.h>" nogil:
    double pow(double x, double y)


cdef bitgen_t *bits_of(generator) except NULL:
    """The C functions that `generator`, a `numpy.random.Generator`, draws by."""
    return <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule, "BitGenerator")


cdef inline int64_t uniform_arm(int64_t count, bitgen_t *rng) noexcept nogil:
    """As `Generator.integers(count)`."""
    return <int64_t>random_bounded_uint64(rng, 0, count - 1, 0, False)


cdef inline int64_t pick(const double *scores, int64_t K, bint random_ties, bitgen_t *rng) noexcept nogil:
    """The best arm: among ties the lowest index, or one drawn uniformly."""
    cdef int64_t tied
    if not random_ties:
        return best(scores, K)
    tied = tied_count(scores, K)
    return tied_arm(scores, K, uniform_arm(tied, rng) if tied > 1 else 0)


cdef int64_t greedy_arm(State *s, bint random_ties, bitgen_t *rng) noexcept nogil:
    """The arm of the largest estimate."""
    cdef int64_t arm = estimates(s.scores, s.along, s.K, s.run.phi, s.room)
    return pick(s.room, s.K, True, rng) if random_ties else arm


cdef inline double radius(const Settings *base, const State *s) noexcept nogil:
    """scale (noise sqrt(log(det V/det V_0) + 2 log(1/delta)) + sqrt(penalty) bound) + bonus."""
    cdef double beta = base.noise * sqrt(log_det_ratio(s) - 2.0 * log(base.delta)) + sqrt(s.penalty) * base.bound
    return base.scale * beta + base.bonus


cdef int64_t optimistic_arm(const Settings *base, State *s, bitgen_t *rng) noexcept nogil:
    """The arm of the largest upper bound."""
    cdef double beta = radius(base, s)
    cdef Run *run = s.run
    if base.random_ties:
        upper(s.scores, s.squares, s.along, s.K, run.phi, run.psi, beta, s.room)
        return pick(s.room, s.K, True, rng)
    return best_upper(
        s.scores, s.squares, s.along, s.K, run.phi, run.psi, beta, max(<int64_t>run.arm, 0), s.room, s.places
    )


cdef int64_t sampled_arm(const Settings *base, State *s, bitgen_t *rng) noexcept nogil:
    """The best arm of one sampled parameter theta + beta V^-1/2 eta."""
    cdef double beta = radius(base, s), length
    cdef double *eta = s.sample
    cdef int64_t i
    for i in range(s.d):
        eta[i] = random_standard_normal(rng)
    if base.kind == LINTS_SPHERICAL:
        length = sqrt(s.d / dot(eta, eta, s.d))
        for i in range(s.d):
            eta[i] *= length
    perturb(s, beta, eta, s.sample + s.d, s.sample + 2 * s.d)
    product(s.columns, s.K, s.sample + s.d, s.d, s.room)
    return pick(s.room, s.K, base.random_ties, rng)


cdef int64_t choose(const Settings *base, State *s, int64_t t, bitgen_t *rng, bint *explored) noexcept nogil:
    """The arm of round t, -1 if no score is a number, and whether it was chosen to explore."""
    cdef double rate
    explored[0] = True
    if base.kind == LINUCB:
        return optimistic_arm(base, s, rng)
    if base.kind == LINTS or base.kind == LINTS_SPHERICAL:
        return sampled_arm(base, s, rng)
    if base.kind == UNIFORM:
        return uniform_arm(s.K, rng)
    if base.kind == EPSILON_GREEDY:
        rate = min(1.0, pow(<double>t, -1.0 / 3.0)) if base.rate < 0.0 else base.rate
        if rng.next_double(rng.state) < rate:
            return uniform_arm(s.K, rng)
    elif base.kind == HYBRID_TS and rng.next_double(rng.state) < base.rate:
        return sampled_arm(base, s, rng)
    explored[0] = False
    return greedy_arm(s, base.random_ties, rng)


cdef class Base:
    """What a compiled loop plays in exploring rounds, by its kind and its numbers.

    The confidence radius is scale (noise sqrt(log(det V/det V_0) + 2 log(1/delta)) + sqrt(penalty) bound)
    + bonus; `rate` is the probability of exploring, for those that draw it.
    """

    def __cinit__(self, Kind kind, *, double noise=1.0, double bound=1.0, double delta=1.0, double scale=1.0,
                  double bonus=0.0, double rate=0.0, bint random_ties=False):
        self.settings = Settings(kind, noise, bound, delta, scale, bonus, rate, random_ties)
