"""Controls around a schedule: what may keep a round that is due from exploring."""

import numpy as np

from libc.math cimport log, sqrt

from infex.core.choosing cimport largest_improvement
from infex.core.runs cimport check_rounds


cdef class Control:
    """One of them.

    `makes_up`: is a round that it keeps from exploring made up for later? `limit` is that of explorations, of their
    estimated loss or of a ledger, over the last `over` rounds, or all if that is 0. `noise`, `bound`, `delta`, `scale`
    and `mixture` are of the confidence radius.
    """

    def __cinit__(self, ControlKind kind, bint makes_up=False, double limit=0.0, int64_t over=0, double noise=0.0,
                  double bound=0.0, double delta=1.0, double scale=0.0, bint mixture=False):
        if not LIMITS <= kind <= LEDGER:
            raise ValueError(f"there is no control of kind {<int>kind}")
        if over < 0:
            raise ValueError(f"a control looks back over 0 rounds or more, got {over}")
        self.state = ControlState(
            kind, makes_up, False, limit, over, Radius(noise, bound, delta, scale, mixture), 0.0, 0.0, 0, 0,
        )


cdef class Controls:
    """All controls of a run, the inner ones first, and what was explored so far.

    They read `model` and look back over `span` rounds; missed rounds are made up for at a distance of `spacing`.
    """

    def __cinit__(self, controls, Model model, int64_t spacing, int64_t span, int64_t horizon):
        cdef Control control
        if span < 0 or spacing < 1:
            raise ValueError(f"spacing and span must be at least 1 and 0, got {spacing} and {span}")
        if len(controls) > MOST_CONTROLS:
            raise ValueError(f"at most {MOST_CONTROLS} controls can be played, got {len(controls)}")
        for i, each in enumerate(controls):
            control = each
            if control.state.over > span:
                raise ValueError(f"a control cannot look back over {control.state.over} rounds of {span}")
            self.controls[i] = control.state
        self.model, self.count, self.spacing, self.span = model, len(controls), spacing, min(span, horizon)
        self._recent = np.zeros((2, max(self.span, 1)))
        self._gaps, self._distances = np.zeros(model.arms), np.zeros(model.arms)

    cdef int set_pauses(self, pauses, int64_t first, int64_t last) except -1:
        """From round `first` to `last`, `pauses` has the rounds in which each control pauses."""
        lists = [np.array(each, dtype=np.int64) for each in pauses]
        if len(lists) != self.count:
            raise ValueError(f"there must be pauses for each of {self.count} controls, got {len(lists)}")
        start = 0
        for i, each in enumerate(lists):
            check_rounds("pauses", each, first, last)
            self.controls[i].first, self.controls[i].last = start, start + len(each)
            start += len(each)
        self._pauses = np.concatenate([np.zeros(0, np.int64), *lists])
        return 0

    cdef int64_t objection(self, int64_t t, bint due) noexcept nogil:
        """MAY_EXPLORE, NOT_DUE, or which control keeps round t from exploring."""
        cdef ControlState *control
        cdef int64_t i
        if not due and (self.owed == 0 or not (self.spacing == 1 or self._count_since(t - self.spacing + 1) == 0)):
            return NOT_DUE
        for i in range(self.count):  # first those that say which rounds are due
            control = &self.controls[i]
            if control.kind == LIMITS:
                if (self.done if control.over == 0 else self._count_since(t - control.over + 1)) >= control.limit:
                    return NOT_DUE
            elif control.kind == LEDGER:
                if self._ledger_rests(control, t, due):
                    return NOT_DUE
        for i in range(self.count):
            control = &self.controls[i]
            if control.kind == PAUSES:
                if self._pauses_at(t, control.first, control.last):
                    return i
            elif control.kind == GUARDS:
                if control.stopped:
                    return i
            elif control.kind == CERTAINTY:
                if control.stopped or self.model.is_certain(&control.radius):
                    return i
            elif control.kind == DOUBT:
                if self._is_clear(control.radius.noise * sqrt(2.0 * control.radius.scale * log(t + 1.0))):
                    return i
        return MAY_EXPLORE

    cdef int64_t refusal(self, int64_t t, double loss) noexcept nogil:
        """Which control refuses an arm of that estimated loss; MAY_EXPLORE if none does."""
        cdef ControlState *control
        cdef int64_t i
        for i in range(self.count):
            control = &self.controls[i]
            if control.kind == GUARDS:
                if (self.cost if control.over == 0 else self._cost_since(t - control.over + 1)) + loss > control.limit:
                    return i
        return MAY_EXPLORE

    cdef void skip(self, int64_t control, bint due) noexcept nogil:
        """A control keeps a round from exploring: it may stop for good, and what was due may be owed.

        What is certain of arms that are drawn anew is certain in this round alone.
        """
        cdef ControlState *by = &self.controls[control]
        cdef int64_t i
        if (by.kind == CERTAINTY and not self.model.changing) or (by.kind == GUARDS and by.over == 0):
            by.stopped = True
        if due and by.makes_up:
            self.owed += 1
        for i in range(self.count if due else 0):
            self.controls[i].total += self.controls[i].improvement

    cdef void explore(self, int64_t t, bint due, double loss) noexcept nogil:
        """Round t explores, at that estimated loss."""
        cdef int64_t i
        for i in range(self.count):
            self.controls[i].total = 0.0
        self.done += 1
        self.cost += loss
        if not due:
            self.owed -= 1
        if self.span > 0:
            self.latest = (self.latest + 1) % self.span
            self._recent[0, self.latest], self._recent[1, self.latest] = t, loss
            self.held = min(self.held + 1, self.span)

    cdef bint _ledger_rests(self, ControlState *ledger, int64_t t, bint due) noexcept nogil:
        """Does a ledger leave round t to greedy? If it is due, what it is expected to lose is added."""
        cdef double most
        self.model.compare(&self._gaps[0], &self._distances[0])
        most = largest_improvement(&self._gaps[0], &self._distances[0], self.model.arms, ledger.radius.noise)
        ledger.improvement = most
        if ledger.total + most >= ledger.limit and self._count_since(t - ledger.over + 1) == 0:
            return False
        if due:
            ledger.total += most
        return True

    cdef bint _is_clear(self, double reach) noexcept nogil:
        """Is every rival's gap at least `reach` times the width of its difference from the greedy arm?"""
        cdef int64_t k
        self.model.compare(&self._gaps[0], &self._distances[0])
        for k in range(self.model.arms):
            if self._gaps[k] < reach * self._distances[k]:
                return False
        return True

    cdef bint _pauses_at(self, int64_t t, int64_t low, int64_t end) noexcept nogil:
        """Is t among the rising rounds `_pauses[low:end]`?"""
        cdef int64_t high = end, middle
        while low < high:
            middle = (low + high) // 2
            if self._pauses[middle] < t:
                low = middle + 1
            else:
                high = middle
        return low < end and self._pauses[low] == t

    cdef int64_t _count_since(self, int64_t t) noexcept nogil:
        """How many explorations there were from round t on."""
        cdef int64_t found = 0
        while found < self.held and self._recent[0, (self.latest - found + self.span) % self.span] >= t:
            found += 1
        return found

    cdef double _cost_since(self, int64_t t) noexcept nogil:
        """What they cost, summed from the first on."""
        cdef int64_t back
        cdef double cost = 0.0
        for back in range(self._count_since(t) - 1, -1, -1):
            cost += self._recent[1, (self.latest - back + self.span) % self.span]
        return cost
