"""Scores that look at pulls and rewards of fixed arms alone, each written once."""

import math

from infex.arrays import Floats
from infex.kernels.compiling import compiled


@compiled
def ucb1_indices(pulls: Floats, sums: Floats, noise: float, out: Floats) -> None:
    """mean + noise sqrt(8 log n / n_k) of every arm (UCB1); infinite for one that was never pulled."""
    total = 0.0
    for k in range(out.size):
        total += pulls[k]
    bonus = 8.0 * math.log(max(total, 1.0))
    for k in range(out.size):
        played = max(pulls[k], 1.0)
        out[k] = math.inf if pulls[k] == 0.0 else sums[k] / played + noise * math.sqrt(bonus / played)


@compiled
def sampled_means(pulls: Floats, sums: Floats, noise: float, out: Floats) -> None:
    """S_k/(n_k + 1) + noise/sqrt(n_k + 1) eta_k of every arm, where `out` holds the normal draws eta."""
    for k in range(out.size):
        weight = pulls[k] + 1.0
        out[k] = sums[k] / weight + noise / math.sqrt(weight) * out[k]
