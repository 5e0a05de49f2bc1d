"""K ridges of c features each, which share nothing but the context they are asked with.

Their state stands in arrays with a place for each ridge: `truth` (K, 2, c + 1, c), `solved` (K, c + 1, c) and
`runs` (K, RUN), each part laid out as `kernels` says, and `counts` (2, K), pulls and summed rewards. Contexts
differ from reward to reward, so no run is ever under way: a reward costs O(c^2) in one ridge, and the others
are not touched.

`wide` is `solved` turned, so that loops over ridges run along memory: (c + c (c + 1)/2, K), a row for each
number of theta, and then for each of the lower triangle of M, row by row. What is read of all ridges is read
there, and of one ridge in `solved`, in the same order of sums: to the last bit the same.
"""

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import product
from infex.kernels.compiling import compiled, woven
from infex.kernels.layout import VOLUME
from infex.kernels.learning import absorb_weighted, add_truth, refresh
from infex.kernels.reading import best, choosing_radius, interval_radius, radius


@woven
def turn_block(solved: Floats, wide: Floats, k: int) -> None:
    """Brings theta and M of one ridge into `wide`."""
    d = solved.shape[2]
    row = d
    for i in range(d):
        wide[i, k] = solved[k, d, i]
        for j in range(i + 1):
            wide[row + j, k] = solved[k, i, j]
        row += i + 1


@compiled
def turn_blocks(solved: Floats, wide: Floats) -> None:
    """Brings theta and M of every ridge into `wide`."""
    for k in range(solved.shape[0]):
        turn_block(solved, wide, k)


@compiled
def learn_block(
    truth: Floats,
    penalty: float,
    solved: Floats,
    wide: Floats,
    runs: Floats,
    counts: Floats,
    arm: int,
    x: Floats,
    reward: float,
    weight: float,
) -> None:
    """One ridge takes in a reward of a context x."""
    columns, board, vectors = np.empty((x.size, 0)), np.empty((4, 0)), np.empty((4, x.size))
    absorb_weighted(
        truth[arm], penalty, solved[arm], columns, board, vectors, runs[arm], x, reward, weight
    )  # fmt: skip
    turn_block(solved, wide, arm)
    counts[0, arm] += 1.0
    counts[1, arm] += reward


@compiled
def refresh_blocks(truth: Floats, penalty: float, solved: Floats, wide: Floats, runs: Floats) -> None:
    """Computes all that is derived anew from the truth."""
    columns, board = np.empty((solved.shape[2], 0)), np.empty((4, 0))
    for k in range(solved.shape[0]):
        refresh(truth[k], penalty, solved[k], columns, board, runs[k])
    turn_blocks(solved, wide)


@compiled
def refresh_block(
    truth: Floats, penalty: float, solved: Floats, wide: Floats, runs: Floats, arm: int
) -> None:
    """Computes all that is derived of one ridge anew from the truth."""
    columns, board = np.empty((solved.shape[2], 0)), np.empty((4, 0))
    refresh(truth[arm], penalty, solved[arm], columns, board, runs[arm])
    turn_block(solved, wide, arm)


@compiled
def add_blocks(truth: Floats, more: Floats, places: Integers) -> None:
    """Adds what other ridges have learnt; each is at a place here, or nowhere (-1)."""
    for k in range(places.size):
        if places[k] >= 0:
            add_truth(truth[places[k]], more[k])


@woven
def short_product(rows: Floats, i: int, x: Floats, n: int) -> float:
    """The sum of rows_ij x_j for j < n, in the very order of `product`."""
    total = 0.0
    j = 0
    while j + 8 <= n:
        total = total + (
            x[j] * rows[i, j]
            + x[j + 1] * rows[i, j + 1]
            + x[j + 2] * rows[i, j + 2]
            + x[j + 3] * rows[i, j + 3]
            + x[j + 4] * rows[i, j + 4]
            + x[j + 5] * rows[i, j + 5]
            + x[j + 6] * rows[i, j + 6]
            + x[j + 7] * rows[i, j + 7]
        )
        j += 8
    while j + 2 <= n:
        total = total + (x[j] * rows[i, j] + x[j + 1] * rows[i, j + 1])
        j += 2
    if j < n:
        total = total + x[j] * rows[i, j]
    return total


