"""Many rewards taken in by one call: one after the other, or as sums from which all is computed anew."""

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import add, dot
from infex.kernels.compiling import compiled, woven
from infex.kernels.layout import FINE, HEAVY
from infex.kernels.learning import absorb_weighted, add_pulls, learn_counted


@compiled
def learn_each(
    truth: Floats,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
    counts: Floats,
    places: Integers,
    row_of: Integers,
    rows: Floats,
    rewards: Floats,
    weights: Floats,
) -> None:
    """Takes in rewards in their order: of column `places[n]` or, where that is -1, of row `row_of[n]`."""
    x = np.empty(columns.shape[0])
    for n in range(rewards.size):
        place, reward = places[n], rewards[n]
        if place >= 0 and weights[n] == 1.0:
            learn_counted(truth, penalty, solved, columns, board, vectors, run, counts, place, reward)
            continue
        if place >= 0:
            counts[0, place] += 1.0
            counts[1, place] += reward
        for i in range(x.size):
            x[i] = columns[i, place] if place >= 0 else rows[row_of[n], i]
        absorb_weighted(truth, penalty, solved, columns, board, vectors, run, x, reward, weights[n])


@compiled
def gather_arms(
    truth: Floats,
    penalty: float,
    columns: Floats,
    counts: Floats,
    places: Integers,
    rewards: Floats,
    weights: Floats,
) -> None:
    """Adds rewards of columns to the truth, to pulls and to summed rewards: first by arm, then all arms."""
    d, arms = columns.shape
    sums = np.zeros((3, 2, arms))  # weights, weighted rewards, rewards; each as a sum and a carry
    for n in range(rewards.size):
        k = places[n]
        counts[0, k] += 1.0
        for part, value in enumerate((weights[n], weights[n] * rewards[n], rewards[n])):
            sums[part, 0, k], sums[part, 1, k] = add(sums[part, 0, k], sums[part, 1, k], value)
    x = np.empty(d)
    for k in range(arms):
        weight = sums[0, 0, k] + sums[0, 1, k]
        if weight > 0.0:
            for i in range(d):
                x[i] = columns[i, k]
            add_pulls(truth, penalty, x, weight, sums[1, 0, k] + sums[1, 1, k])
            counts[1, k] += sums[2, 0, k] + sums[2, 1, k]


@compiled
def gather_rows(truth: Floats, penalty: float, rows: Floats, rewards: Floats, weights: Floats) -> None:
    """Adds rewards of rows, (n, d), to the truth; a feature that is 0 costs next to nothing."""
    d = rows.shape[1]
    x, places = np.empty(d), np.empty(d, dtype=np.int64)
    for n in range(rewards.size):
        count = 0
        for i in range(d):
            x[i] = rows[n, i]
            if x[i] != 0.0:
                places[count] = i
                count += 1
        if penalty < FINE or weights[n] * dot(x, x, d) > HEAVY * penalty:
            add_pulls(truth, penalty, x, weights[n], weights[n] * rewards[n])
        else:
            _add_sparse(truth, x, places, count, weights[n], weights[n] * rewards[n])


@woven
def _add_sparse(truth: Floats, x: Floats, places: Integers, count: int, n: float, total: float) -> None:
    """`add_pulls` for an x that is 0 but at so many places."""
    d = x.size
    for a in range(count):
        i = places[a]
        truth[0, d, i], truth[1, d, i] = add(truth[0, d, i], truth[1, d, i], total * x[i])
        for b in range(a + 1):
            j = places[b]
            truth[0, i, j], truth[1, i, j] = add(truth[0, i, j], truth[1, i, j], n * x[i] * x[j])
