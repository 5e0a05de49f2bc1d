"""K small ridges tied by features that have one parameter for all of them: block elimination.

An arm's reward is x'theta_k + z'beta. With A_k = penalty I + sum x x' and B_k = sum x z' of arm k, theta_k is
eliminated: G_k = A_k^-1 B_k says what the arm's own features tell of the shared ones, u = z - G_k'x is what
they do not tell, and beta is a ridge on the u (Li et al. 2010, Algorithm 2, where V of that ridge is A_0):

    x'theta_k + z'beta = x'theta_k0 + u'beta            theta_k0 = A_k^-1 sum y x, the arm by itself
    |(x, z)|^2 in V^-1 = |x|^2 in A_k^-1 + |u|^2        in the V^-1 of the shared ridge
    log det V = sum log det A_k + log det               of the shared ridge

A reward y of weight w is, to the shared ridge, one of u with the reward y - x'theta_k0 and the weight
w/(1 + w |x|^2 in A_k^-1), all from before it: so each part is one of the ridges of `kernels`, and no number
is the difference of two large ones. Only what is computed anew from sums is, and there pairs of floats hold
it; so where V is steep (see `kernels`), the shared ridge is computed anew, with what the arm has changed.

    tied     (K, c, s)       G_k
    cross    (K, 2, c, s)    B_k, with its carry
    common   (2, s + 1, s)   sum z z' and sum y z of all arms, laid out as the truth of a ridge
"""

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import add, product, row_dot
from infex.kernels.compiling import compiled, copy_into, inner, larger, shared, within, woven
from infex.kernels.layout import RUNS
from infex.kernels.learning import absorb_weighted, add_pulls, add_truth, is_steep, refresh, square_widths
from infex.kernels.pairs import exact_product, minus_product, quotient, root
from infex.kernels.reading import best, choosing_radius, interval_radius, volume
from infex.kernels.small_ridges import (
    learn_block,
    look_at_blocks,
    short_product,
    whole_volume,
    width_of_block,
    widths_of_blocks,
)


@compiled
def untold(tied: Floats, x: Floats, rows: Floats, places: Integers, out: Floats) -> None:
    """u = z - G_k'x of the arms at `places`, whose z are `rows`, (K, s), as columns, (s, K)."""
    c, s = x.size, out.shape[0]
    u = np.empty(s)
    for n in range(places.size):
        k = places[n]
        for j in range(s):
            u[j] = rows[n, j]
        for i in range(c):
            for j in range(s):
                u[j] -= tied[k, i, j] * x[i]
        for j in range(s):
            out[j, n] = u[j]


@compiled
def glance_at_tied(
    wide: Floats,
    solved: Floats,
    runs: Floats,
    tied: Floats,
    left_solved: Floats,
    left_run: Floats,
    gone: float,
    x: Floats,
    rows: Floats,
    numbers: Floats,
    optimistic: bool,
) -> tuple[int, int, float, float, float]:
    """One decision in a context, optimistic or greedy, as `kernels.glance` gives it."""
    arms, s = rows.shape
    work, columns, places = np.empty((4, arms)), np.empty((s, arms)), np.arange(arms)
    scores, shares, board = work[0], work[1], np.empty((4, arms))
    untold(tied, x, rows, places, columns)
    look_at_blocks(wide, x, scores)
    product(columns, left_solved[s], shares)
    for k in range(arms):
        scores[k] += shares[k]
    greedy = best(scores)
    volumes = whole_volume(runs) + volume(left_run) + gone
    arm = greedy
    if optimistic:
        beta = choosing_radius(volumes, numbers)
        widths_of_blocks(wide, x, work[3], work[2])
        square_widths(left_solved, columns, board)
        for k in range(arms):
            work[2, k] = both_widths(work[2, k], math.sqrt(larger(board[1, k], 0.0)))
            work[3, k] = scores[k] + beta * work[2, k]
        arm = best(work[3])
    if arm < 0 or greedy < 0:
        return -1, greedy, 0.0, 0.0, 0.0
    if not optimistic:
        own, one = width_of_block(solved, x, arm), np.empty((s, 1))
        for j in range(s):
            one[j, 0] = columns[j, arm]
        here = np.empty((4, 1))
        square_widths(left_solved, one, here)
        work[2, arm] = both_widths(own, math.sqrt(larger(here[1, 0], 0.0)))
    return arm, greedy, scores[arm], scores[greedy], interval_radius(volumes, numbers) * work[2, arm]


