"""What decisions that wait for their reward will add to V: sums of x x' in whole numbers.

A sum of floats does not come back to what it was when a term is taken out again. A sum of whole numbers
does, in whatever order terms come and go, so that it depends on what is pending now and on nothing else.

    awaited   (2, d, d)   the lower triangle of sum w x x' in units of 2^-34, and what is left over in units
                          of 2^-68; x is no longer than 1 and w no more than 1, so that 2^28 terms fit

What is pending is read as if each decision had been told its estimate: theta stays as it is, and V grows.
The volume, and with it the radius, stays that of rewards. Where an arm has many features, one decision
narrows it in one direction alone; a radius that grew at once would have the same arm tried again.
"""

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.algebra import rank_one, row_dot
from infex.kernels.compiling import compiled, copy_into, inner, larger, within, woven
from infex.kernels.layout import ARM, PSI, RUN, VOLUME, N
from infex.kernels.learning import direct, square_widths
from infex.kernels.pairs import exact_product
from infex.kernels.reading import (
    best_upper,
    choosing_radius,
    estimates,
    interval_radius,
    parameter,
    volume,
    width,
)

UNITS = 2.0**34  # in 1
SMALL_UNITS = 2.0**68


@inner
def expect(awaited: Integers, x: Floats, weight: float, times: int) -> None:
    """So many decisions on x more are pending, or less (below 0), with a weight each."""
    for i in range(x.size):
        if x[i] == 0.0:  # as most are where each arm has features of its own
            continue
        scaled = weight * x[i]
        for j in range(i + 1):
            expect_product(awaited, i, j, scaled, x[j], times)


@woven
def expect_product(awaited: Integers, i: int, j: int, a: float, b: float, times: int) -> None:
    """Adds a b to one of the sums, so many times."""
    value, lost = exact_product(a, b)
    units = math.floor(UNITS * value + 0.5)
    rest = (value - units / UNITS) + lost
    awaited[0, i, j] += times * units
    awaited[1, i, j] += times * math.floor(SMALL_UNITS * rest + 0.5)


@compiled
def expect_rows(awaited: Integers, rows: Floats, weights: Floats) -> None:
    """The same for many x, (n, d), each with a weight; one below 0 is that of a decision that is gone."""
    for k in range(weights.size):
        expect(awaited, rows[k], abs(weights[k]), 1 if weights[k] > 0.0 else -1)


@compiled
def expect_arm(awaited: Integers, columns: Floats, arm: int, times: int, x: Floats) -> None:
    """The same for one of the fixed arms; `x` has room for it."""
    for i in range(x.size):
        x[i] = columns[i, arm]
    expect(awaited, x, 1.0, times)


@compiled
def expect_arms(awaited: Integers, columns: Floats, arms: Integers, times: Integers, x: Floats) -> None:
    """The same for some of the fixed arms, as often as `times` says of each."""
    for k in range(arms.size):
        expect_arm(awaited, columns, arms[k], times[k], x)


@inner
def expect_changes(awaited: Integers, columns: Floats, changes: Integers, x: Floats) -> None:
    """The same for every fixed arm, as often as `changes` says, (K,), which are 0 then."""
    for arm in range(changes.size):
        if changes[arm] != 0:
            expect_arm(awaited, columns, arm, changes[arm], x)
            changes[arm] = 0


@inner
def awaited_sum(awaited: Integers, out: Floats) -> None:
    """P = sum w x x' as floats, both triangles."""
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = awaited[0, i, j] / UNITS + awaited[1, i, j] / SMALL_UNITS
            out[j, i] = out[i, j]


@within
def inner_factor(factor: Floats, pending: Floats, inner: Floats) -> None:
    """The lower Cholesky factor of I + M P M' in `inner`; no pivot of I + M P M' is below 1."""
    d = factor.shape[0]
    row = np.empty(d)
    for i in range(d):
        for j in range(i + 1):
            row[j] = 0.0
        for k in range(i + 1):
            part = factor[i, k]
            for j in range(i + 1):  # all that is read of M P
                row[j] += part * pending[k, j]
        for j in range(i + 1):
            value = row_dot(factor, j, row, j + 1) - row_dot(inner, i, inner[j], j)
            if i > j:
                inner[i, j] = value / inner[j, j]
            else:
                inner[i, i] = math.sqrt(larger(1.0 + value, 1.0))  # rounding may not widen anything


