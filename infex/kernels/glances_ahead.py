"""One optimistic decision in a context beside pending ones, where each arm has a ridge of its own.

Pending decisions make no width larger. So an arm whose bound without them is below the bound of another arm
with them cannot be played, and its factor with them, which takes O(c^3), need not be computed.
"""

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.awaiting import narrow
from infex.kernels.compiling import compiled, inlined
from infex.kernels.layout import RUN, VOLUME
from infex.kernels.reading import best, choosing_radius, interval_radius
from infex.kernels.small_ridges import look_at_blocks, width_of_block, widths_of_blocks

WIDENED_BY_ROUNDING = 1e-3  # of a bound: far more than rounding widens it by, also where V is near singular


@compiled
def glance_ahead_in_blocks(
    wide: Floats, solved: Floats, runs: Floats, awaited: Integers, x: Floats, numbers: Floats
) -> tuple[int, int, float, float, float]:
    """As `small_ridges.glance_at_blocks` gives it, with the arm by widths that pending decisions narrow.

    `awaited` are sums over these, (K, 2, c, c). The arm is -1 where a bound is no number.
    """
    scores, reach, upper = np.empty((3, wide.shape[1]))
    look_at_blocks(wide, x, scores)
    widths_of_blocks(wide, x, upper, reach)
    for k in range(scores.size):
        reach[k] *= choosing_radius(runs[k, VOLUME], numbers)
        upper[k] = scores[k] + reach[k]
    greedy = best(scores)
    if greedy < 0 or not math.isfinite(upper.sum()):
        return -1, greedy, 0.0, 0.0, 0.0
    arm = leading_ahead(solved, runs, awaited, x, numbers, scores, reach, upper)
    margin = interval_radius(runs[arm, VOLUME], numbers) * width_of_block(solved, x, arm)
    return arm, greedy, scores[arm], scores[greedy], margin


@inlined
def leading_ahead(
    solved: Floats,
    runs: Floats,
    awaited: Integers,
    x: Floats,
    numbers: Floats,
    scores: Floats,
    reach: Floats,
    upper: Floats,
) -> int:
    """The arm of the largest bound, each of which is narrowed in `upper` if it may be the largest."""
    narrowed, after, nothing = np.empty(solved.shape[1:]), np.empty((1, RUN)), np.zeros((4, x.size))
    top = -math.inf
    while True:
        k = largest_open(reach, upper)
        if k < 0 or upper[k] + WIDENED_BY_ROUNDING * (1.0 + abs(upper[k]) + reach[k]) < top:
            return best(upper)
        if np.any(awaited[k]):
            narrow(solved[k], nothing, runs[k], awaited[k], narrowed, after[0])
            length = width_of_block(narrowed.reshape(1, *narrowed.shape), x, 0)
            upper[k] = scores[k] + choosing_radius(after[0, VOLUME], numbers) * length
        reach[k] = -1.0  # its bound is final
        top = max(top, upper[k])


@inlined
def largest_open(reach: Floats, upper: Floats) -> int:
    """The arm of the largest bound among those whose bound is not final; -1 if there is none."""
    found = -1
    for k in range(upper.size):
        if reach[k] >= 0.0 and (found < 0 or upper[k] > upper[found]):
            found = k
    return found
