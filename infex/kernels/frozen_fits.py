"""What targets play in blocks of a log."""

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.compiling import compiled
from infex.kernels.reading import best


@compiled
def mix_offers(offers: Floats, chances: Floats, out: Floats) -> None:
    """out_t = sum over arms of chance times features; arms without a chance cost nothing."""
    n, arms, d = offers.shape
    for t in range(n):
        for i in range(d):
            out[t, i] = 0.0
        for k in range(arms):
            chance = chances[t, k]
            if chance != 0.0:
                for i in range(d):
                    out[t, i] += chance * offers[t, k, i]


@compiled
def sum_blocks(values: Floats, block: Integers, out: Floats) -> None:
    """Adds row t of `values` to row `block[t]` of `out`; rows of block -1 are left out."""
    for t in range(values.shape[0]):
        if block[t] >= 0:
            for i in range(values.shape[1]):
                out[block[t], i] += values[t, i]


@compiled
def best_in_rows(scores: Floats) -> Integers:
    """The arm of the largest score in each row, by the tie rule; -1 where none is a number."""
    found = np.empty(scores.shape[0], dtype=np.int64)
    for t in range(scores.shape[0]):
        found[t] = best(scores[t])
    return found
