"""How a ridge takes in rewards; see `kernels`."""

import math

import numpy as np

from infex.arrays import Floats
from infex.kernels.algebra import add, product, project, rank_one, row_dot
from infex.kernels.compiling import compiled, inlined, larger
from infex.kernels.layout import (
    ARM,
    CLOSED,
    LITTLE,
    LONGEST,
    MOST_PULLS,
    PHI,
    PSI,
    RUNS,
    START,
    SUM,
    VOLUME,
    N,
    Q,
)
from infex.kernels.reading import volume


@compiled
def direct(solved: Floats, columns: Floats, board: Floats) -> None:
    """Scores x'theta and squared widths |M x|^2 of every arm, from the definition."""
    d = columns.shape[0]
    squares, row = board[1], board[2]
    product(columns, solved[d], board[0])
    squares[:] = 0.0
    for i in range(d):
        product(columns[: i + 1], solved[i], row)
        for k in range(row.size):
            squares[k] += row[k] * row[k]
    for k in range(row.size):
        row[k] = 0.0
        board[3, k] = squares[k] / LONGEST


@inlined
def add_pulls(truth: Floats, x: Floats, n: float, total: float) -> None:
    """The truth after n pulls of x with reward sum `total`.

    A million plain additions would leave an error of 1e-10 in V relative to its largest entry,
    which near-collinear arms blow up to 1e-5 in theta.
    """
    d = x.size
    for i in range(d):
        truth[0, d, i], truth[1, d, i] = add(truth[0, d, i], truth[1, d, i], total * x[i])
        for j in range(i + 1):
            truth[0, i, j], truth[1, i, j] = add(truth[0, i, j], truth[1, i, j], n * x[i] * x[j])


@compiled
def add_truth(truth: Floats, more: Floats) -> None:
    """Adds what another ridge has learnt."""
    rows, d = truth.shape[1], truth.shape[2]
    for i in range(rows):
        for j in range(d):
            carry = truth[1, i, j] + more[1, i, j]
            truth[0, i, j], truth[1, i, j] = add(truth[0, i, j], carry, more[0, i, j])


@compiled
def refresh(
    truth: Floats, penalty: float, solved: Floats, columns: Floats, board: Floats, run: Floats
) -> None:
    """Computes all that is derived anew from the truth; no run is under way.

    Cholesky V = L L', then M = L^-1 row by row in its place, and theta = M'(M b).
    """
    d = columns.shape[0]
    volume = 0.0
    for i in range(d):
        for j in range(i + 1):
            value = truth[0, i, j] + truth[1, i, j] - row_dot(solved, i, solved[j], j)
            solved[i, j] = math.sqrt(value + penalty) if i == j else value / solved[j, j]
        if abs(value) < LITTLE * penalty:  # rounding makes no volume of nothing
            volume += math.log1p(value / penalty)
        else:
            volume += math.log(solved[i, i] * solved[i, i] / penalty)
    theta, row, moment = solved[d], np.empty(d), truth[0, d] + truth[1, d]
    theta[:] = 0.0
    for i in range(d):
        row[:] = 0.0
        for k in range(i):
            for j in range(k + 1):
                row[j] -= solved[i, k] * solved[k, j]
        pivot = 1.0 / solved[i, i]
        row[i] = 1.0
        for j in range(i + 1):
            solved[i, j] = pivot * row[j]
        value = row_dot(solved, i, moment, i + 1)
        for j in range(i + 1):
            theta[j] += value * solved[i, j]
    direct(solved, columns, board)
    run[:] = 0.0
    run[ARM] = -1.0
    run[VOLUME] = max(volume, 0.0)  # rounding may not go below it


@compiled
def close_run(
    truth: Floats,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
) -> None:
    """The state after the run under way, if there is one, in place: the truth, then all derived."""
    n, phi, psi = run[N], run[PHI], run[PSI]
    if n == 0.0:
        return
    add_pulls(truth, vectors[0], n, run[SUM])
    run[VOLUME] = volume(run)
    run[RUNS] += 1.0
    d = columns.shape[0]
    fallen = 0.0
    if board.shape[1] > 0:  # a row costs a count of references, also if it is empty
        scores, squares, along, floors = board[0], board[1], board[2], board[3]
        for k in range(scores.size):
            scores[k] += phi * along[k]
            square = larger(squares[k] - psi * along[k] * along[k], 0.0)
            squares[k] = square
            fallen = larger(fallen, floors[k] - square)
    if run[RUNS] > CLOSED * d:
        refresh(truth, penalty, solved, columns, board, run)
        return
    for i in range(d):
        solved[d, i] += phi * vectors[2, i]
    rank_one(solved, vectors, n)
    run[ARM] = -1.0
    run[N] = run[SUM] = run[Q] = run[START] = run[PHI] = run[PSI] = 0.0
    if fallen > 0.0:
        direct(solved, columns, board)


@inlined
def open_run(solved: Floats, columns: Floats, board: Floats, vectors: Floats, run: Floats, arm: int) -> None:
    """Starts a run of column `arm`, or of the x that stands in `vectors` if `arm` is -1."""
    x = vectors[0]
    if arm >= 0:
        for i in range(x.size):
            x[i] = columns[i, arm]
    run[ARM] = arm
    run[Q] = project(solved, vectors)
    run[START] = row_dot(solved, x.size, x, x.size)
    if board.shape[1] > 0:
        product(columns, vectors[2], board[2])


@inlined
def shift(n: float, total: float, start: float, q: float) -> tuple[float, float]:
    """phi and psi of a run of n pulls with reward sum `total`."""
    grown = 1.0 + n * q
    return (total - n * start) / grown, n / grown


@inlined
def is_long(n: float, q: float) -> bool:
    """Must the run be closed? For the growth it brought, or because its plain sum is long."""
    return 1.0 + n * q > LONGEST or n >= MOST_PULLS


@inlined
def pull(run: Floats, reward: float) -> bool:
    """One more reward for the run; True once it must be closed."""
    run[N] += 1.0
    run[SUM] += reward
    run[PHI], run[PSI] = shift(run[N], run[SUM], run[START], run[Q])
    return is_long(run[N], run[Q])


@inlined
def learn(
    truth: Floats,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
    arm: int,
    reward: float,
) -> None:
    """Takes in one reward of column `arm`; O(1) while the same arm goes on."""
    if arm != run[ARM]:
        close_run(truth, penalty, solved, columns, board, vectors, run)
        open_run(solved, columns, board, vectors, run, arm)
    if pull(run, reward):
        close_run(truth, penalty, solved, columns, board, vectors, run)


@compiled
def absorb(
    truth: Floats,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
    x: Floats,
    reward: float,
) -> None:
    """Takes in one reward of any x, an arm on the board or not."""
    close_run(truth, penalty, solved, columns, board, vectors, run)
    vectors[0] = x
    open_run(solved, columns, board, vectors, run, -1)
    pull(run, reward)
    close_run(truth, penalty, solved, columns, board, vectors, run)
