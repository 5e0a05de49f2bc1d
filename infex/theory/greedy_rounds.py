"""The greedy rounds after tau_0, and when they have become cheap: tau_1 and tau_12."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, final

import numpy as np

from infex.arrays import Floats
from infex.schedules import Schedule
from infex.theory.formulas import Numbers
from infex.theory.grid import counts_on_grid, grid, grid_times
from infex.theory.setting import Setting
from infex.theory.turning import Span, settles, span

# The slopes, in units of Delta, of the lines that costs stay below from tau_0 + tau_1 and tau_0 + tau_12 on.
TAU_1_SHARE = 7 / 16
TAU_12_SHARE = 1 / 4


@final
class GreedyRounds:
    """What the greedy rounds after tau_0 may cost, held against a line."""

    def __init__(self, setting: Setting, schedule: Schedule, delta: float, start: int) -> None:
        points, counts = grid(), counts_on_grid(schedule)
        later = bisect_right(points, start)
        self.setting, self.schedule, self.delta, self.start = setting, schedule, delta, start
        self.points = [start, *points[later:]]
        self.counts = np.concatenate([[float(schedule.count(start))], counts[later:]])
        self.times = np.concatenate([[float(start)], grid_times()[later:]])
        self.passed = [t - start for t in self.points]
        self.since = np.array(self.passed, float)
        squares = self.squares(self.times)
        greedy = np.diff(self.since) - np.diff(self.counts)
        self.sums = np.concatenate([[0.0], np.cumsum(squares[1:] * greedy / self.counts[:-1])])

    def squares(self, times: Numbers) -> Any:
        """beta_t^2."""
        return self.setting.radius(self.setting.log_det_ratio(times), self.delta) ** 2

    def sum_to(self, t: int) -> float:
        """The sum of beta_s^2/f(s) over greedy rounds s from tau_0 + 1 to t, or a little more."""
        j = bisect_right(self.points, t) - 1
        greedy = (t - self.points[j]) - (self.schedule.count(t) - self.counts[j])
        return float(self.sums[j] + max(greedy, 0.0) * self.squares(float(t)) / self.counts[j])

    def tau_1(self) -> Span:
        """Rounds after tau_0 until all that greedy rounds may cost stays below (7/16) Delta (T - tau_0)."""
        gap = self.setting.gap

        def cost(times: Numbers, sums: Numbers) -> Any:
            return (4.0 * self.setting.log_det_ratio(times) * self.squares(times) + 8.0 * sums) / gap

        costs = cost(self.times, self.sums)
        return self._settled(costs, lambda t: float(cost(float(t), self.sum_to(t))), TAU_1_SHARE)

    def tau_12(self) -> Span:
        """Rounds after tau_0 until the sum alone stays below (1/4) Delta (T - tau_0)."""
        gap = self.setting.gap
        return self._settled(8.0 * self.sums / gap, lambda t: 8.0 * self.sum_to(t) / gap, TAU_12_SHARE)

    def _settled(self, costs: Floats, cost: Callable[[int], float], share: float) -> Span:
        slope = share * self.setting.gap
        lines = slope * self.since
        after = settles(self.passed, costs, lines, lambda n: cost(self.start + n), lambda n: slope * float(n))
        return span(max(after, 1))
