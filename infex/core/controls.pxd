"""Controls around a schedule: what may keep a round that is due from exploring."""

from libc.stdint cimport int64_t

from infex.core.choosing cimport Radius
from infex.core.models cimport Model


cpdef enum ControlKind:
    LIMITS     # at most `limit` explorations, of all rounds or of the last `over`
    GUARDS     # at most `limit` of estimated loss
    CERTAINTY  # none once the greedy arm's lower bound exceeds every other arm's upper bound
    PAUSES     # none in the rounds of a list
    DOUBT      # none while no rival of the greedy arm may be better
    LEDGER     # none before what greedy rounds are expected to lose adds up to `limit`, nor twice in `over` rounds


cdef struct ControlState:
    ControlKind kind
    bint makes_up                       # is a round that it keeps from exploring made up for later?
    bint stopped                        # does it forbid all further explorations?
    double limit
    int64_t over                        # rounds that it looks back; 0: all
    Radius radius                       # of confidence; of doubt and ledger, noise and scale
    double total, improvement           # of a ledger, and what the round under way adds to it if it is greedy
    int64_t first, last                 # where its pauses stand among those of all controls


cdef class Control:
    cdef ControlState state


cdef enum:
    MAY_EXPLORE = -1    # no control objects
    NOT_DUE = -2
    MOST_CONTROLS = 16


cdef class Controls:
    cdef Model model
    cdef ControlState controls[MOST_CONTROLS]
    cdef int64_t count, spacing, span
    cdef int64_t done, owed             # explorations so far, and those to be made up for
    cdef double cost                    # their estimated loss
    cdef int64_t latest, held           # where the latest stands in `_recent`, and how many do
    cdef double[:, ::1] _recent         # rounds and losses of the latest
    cdef const int64_t[::1] _pauses
    cdef double[::1] _gaps, _distances  # (K,): of the greedy arm's rivals

    cdef int set_pauses(self, pauses, int64_t first, int64_t last) except -1
    cdef int64_t objection(self, int64_t t, bint due) noexcept nogil
    cdef int64_t refusal(self, int64_t t, double loss) noexcept nogil
    cdef void skip(self, int64_t control, bint due) noexcept nogil
    cdef void explore(self, int64_t t, bint due, double loss) noexcept nogil
    cdef bint _ledger_rests(self, ControlState *ledger, int64_t t, bint due) noexcept nogil
    cdef bint _is_clear(self, double reach) noexcept nogil
    cdef bint _pauses_at(self, int64_t t, int64_t low, int64_t end) noexcept nogil
    cdef int64_t _count_since(self, int64_t t) noexcept nogil
    cdef double _cost_since(self, int64_t t) noexcept nogil
