"""Ridge estimates as they stood at the start of each block of a log, and what targets play in blocks."""

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.kernels.compiling import compiled
from infex.kernels.factoring import estimate, factor, invert
from infex.kernels.reading import best


@compiled
def fit_blocks(
    table: Floats,
    which: Integers,
    reward: Floats,
    rewarded: Bools,
    starts: Integers,
    renewed: Bools,
    penalty: float,
    thetas: Floats,
) -> None:
    """In row b of `thetas` the ridge estimate from all rounds before round `starts[b]`.

    In round t the arm with the features of row `which[t]` of the `table` was played.

    Where a block is not `renewed`, it has the estimate of the block before: that knows even less of it.
    """
    n, d = which.size, table.shape[1]
    truth, solved = np.zeros((2, d + 1, d)), np.zeros((d + 1, d))
    for b in range(starts.size):
        if renewed[b]:
            factor(truth, penalty, solved)
            invert(solved)
            estimate(truth, solved)
        for i in range(d):
            thetas[b, i] = solved[d, i]
        last = starts[b + 1] if b + 1 < starts.size else n
        for t in range(starts[b], last):
            if rewarded[t]:
                row = table[which[t]]
                for i in range(d):
                    truth[0, d, i] += reward[t] * row[i]
                    for j in range(i + 1):
                        truth[0, i, j] += row[i] * row[j]


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
