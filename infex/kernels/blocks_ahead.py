"""One optimistic decision in a context beside pending ones, where each arm has a ridge of its own."""

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.awaiting import narrow_blocks
from infex.kernels.compiling import compiled
from infex.kernels.reading import best
from infex.kernels.small_ridges import block_radius, look_at_blocks, width_of_block


@compiled
def glance_ahead_in_blocks(
    wide: Floats, solved: Floats, runs: Floats, awaited: Integers, x: Floats, numbers: Floats
) -> tuple[int, int, float, float, float]:
    """As `small_ridges.glance_at_blocks`, with the arm by widths that pending decisions narrow.

    `awaited` are sums over these, (K, 2, c, c).
    """
    scores, bounds = np.empty(solved.shape[0]), np.empty(solved.shape[0])
    narrowed, after = np.empty_like(solved), np.empty_like(runs)
    look_at_blocks(wide, x, scores)
    narrow_blocks(solved, runs, awaited, narrowed, after)
    for k in range(scores.size):
        bounds[k] = scores[k] + block_radius(after, k, numbers) * width_of_block(narrowed, x, k)
    arm, greedy = best(bounds), best(scores)
    if arm < 0 or greedy < 0:
        return -1, greedy, 0.0, 0.0, 0.0
    margin = block_radius(runs, arm, numbers) * width_of_block(solved, x, arm)
    return arm, greedy, scores[arm], scores[greedy], margin
