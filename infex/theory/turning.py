"""The round from which on a cost stays below a line: the tau of the paper, found from its definition.

A cost that rises with t is held against a line that rises with t. Where the cost at the end of a
stretch of rounds is below the line at its start, it is below throughout; so whole stretches are ruled
out at once, from the far end, and what is left is halved. Up to 10^15 the answer is exact to the
round; beyond, to fifteen digits; and past 10^300 rounds only its logarithm is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats

LAST_ROUND = 10**300  # of later rounds only the logarithm is known
DOUBLING_ROUNDS = (*(2**k for k in range(997)), LAST_ROUND)


class Span(NamedTuple):
    """A number of rounds, infinite past 10^300, and its logarithm to base 10.

    The logarithm is infinite if there is no such number, and NaN where it is not known.

    `log10` is that logarithm.
    """

    rounds: int | float
    log10: float

    def __str__(self) -> str:
        if self.log10 == math.inf:
            return "never"
        if math.isnan(self.log10):
            return "past 1e300"
        if self.rounds == math.inf:
            return f"10^{self.log10:.4g}" if self.log10 >= 1e6 else f"1e{self.log10:.0f}"
        return f"{self.rounds:,}" if self.rounds < 10**9 else f"{self.rounds:.3e}"


def span(rounds: int | float, log: float | None = None) -> Span:
    """A span of so many rounds; past 10^300, by their natural logarithm."""
    if rounds < math.inf:
        return Span(rounds, math.log10(rounds) if rounds else -math.inf)
    return Span(math.inf, math.inf if log is None else log / math.log(10.0))


def settles(
    points: tuple[int, ...] | list[int],
    costs: Floats,
    lines: Floats,
    cost: Callable[[int], float],
    line: Callable[[int], float],
) -> int | float:
    """The least round from the first point on after which `cost` is never above `line`; inf if none is.

    `points` rise; `costs` and `lines` are the values of `cost` and `line` at them.
    """
    if not costs[-1] <= lines[-1]:
        return math.inf
    for j in np.flatnonzero(~(costs[1:] <= lines[:-1]))[::-1]:
        last = _last_above(points[j], points[j + 1], cost, line)
        if last is not None:
            return last + 1
    return points[0] + (1 if not costs[0] <= lines[0] else 0)


def _last_above(
    low: int, high: int, cost: Callable[[int], float], line: Callable[[int], float]
) -> int | None:
    """The last round after `low`, up to `high`, at which the cost is above the line."""
    stretches = [(low, high)]
    while stretches:
        low, high = stretches.pop()
        top = cost(high)
        if not top <= line(high):
            return high
        if high - low > 1 + (high >> 50) and not top <= line(low + 1):
            middle = (low + high) // 2
            stretches += [(low, middle), (middle, high)]
    return None
