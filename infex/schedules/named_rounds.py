"""All rounds of a span that a schedule names."""

import contextlib

import numpy as np

from infex.arrays import Integers
from infex.errors import OutOfReach
from infex.schedules.every import Every
from infex.schedules.protocol import Family, Schedule

SPARSE_ROUNDS = 8  # times as many rounds as are named: then these are found by their numbers


def named_rounds(schedule: Schedule, start: int, stop: int) -> Integers:
    """The rounds from start to stop that it names: by number where they are few, else one by one."""
    if isinstance(schedule, Every):
        first = schedule.when(schedule.count(start - 1) + 1)
        return np.arange(first, stop + 1, schedule.period, dtype=np.int64)
    found = _by_number(schedule, start, stop) if isinstance(schedule, Family) else None
    return _one_by_one(schedule, start, stop) if found is None else found


def _by_number(schedule: Schedule, start: int, stop: int) -> Integers | None:
    with contextlib.suppress(OutOfReach):
        first, last = schedule.count(start - 1) + 1, schedule.count(stop)
        if SPARSE_ROUNDS * (last - first) < stop - start:
            found = np.array([schedule.when(n) for n in range(first, last + 1)], dtype=np.int64)
            if np.all(np.diff(found) > 0):  # else `explores` says what is wrong
                return found
    return None


def _one_by_one(schedule: Schedule, start: int, stop: int) -> Integers:
    return np.array([t for t in range(start, stop + 1) if schedule.explores(t)], dtype=np.int64)