@compiled
def narrow(
    solved: Floats, vectors: Floats, run: Floats, awaited: Integers, narrowed: Floats, after: Floats
) -> None:
    """The factor of V + P and the theta there was, in `narrowed`, (d + 1, d); the volume of V in `after`.

    With V^-1 = M'M and G G' = I + M P M' it is G^-1 M, as V + P = M^-1 G G' M'^-1. `after` are the scalars
    of no run; that under way is in M and theta.
    """
    pending = np.empty((vectors.shape[1], vectors.shape[1]))
    awaited_sum(awaited, pending)
    narrow_by(solved, vectors, run, pending, narrowed, after)


@within
def narrow_by(
    solved: Floats, vectors: Floats, run: Floats, pending: Floats, narrowed: Floats, after: Floats
) -> None:
    """The same for a P of floats, (d, d)."""
    d = vectors.shape[1]
    factor, inner = solved[:d].copy(), np.zeros((d, d))
    if run[N] > 0.0:
        rank_one(factor, vectors.copy(), run[N])
    inner_factor(factor, pending, inner)
    narrowed[:] = 0.0
    for i in range(d):
        for j in range(i + 1):
            narrowed[i, j] = factor[i, j]
        for k in range(i):
            part = inner[i, k]
            for j in range(k + 1):
                narrowed[i, j] -= part * narrowed[k, j]
        for j in range(i + 1):
            narrowed[i, j] /= inner[i, i]
    parameter(solved, vectors, run, narrowed[d])
    after[:] = 0.0
    after[ARM], after[VOLUME] = -1.0, volume(run)


@compiled
def narrow_blocks(solved: Floats, runs: Floats, awaited: Integers, narrowed: Floats, after: Floats) -> None:
    """The same for every arm that has a regression of its own, (K, c + 1, c), and something pending."""
    nothing = np.zeros((4, solved.shape[2]))
    for k in range(solved.shape[0]):
        if np.any(awaited[k]):
            narrow(solved[k], nothing, runs[k], awaited[k], narrowed[k], after[k])
        else:
            copy_into(narrowed[k], solved[k])
            copy_into(after[k], runs[k])


@inner
def narrow_board(
    narrowed: Floats, columns: Floats, board: Floats, run: Floats, reads_widths: bool, out: Floats
) -> None:
    """The board of fixed arms with the factor in `narrowed` and the estimates there are."""
    if reads_widths:
        direct(narrowed, columns, out)
    estimates(board, run, out[0])


@compiled
def glance_ahead(
    board: Floats,
    solved: Floats,
    vectors: Floats,
    run: Floats,
    columns: Floats,
    awaited: Integers,
    numbers: Floats,
    ahead: Floats,
    places: Integers,
) -> tuple[int, int, float, float, float]:
    """One optimistic decision beside pending ones: as `kernels.glance`, with the arm by narrowed widths.

    `ahead` has room for a board, and `places` for K.
    """
    dim = vectors.shape[1]
    narrowed, after = np.empty((dim + 1, dim)), np.empty(RUN)
    narrow(solved, vectors, run, awaited, narrowed, after)
    square_widths(narrowed, columns, ahead)
    greedy = estimates(board, run, ahead[0])
    guess, beta = max(greedy, 0), choosing_radius(volume(after), numbers)
    arm = best_upper(ahead, after, beta, guess, ahead[3], places)
    if arm < 0 or greedy < 0:
        return -1, greedy, 0.0, 0.0, 0.0
    margin = interval_radius(volume(run), numbers) * width(board[1, arm], board[2, arm], run[PSI])
    return arm, greedy, ahead[0, arm], ahead[0, greedy], margin