@woven
def both_widths(own: float, left: float) -> float:
    """The width of an arm, of its own part and of what is left."""
    return math.sqrt(own * own + left * left)


@shared
def add_cross(cross: Floats, x: Floats, z: Floats, weight: float) -> None:
    """B_k after a reward of (x, z); what rounding takes from the products is in the carry."""
    for i in range(x.size):
        scaled, lost = exact_product(weight, x[i])
        for j in range(z.size):
            value, rest = exact_product(scaled, z[j])
            carry = cross[1, i, j] + (rest + lost * z[j])
            cross[0, i, j], cross[1, i, j] = add(cross[0, i, j], carry, value)


@within
def add_common(common: Floats, z: Floats, reward: float, weight: float) -> None:
    """Sums of z z' and y z after a reward, without loss."""
    add_pulls(common, 0.0, z, weight, weight * reward)  # a penalty of 0 has all in 32 digits


@compiled
def learn_tied(
    truth: Floats,
    penalty: float,
    solved: Floats,
    wide: Floats,
    runs: Floats,
    counts: Floats,
    tied: Floats,
    cross: Floats,
    common: Floats,
    left: Floats,
    left_solved: Floats,
    left_vectors: Floats,
    left_run: Floats,
    arm: int,
    row: Floats,
    reward: float,
    weight: float,
) -> None:
    """One arm takes in a reward of `row`, which is x and z, one behind the other; O(c^2 + c s + s^2).

    `left` and so on are the truth and all that is derived of the shared ridge.
    """
    c, s = tied.shape[1], tied.shape[2]
    x, z, u, along = row[:c].copy(), row[c:].copy(), row[c:].copy(), np.zeros(c)
    factor, one = solved[arm], slice(arm, arm + 1)
    steep = is_steep(common, left_solved)
    before = np.zeros((2, s + 1, s))
    if steep:
        eliminate(truth[one], cross[one], penalty, tied[one], before)
    square = 0.0
    for i in range(c):
        part = short_product(factor, i, x, i + 1)
        square += part * part
        for j in range(i + 1):
            along[j] += part * factor[i, j]
        for j in range(s):
            u[j] -= tied[arm, i, j] * x[i]
    rest, share = reward - row_dot(factor, c, x, c), weight / (1.0 + weight * square)
    add_cross(cross[arm], x, z, weight)
    add_common(common, z, reward, weight)
    learn_block(truth, penalty, solved, wide, runs, counts, arm, x, reward, weight)
    none, board = np.empty((s, 0)), np.empty((4, 0))
    if steep:  # what updates leave of theta where little is known would not do: see `kernels`
        add_common(left, z, reward, weight)
        add_truth(left, -before)
        eliminate(truth[one], cross[one], penalty, tied[one], left)
        refresh(left, penalty, left_solved, none, board, left_run)
        return
    if runs[arm, RUNS] == 0.0:  # the arm was computed anew
        tie(truth[arm], cross[arm], penalty, tied[arm])
    else:
        for i in range(c):
            for j in range(s):
                tied[arm, i, j] += share * along[i] * u[j]
    absorb_weighted(left, penalty, left_solved, none, board, left_vectors, left_run, u, rest, share)
    if is_steep(common, left_solved):
        copy_into(left, common)
        eliminate(truth, cross, penalty, tied, left)
        refresh(left, penalty, left_solved, none, board, left_run)


@compiled
def learn_each_tied(
    truth: Floats,
    penalty: float,
    solved: Floats,
    wide: Floats,
    runs: Floats,
    counts: Floats,
    tied: Floats,
    cross: Floats,
    common: Floats,
    left: Floats,
    left_solved: Floats,
    left_vectors: Floats,
    left_run: Floats,
    arms: Integers,
    row_of: Integers,
    rows: Floats,
    rewards: Floats,
    weights: Floats,
) -> None:
    """The same for rewards in their order; an arm below 0 is gone, and learns nothing."""
    for n in range(rewards.size):
        if arms[n] >= 0:
            learn_tied(
                truth, penalty, solved, wide, runs, counts, tied, cross, common, left, left_solved,
                left_vectors, left_run, arms[n], rows[row_of[n]], rewards[n], weights[n],
            )  # fmt: skip


