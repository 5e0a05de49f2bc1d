"""The rounds on which a schedule is counted once, for sums over all rounds up to 10^300."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from infex.arrays import Floats
from infex.schedules import Schedule
from infex.schedules.base import BuiltinSchedule
from infex.theory.turning import LAST_ROUND


@lru_cache(maxsize=1)
def grid() -> list[int]:
    """Every round up to 4096, then points that are 1/256 apart, and 1/64 past 10^18."""
    points, t = list(range(1, 4097)), 4096.0
    while t < 1e300:
        t *= 1.0 + (1.0 / 256.0 if t < 1e18 else 1.0 / 64.0)
        points.append(min(int(t), LAST_ROUND))
    return points


@lru_cache(maxsize=1)
def grid_times() -> Floats:
    """The same points as floating numbers."""
    return np.array(grid(), float)


def counts_on_grid(schedule: Schedule) -> Floats:
    """f at every point; that of a built-in schedule, which never changes, is computed once."""
    return _kept(schedule) if isinstance(schedule, BuiltinSchedule) else _counted(schedule)


def _counted(schedule: Schedule) -> Floats:
    return np.array([schedule.count(t) for t in grid()], float)


_kept = lru_cache(maxsize=16)(_counted)
