"""The built-in bases that read one ridge: which arm each plays."""

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from infex.core.ridge cimport Run, State


cpdef enum Kind:
    GREEDY
    UNIFORM
    EPSILON_GREEDY   # uniform with probability `rate`, t^(-1/3) if that is below 0; else greedy
    LINUCB
    LINTS
    LINTS_SPHERICAL
    HYBRID_TS        # a sample with probability `rate`, else greedy


cdef struct Settings:
    Kind kind
    double noise, bound, delta, scale  # of the confidence radius
    double bonus                       # added to it
    double rate
    bint random_ties


cdef class Base:
    cdef Settings settings


cdef bitgen_t *bits_of(generator) except NULL
cdef int64_t greedy_arm(State *s, bint random_ties, bitgen_t *rng) noexcept nogil
cdef int64_t choose(const Settings *base, State *s, int64_t t, bitgen_t *rng, bint *explored) noexcept nogil