@compiled
def gather_tied(
    cross: Floats,
    common: Floats,
    arms: Integers,
    row_of: Integers,
    rows: Floats,
    rewards: Floats,
    weights: Floats,
) -> None:
    """Adds rewards to the sums that have to do with the shared features."""
    c = cross.shape[2]
    for n in range(rewards.size):
        if arms[n] >= 0:
            x, z = rows[row_of[n], :c].copy(), rows[row_of[n], c:].copy()
            add_cross(cross[arms[n]], x, z, weights[n])
            add_common(common, z, rewards[n], weights[n])


@compiled
def add_tied(cross: Floats, more: Floats, places: Integers) -> None:
    """Adds sums of other arms; each is at a place here, or nowhere (-1)."""
    for k in range(places.size):
        if places[k] >= 0:
            add_truth(cross[places[k]], more[k])


@within
def halve(
    truth: Floats, cross: Floats, penalty: float, low: Floats, low_rest: Floats, half: Floats, rest: Floats
) -> None:
    """L with L L' = A_k in `low`; in `half`, (s + 1, c), L^-1 B_k as rows and L^-1 sum y x; of 32 digits."""
    c = low.shape[0]
    for i in range(c):
        for j in range(i + 1):
            value, over = add(truth[0, i, j], 0.0, truth[1, i, j])
            for k in range(j):
                value, over = minus_product(value, over, low[i, k], low_rest[i, k], low[j, k], low_rest[j, k])
            if i == j:
                pivot, over = add(larger(value, 0.0), over, penalty)
                low[i, i], low_rest[i, i] = root(pivot, over)
            else:
                low[i, j], low_rest[i, j] = quotient(value, over, low[j, j], low_rest[j, j])
    last = half.shape[0] - 1
    for i in range(last + 1):
        for j in range(c):
            if i < last:
                value, over = add(cross[0, j, i], 0.0, cross[1, j, i])
            else:
                value, over = add(truth[0, c, j], 0.0, truth[1, c, j])
            for k in range(j):
                value, over = minus_product(value, over, half[i, k], rest[i, k], low[j, k], low_rest[j, k])
            half[i, j], rest[i, j] = quotient(value, over, low[j, j], low_rest[j, j])


@within
def solve_tied(low: Floats, low_rest: Floats, half: Floats, rest: Floats, tied: Floats) -> None:
    """G_k = L'^-1 (L^-1 B_k); the rows of `half` are changed."""
    c, s = tied.shape
    for j in range(s):
        for i in range(c - 1, -1, -1):
            half[j, i], rest[j, i] = quotient(half[j, i], rest[j, i], low[i, i], low_rest[i, i])
            tied[i, j] = half[j, i]
            for k in range(i):
                half[j, k], rest[j, k] = minus_product(
                    half[j, k], rest[j, k], low[i, k], low_rest[i, k], half[j, i], rest[j, i]
                )


@inner
def tie(truth: Floats, cross: Floats, penalty: float, tied: Floats) -> None:
    """G_k of one arm, computed anew."""
    c, s = tied.shape
    low, half = np.zeros((2, c, c)), np.zeros((2, s + 1, c))
    halve(truth, cross, penalty, low[0], low[1], half[0], half[1])
    solve_tied(low[0], low[1], half[0], half[1], tied)


@compiled
def eliminate(truth: Floats, cross: Floats, penalty: float, tied: Floats, left: Floats) -> None:
    """G_k of every arm; `left`, which is `common` at first, becomes the truth of the shared ridge.

    That is sum z z' - sum B_k'A_k^-1 B_k, and sum y z - sum B_k'A_k^-1 sum y x.
    """
    arms, c, s = tied.shape
    low, half = np.zeros((2, c, c)), np.zeros((2, s + 1, c))
    for arm in range(arms):
        halve(truth[arm], cross[arm], penalty, low[0], low[1], half[0], half[1])
        for i in range(s + 1):
            for j in range(min(i + 1, s)):
                value, rest = left[0, i, j], left[1, i, j]
                for k in range(c):
                    value, rest = minus_product(
                        value, rest, half[0, i, k], half[1, i, k], half[0, j, k], half[1, j, k]
                    )
                left[0, i, j], left[1, i, j] = value, rest
        solve_tied(low[0], low[1], half[0], half[1], tied[arm])
