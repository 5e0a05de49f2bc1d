"""Arms that are given with a question: checked, turned into columns and scored in one pass; see `kernels`."""

import math

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.kernels.algebra import product
from infex.kernels.compiling import compiled, larger, woven
from infex.kernels.layout import PSI, RUNS, N
from infex.kernels.learning import is_steep, score
from infex.kernels.offered_arms import best_offered
from infex.kernels.reading import (
    best,
    choosing_radius,
    interval_radius,
    parameter,
    tie_bar,
    upper,
    volume,
    width,
)

TILE = 64  # contexts that are turned at a time
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


@woven
def turn_contexts(contexts: Floats, order: Integers, first: int, tile: Floats) -> None:
    """Puts contexts into the columns of `tile`, as many as it has: those at `order[first]` and so on."""
    for n in range(tile.shape[1]):
        place = order[first + n]
        for j in range(tile.shape[0]):
            tile[j, n] = contexts[place, j]


@woven
def lowest_tied(scores: Floats, tops: Floats, arms: Floats) -> None:
    """The arm that `best` finds in each column of `scores`, (K, n); -1 if no score there is a number."""
    for n in range(tops.size):
        tops[n] = scores[0, n]
    for k in range(1, scores.shape[0]):
        for n in range(tops.size):
            tops[n] = larger(tops[n], scores[k, n])
    for n in range(tops.size):
        tops[n] = tie_bar(tops[n])
        arms[n] = -1.0
    for k in range(scores.shape[0] - 1, -1, -1):
        for n in range(tops.size):
            arms[n] = float(k) if scores[k, n] >= tops[n] else arms[n]


@woven
def hide(scores: Floats, offered: Bools, order: Integers, first: int) -> None:
    """Scores in columns, (K, n), without those of arms that are not on offer."""
    for n in range(scores.shape[1]):
        for k in range(scores.shape[0]):
            if not offered[order[first + n], k]:
                scores[k, n] = -math.inf


@compiled
def best_in_blocks(
    solved: Floats, contexts: Floats, order: Integers, offered: Bools, arms: Integers, means: Floats
) -> bool:
    """The greedy one of small ridges in each context, and its estimate; False if some score is no number.

    `offered` says which may be played, (n, K), or has no rows if all may. Contexts are turned, some at a
    time, so that loops over them run along memory; sums are taken in the order of `product`, as for one.
    """
    count, d, size = solved.shape[0], solved.shape[2], contexts.shape[0]
    first = 0
    while first < size:
        m = min(TILE, size - first)
        tile, scores, tops, found = np.empty((d, m)), np.empty((count, m)), np.empty(m), np.empty(m)
        turn_contexts(contexts, order, first, tile)
        for k in range(count):
            product(tile, solved[k, d], scores[k])
        if offered.shape[0]:
            hide(scores, offered, order, first)
        lowest_tied(scores, tops, found)
        for n in range(m):
            arm = int(found[n])
            if arm < 0 or scores[arm, n] == -math.inf:
                return False
            arms[first + n], means[first + n] = arm, scores[arm, n]
        first += m
    return True


@compiled
def widths_in_blocks(
    solved: Floats, contexts: Floats, order: Integers, arms: Integers, widths: Floats
) -> None:
    """The width of the ridge `arms[n]` in each context n; `order` names contexts of the same arm in a row."""
    d, size = solved.shape[2], contexts.shape[0]
    first = 0
    while first < size:
        arm, last = arms[order[first]], first + 1
        while last < size and last - first < TILE and arms[order[last]] == arm:
            last += 1
        tile, squares, parts = np.empty((d, last - first)), np.zeros(last - first), np.empty(last - first)
        turn_contexts(contexts, order, first, tile)
        for i in range(d):
            product(tile[: i + 1], solved[arm, i], parts)
            for n in range(parts.size):
                squares[n] += parts[n] * parts[n]
        for n in range(parts.size):
            widths[order[first + n]] = math.sqrt(squares[n])
        first = last
