"""K ridges of c features each, which share nothing but the context they are asked with.

Their state stands in arrays with a place for each ridge: `truth` (K, 2, c + 1, c), `solved` (K, c + 1, c) and
`runs` (K, RUN), each part laid out as `kernels` says, and `counts` (2, K), pulls and summed rewards. Contexts
differ from reward to reward, so no run is ever under way: a reward costs O(c^2) in one ridge, and the others
are not touched. `places` are the ridges that are asked about.
"""

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import dot, row_dot
from infex.kernels.compiling import compiled, inlined
from infex.kernels.layout import VOLUME
from infex.kernels.learning import absorb_weighted, add_truth, refresh
from infex.kernels.reading import best, radius


@compiled
def learn_block(
    truth: Floats,
    penalty: float,
    solved: Floats,
    runs: Floats,
    counts: Floats,
    vectors: Floats,
    arm: int,
    x: Floats,
    reward: float,
    weight: float,
) -> None:
    """One ridge takes in a reward of a context x; `vectors` is room for work, (4, c)."""
    columns, board = np.empty((x.size, 0)), np.empty((4, 0))
    absorb_weighted(
        truth[arm], penalty, solved[arm], columns, board, vectors, runs[arm], x, reward, weight
    )  # fmt: skip
    counts[0, arm] += 1.0
    counts[1, arm] += reward


@compiled
def refresh_blocks(truth: Floats, penalty: float, solved: Floats, runs: Floats) -> None:
    """Computes all that is derived anew from the truth."""
    columns, board = np.empty((solved.shape[2], 0)), np.empty((4, 0))
    for k in range(solved.shape[0]):
        refresh(truth[k], penalty, solved[k], columns, board, runs[k])


@compiled
def add_blocks(truth: Floats, more: Floats, places: Integers) -> None:
    """Adds what other ridges have learnt; each is at a place here, or nowhere (-1)."""
    for k in range(places.size):
        if places[k] >= 0:
            add_truth(truth[places[k]], more[k])


@compiled
def look_at_blocks(solved: Floats, x: Floats, places: Integers, out: Floats) -> int:
    """The greedy arm, by its place in `out`, where every score x'theta_k is left; O(K c)."""
    d = x.size
    for k in range(places.size):
        out[k] = row_dot(solved[places[k]], d, x, d)
    return best(out)


@inlined
def square_of(factor: Floats, x: Floats) -> float:
    """|M x|^2 for a lower triangular M."""
    total = 0.0
    for i in range(x.size):
        part = row_dot(factor, i, x, i + 1)
        total += part * part
    return total


@compiled
def width_of_block(solved: Floats, x: Floats, place: int) -> float:
    """The width |x| in V_k^-1 of one ridge."""
    return math.sqrt(square_of(solved[place], x))


@compiled
def widths_of_blocks(solved: Floats, x: Floats, places: Integers, out: Floats) -> None:
    """That of each; O(K c^2)."""
    for k in range(places.size):
        out[k] = math.sqrt(square_of(solved[places[k]], x))


@compiled
def radii_of_blocks(
    runs: Floats, penalty: float, noise: float, bound: float, delta: float, places: Integers, out: Floats
) -> None:
    """The confidence radius of each ridge, by its own volume alone."""
    for k in range(places.size):
        out[k] = radius(runs[places[k], VOLUME], penalty, noise, bound, delta)


@compiled
def sampled_blocks(
    solved: Floats,
    x: Floats,
    places: Integers,
    scores: Floats,
    scales: Floats,
    directions: Floats,
    out: Floats,
) -> None:
    """x'(theta_k + scale_k M_k'direction_k) of each ridge, where x'theta_k are the `scores`."""
    for k in range(places.size):
        factor, direction = solved[places[k]], directions[k]
        total = 0.0
        for i in range(x.size):
            total += row_dot(factor, i, x, i + 1) * direction[i]
        out[k] = scores[k] + scales[k] * total


@compiled
def scores_of_blocks(thetas: Floats, x: Floats, places: Integers, out: Floats) -> None:
    """x'theta_k under any parameters, (K, c)."""
    for k in range(places.size):
        out[k] = dot(thetas[places[k]], x, x.size)


@compiled
def whole_volume(runs: Floats) -> float:
    """log(det V/det V_0) of all ridges together: the sum of theirs."""
    total = 0.0
    for k in range(runs.shape[0]):
        total += runs[k, VOLUME]
    return total
