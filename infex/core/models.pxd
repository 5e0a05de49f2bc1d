"""What a run learns, as the general loop reads and updates it.

One theta for all arms, by ridge regression or another estimator (`RegressionModel`) or by LASSO where a greedy round
reads it (`LassoModel`); or one for each arm, on contexts (`DisjointModel`).
"""

from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from infex.core.bank cimport RidgeBank
from infex.core.choosing cimport Base, Radius, Reads, Settings
from infex.core.estimators cimport Fit, SparseRoom
from infex.core.pending cimport Pending
from infex.core.ridge cimport Ridge, State


cdef class Model:
    cdef readonly int64_t arms
    cdef int64_t dim                    # numbers of a row that rewards are learnt on
    cdef bint changing                  # does each round offer other arms, or a context?
    cdef tuple offer_shape              # of what it offers then

    cdef bint is_apart_from(self, Model other) except -1
    cdef int prepare(self, Base base, bint narrows) except -1
    cdef void offer(self, const double *offered) noexcept nogil
    cdef const double *row(self, int64_t arm) noexcept nogil
    cdef int64_t greedy_arm(self, bint random_ties, bitgen_t *rng) noexcept nogil
    cdef int64_t choose(self, const Settings *base, double *policy_state, int64_t t, bitgen_t *rng,
                        bint *explored) noexcept nogil
    cdef int update(self, int64_t arm, const double *x, double reward, bint is_arm) except -1 nogil

    cdef void set_warm_start(self) noexcept nogil
    cdef double information(self, int64_t arm) noexcept nogil
    cdef void add_pending(self, int64_t arm, const double *x, double weight, int64_t sign) noexcept nogil

    cdef double estimated_loss(self, int64_t arm) noexcept nogil
    cdef bint is_certain(self, const Radius *radius) noexcept nogil
    cdef void compare(self, double *gaps, double *widths) noexcept nogil


cdef class SharedModel(Model):
    cdef readonly Ridge ridge
    cdef State *state                   # of the ridge
    cdef const double *own_columns      # arms of the ridge itself
    cdef double[::1] x                  # (d,), room

    cdef int _begin(self, Ridge ridge, bint changing) except -1
    cdef bint _count(self, int64_t arm, double reward, bint is_arm) noexcept nogil


cdef class RegressionModel(SharedModel):
    cdef Fit fit                        # in the place of the ridge; None: nothing is
    cdef bint logistic                  # are scores log-odds?
    cdef Reads fresh                    # what is up to date of the arms on offer
    cdef double[::1] weights, warm_start
    cdef double[::1] law                # room for the law of a base that draws its arm from one
    cdef Pending pending                # decisions that narrow what a base reads; None: they do not
    cdef Ridge narrowed                 # the ridge with these in V

    cdef int _fit(self, const double *x, double reward, double weight) except -1 nogil
    cdef void _read(self, Reads reads) noexcept nogil
    cdef State *_narrowed(self, Reads reads) noexcept nogil


cdef class LassoModel(SharedModel):
    cdef double strength, fading, of_n, of_d, keep
    cdef LassoModel screen
    cdef double screened                # rewards of `screen` when `kept` was found
    cdef int64_t n_kept
    cdef int64_t[::1] kept
    cdef double[::1] theta, scores, kept_scores, moment, memory
    cdef double[:, ::1] gram
    cdef SparseRoom room

    cdef void _score(self) noexcept nogil
    cdef void _keep_arms(self) noexcept nogil


cdef class DisjointModel(Model):
    cdef RidgeBank bank
    cdef const double *context
    cdef Base base                      # that reads the model; None: greedy rounds alone do
    cdef double[::1] radii              # its confidence radii
    cdef double[:, ::1] directions

    cdef void _set_radius(self, int64_t arm) noexcept nogil
    cdef double _radius(self, const Radius *radius, int64_t arm) noexcept nogil
    cdef void _draw_directions(self, bitgen_t *rng) noexcept nogil
