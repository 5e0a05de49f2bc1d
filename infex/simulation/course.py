"""Which rounds of a compiled run explore."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from infex.arrays import Integers
from infex.errors import NoRecord
from infex.kernels.bases import KERNEL
from infex.kernels.choosing import GREEDY_FIRST
from infex.linear.estimating import Estimator, FitForm, fit_of
from infex.policies.form import Form
from infex.policies.traits import Policy
from infex.records import record
from infex.schedules import Every, Schedule
from infex.schedules.named_rounds import named_rounds
from infex.simulation.remembered import form_of


class Course(NamedTuple):
    """A policy in the terms of the compiled loop, and all rounds of its schedule, if they are at hand.

    `fit` is the estimator in the place of ridge, in the same terms.
    """

    form: Form
    listed: Integers | None = None
    fit: FitForm | None = None

    @property
    def is_hot(self) -> bool:
        """Can the core's loop over fixed arms play it, which keeps neither notes nor pulls, with ridge?"""
        return self.form.is_hot and self.fit is None

    def calls_user(self, in_parts: bool) -> bool:
        """Would a batch of runs call a user's code: a weight, a pause, or for long runs a schedule?"""
        rows = () if self.form.controls is None else self.form.controls.rows
        asked = [row.pauses for row in rows] + [self.form.schedule if in_parts else None]
        weighs = self.fit is not None and self.fit.weigh is not None
        return weighs or not all(each is None or is_built_in(each) for each in asked)

    def exploring(self, start: int, stop: int) -> Integers:
        """The rounds of the base from start to stop."""
        if self.listed is None:
            return exploring_rounds(self.form.schedule, start, stop)
        first, last = np.searchsorted(self.listed, (start, stop + 1))
        return self.listed[first:last]


def course_of(policy: Policy, estimator: Estimator | None = None) -> Course | None:
    """How compiled loops play a policy; None if none can."""
    form = form_of(policy)
    if not isinstance(form, Form):
        return None
    if estimator is None:
        return Course(form)
    fit = fit_of(estimator)
    if fit is None or form.wrap.kind == GREEDY_FIRST or (fit.linked and form.base.kind == KERNEL):
        return None
    return Course(form, fit=fit)


def exploring_rounds(schedule: Schedule | None, start: int, stop: int) -> Integers:
    """The rounds from start to stop that a schedule names; none without one."""
    if schedule is None:
        return np.zeros(0, dtype=np.int64)
    if is_built_in(schedule) and not isinstance(schedule, Every):
        found: Integers = _remembered(schedule, start, stop)
        return found
    return named_rounds(schedule, start, stop)


def is_built_in(schedule: Schedule) -> bool:
    """Is the schedule ours all the way down, with no code of a user's in it?"""
    try:
        record(schedule)
    except NoRecord:
        return False
    return True


_remembered: Any = lru_cache(maxsize=64)(named_rounds)
