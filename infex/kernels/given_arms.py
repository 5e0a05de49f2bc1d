"""Arms that are given with a question: checked, turned into columns and scored in one pass; see `kernels`."""

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.kernels.algebra import product
from infex.kernels.compiling import compiled, woven
from infex.kernels.layout import PSI, RUNS, N
from infex.kernels.learning import is_steep, score
from infex.kernels.offered_arms import best_offered
from infex.kernels.reading import (
    best,
    choosing_radius,
    interval_radius,
    parameter,
    upper,
    volume,
    width,
)

BAD_ARMS, STEEP_SUMS = -2, -3  # what `open_glance` says where the long way must go on


@compiled
def take_rows(rows: Floats, first: int, most: float, columns: Floats) -> bool:
    """Puts rows, from `first` on, into `columns`; True if all are numbers, with no square above `most`."""
    d, fine = columns.shape[0], True
    for k in range(columns.shape[1]):
        place = first + k
        s0 = s1 = s2 = s3 = 0.0
        i = 0
        while i + 4 <= d:
            v0, v1, v2, v3 = rows[place, i], rows[place, i + 1], rows[place, i + 2], rows[place, i + 3]
            columns[i, k], columns[i + 1, k], columns[i + 2, k], columns[i + 3, k] = v0, v1, v2, v3
            s0 += v0 * v0
            s1 += v1 * v1
            s2 += v2 * v2
            s3 += v3 * v3
            i += 4
        while i < d:
            v0 = rows[place, i]
            columns[i, k] = v0
            s0 += v0 * v0
            i += 1
        if not (s0 + s1) + (s2 + s3) <= most:
            fine = False
    return fine


@woven
def one_width(solved: Floats, vectors: Floats, run: Floats, column: Floats, board: Floats) -> float:
    """The width of one arm, (d, 1), as `widths` has it; `board` has room for (4, 1)."""
    score(solved, vectors, run, column, board)
    return width(board[1, 0], board[2, 0], run[PSI])


@woven
def is_lost(truth: Floats, solved: Floats, run: Floats) -> bool:
    """May updates have lost theta for arms that are not kept up?"""
    return (run[RUNS] > 0.0 or run[N] > 0.0) and is_steep(truth, solved)


@compiled
def open_glance(
    rows: Floats,
    most: float,
    truth: Floats,
    solved: Floats,
    vectors: Floats,
    run: Floats,
    numbers: Floats,
    optimistic: bool,
) -> tuple[int, int, float, float, float]:
    """One decision among arms given as rows, (K, d), as `glance` gives it among those that are kept up.

    In the place of the arm: BAD_ARMS if a row is longer than the root of `most`, STEEP_SUMS if theta must be
    computed anew, -1 if no score is a number.
    """
    arms, d = rows.shape
    if is_lost(truth, solved, run):
        return STEEP_SUMS, -1, 0.0, 0.0, 0.0
    columns, theta, means = np.empty((d, arms)), np.empty(d), np.empty(arms)
    if not take_rows(rows, 0, most, columns):
        return BAD_ARMS, -1, 0.0, 0.0, 0.0
    parameter(solved, vectors, run, theta)
    product(columns, theta, means)
    arm = greedy = best(means)
    if greedy < 0:
        return -1, -1, 0.0, 0.0, 0.0
    if optimistic:
        board, bounds = np.empty((4, arms)), np.empty(arms)
        score(solved, vectors, run, columns, board)
        upper(board, run, choosing_radius(volume(run), numbers), bounds)
        arm = best(bounds)
        if arm < 0:
            return -1, -1, 0.0, 0.0, 0.0
        across = width(board[1, arm], board[2, arm], run[PSI])
    else:
        column = np.empty((d, 1))
        for i in range(d):
            column[i, 0] = rows[arm, i]
        across = one_width(solved, vectors, run, column, np.empty((4, 1)))
    return arm, greedy, means[arm], means[greedy], interval_radius(volume(run), numbers) * across


@compiled
def greedy_among(
    rows: Floats,
    ends: Integers,
    most: float,
    solved: Floats,
    vectors: Floats,
    run: Floats,
    arms: Integers,
    means: Floats,
    widths: Floats,
    played: Floats,
) -> int:
    """The greedy arm of each of several sets of arms, its estimate, width and features; -1 if all went well.

    `rows` are those of all sets, one after the other, and `ends` where each ends. Else the first set that is
    refused: for a row longer than the root of `most`, or because no score is a number.
    """
    d = rows.shape[1]
    theta, column, board = np.empty(d), np.empty((d, 1)), np.empty((4, 1))
    parameter(solved, vectors, run, theta)
    first = 0
    for n in range(ends.size):
        count = ends[n] - first
        columns, scores = np.empty((d, count)), np.empty(count)
        if not take_rows(rows, first, most, columns):
            return n
        product(columns, theta, scores)
        arm = best(scores)
        if arm < 0:
            return n
        for i in range(d):
            column[i, 0] = played[n, i] = columns[i, arm]
        arms[n], means[n] = arm, scores[arm]
        widths[n] = one_width(solved, vectors, run, column, board)
        first = ends[n]
    return -1


@compiled
def greedy_joined(
    own: Floats,
    contexts: Floats,
    offered: Bools,
    solved: Floats,
    vectors: Floats,
    run: Floats,
    arms: Integers,
    means: Floats,
    widths: Floats,
) -> int:
    """The greedy arm in each context, its estimate and width, where an arm is the product of both's features.

    `own` are the features of the arms, (K, p), and `offered` says which may be played, (n, K), or has no rows
    if all may. -1 if all went well, else the first context in which no score is a number.
    """
    count, p = own.shape
    c = contexts.shape[1]
    theta, column, board = np.empty(p * c), np.empty((p * c, 1)), np.empty((4, 1))
    columns, scores = np.empty((p * c, count)), np.empty(count)
    parameter(solved, vectors, run, theta)
    for n in range(contexts.shape[0]):
        for a in range(p):
            for j in range(c):
                for k in range(count):
                    columns[a * c + j, k] = own[k, a] * contexts[n, j]
        product(columns, theta, scores)
        arm = best_offered(scores, offered, n) if offered.shape[0] else best(scores)
        if arm < 0:
            return n
        for i in range(p * c):
            column[i, 0] = columns[i, arm]
        arms[n], means[n] = arm, scores[arm]
        widths[n] = one_width(solved, vectors, run, column, board)
    return -1