@compiled
def look_at_blocks(wide: Floats, x: Floats, out: Floats) -> None:
    """Every score x'theta_k; O(K c)."""
    product(wide[: x.size], x, out)


@compiled
def widths_of_blocks(wide: Floats, x: Floats, work: Floats, out: Floats) -> None:
    """Every width |x| in V_k^-1; O(K c^2). `work` has room for K."""
    d, arms = x.size, out.size
    out[:] = 0.0
    row = d
    for i in range(d):
        product(wide[row : row + i + 1], x, work)
        for k in range(arms):
            out[k] += work[k] * work[k]
        row += i + 1
    for k in range(arms):
        out[k] = math.sqrt(out[k])


@compiled
def width_of_block(solved: Floats, x: Floats, place: int) -> float:
    """The width of one ridge; O(c^2)."""
    factor = solved[place]
    total = 0.0
    for i in range(x.size):
        part = short_product(factor, i, x, i + 1)
        total += part * part
    return math.sqrt(total)


@compiled
def radii_of_blocks(
    runs: Floats, penalty: float, noise: float, bound: float, delta: float, out: Floats
) -> None:
    """The confidence radius of each ridge, by its own volume alone."""
    for k in range(out.size):
        out[k] = radius(runs[k, VOLUME], penalty, noise, bound, delta)


@compiled
def sampled_blocks(
    wide: Floats, x: Floats, places: Integers, scores: Floats, scales: Floats, directions: Floats, out: Floats
) -> None:
    """x'(theta_k + scale_k M_k'direction_k) of the ridges at `places`, where x'theta_k are their `scores`."""
    d, work = x.size, np.empty(wide.shape[1])
    out[:] = 0.0
    row = d
    for i in range(d):
        product(wide[row : row + i + 1], x, work)
        for k in range(places.size):
            out[k] += work[places[k]] * directions[places[k], i]
        row += i + 1
    for k in range(places.size):
        out[k] = scores[k] + scales[k] * out[k]


@compiled
def scores_of_blocks(thetas: Floats, x: Floats, places: Integers, out: Floats) -> None:
    """x'theta_k under any parameters, (K, c)."""
    for k in range(places.size):
        out[k] = short_product(thetas, places[k], x, x.size)


@compiled
def whole_volume(runs: Floats) -> float:
    """log(det V/det V_0) of all ridges together: the sum of theirs."""
    total = 0.0
    for k in range(runs.shape[0]):
        total += runs[k, VOLUME]
    return total


@compiled
def glance_at_blocks(
    wide: Floats,
    solved: Floats,
    runs: Floats,
    x: Floats,
    numbers: Floats,
    optimistic: bool,
) -> tuple[int, int, float, float, float]:
    """One decision in a context, optimistic or greedy, as `kernels.glance` gives it.

    `numbers` are noise, bound, delta, scale, bonus and the penalty, as `reading.interval_radius` has them.
    """
    work = np.empty((3, wide.shape[1]))
    scores, widths = work[0], work[1]
    look_at_blocks(wide, x, scores)
    greedy = best(scores)
    arm = greedy
    if optimistic:
        widths_of_blocks(wide, x, work[2], widths)
        for k in range(scores.size):
            work[2, k] = scores[k] + choosing_radius(runs[k, VOLUME], numbers) * widths[k]
        arm = best(work[2])
    if arm < 0 or greedy < 0:
        return -1, greedy, 0.0, 0.0, 0.0
    width = widths[arm] if optimistic else width_of_block(solved, x, arm)
    return arm, greedy, scores[arm], scores[greedy], interval_radius(runs[arm, VOLUME], numbers) * width
