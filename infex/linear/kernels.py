"""The formulas of ridge regression, each written once, compiled.

Kernels that call each other stay in this file: Numba's cache does not notice an edit elsewhere.

The state of a ridge with V = penalty I + sum x x' and b = sum y x is six arrays:

    truth     (2, d + 1, d)  rows 0 to d-1: sum x x' (its lower triangle), row d: b; each number
                             as a sum and a carry, what rounding took from it
    solved    (d + 1, d)     rows 0 to d-1: M, row d: theta = V^-1 b; M is the inverse of the lower
                             Cholesky factor of V, so M'M = V^-1, and it is unique
    columns   (d, K)         the arms as columns, so that loops over arms run along memory
    board     (4, K)         scores s_k = x_k'theta, squared widths w_k = |M x_k|^2, g_k, and the
                             floor below which w_k may not fall before all is computed anew
    vectors   (4, d)         x, p and u of the run under way, and room for work
    run       (RUN,)         its scalars

A *run* is one x played n times in a row with reward sum S. With p = M x, u = M'p, q = p'p and
g_k = x_k'u, all taken at its start, phi = (S - n x'theta)/(1 + n q) and psi = n/(1 + n q) give
the state after it exactly: theta + phi u, s_k + phi g_k, w_k - psi g_k^2, and the volume
log(det V/det V_0) has grown by log1p(n q). So a pull of the same arm costs O(1), and another arm
closes the run in O(d^2 + d K).

What is derived is computed anew from the truth before rounding can tell: after CLOSED d runs, or
once some squared width has fallen to e^-FALL of what it was when last computed, as that is how
much subtraction can cost it. A run is closed when it brings such a fall by itself, or after
MOST_PULLS pulls, as its reward sum S has no carry.
"""

import math

import numpy as np
from numpy.typing import NDArray

from infex.linear.compiling import compiled, inlined, larger

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TIE = 1e-12
SCREEN = 1e-9
FALL = 8.0
CLOSED = 64
LONGEST = math.exp(FALL)
MOST_PULLS = 4096.0

# The scalars of a run: its arm (-1 is none), n, S, q, x'theta at its start, phi, psi; and of the
# whole: the volume at the run's start, and runs closed since all was computed anew.
ARM, N, SUM, Q, START, PHI, PSI, VOLUME, RUNS, RUN = range(10)


@inlined
def radius(volume: float, penalty: float, noise: float, bound: float, delta: float) -> float:
    """beta = sigma sqrt(alpha + 2 log(1/delta)) + sqrt(lambda) S (Abbasi-Yadkori et al., 2011)."""
    return noise * math.sqrt(volume - 2.0 * math.log(delta)) + math.sqrt(penalty) * bound


@inlined
def tie_limit(scores: Floats) -> float:
    """The score from which on an arm counts as tied with the best: max - 1e-12 (1 + |max|)."""
    top = float(scores[0])
    for k in range(1, scores.size):
        top = larger(top, scores[k])
    return top if math.isinf(top) else top - TIE * (1.0 + abs(top))


@inlined
def best(scores: Floats) -> int:
    """The lowest index among the arms tied for the largest score; -1 if no score is a number."""
    limit = tie_limit(scores)
    for k in range(scores.size):
        if scores[k] >= limit:
            return k
    return -1


@compiled
def estimates(board: Floats, run: Floats, out: Floats) -> int:
    """The greedy arm, and in `out` every arm's estimate s + phi g."""
    scores, along, phi = board[0], board[2], run[PHI]
    for k in range(out.size):
        out[k] = scores[k] + phi * along[k]
    return best(out)


@inlined
def width(square: float, along: float, psi: float) -> float:
    """The width |x| in V^-1: sqrt(w - psi g^2), where rounding may not go below 0."""
    return math.sqrt(larger(square - psi * along * along, 0.0))


@compiled
def arm_width(board: Floats, run: Floats, arm: int) -> float:
    """One arm's width."""
    return width(board[1, arm], board[2, arm], run[PSI])


@compiled
def widths(board: Floats, run: Floats, out: Floats) -> None:
    """Every arm's width."""
    squares, along, psi = board[1], board[2], run[PSI]
    for k in range(out.size):
        out[k] = width(squares[k], along[k], psi)


@inlined
def upper(board: Floats, run: Floats, beta: float, out: Floats) -> None:
    """Every arm's optimistic score x'theta + beta |x| in V^-1 (LinUCB)."""
    scores, squares, along, phi, psi = board[0], board[1], board[2], run[PHI], run[PSI]
    for k in range(out.size):
        out[k] = scores[k] + phi * along[k] + beta * width(squares[k], along[k], psi)


@compiled
def best_upper(board: Floats, run: Floats, beta: float, guess: int, work: Floats, places: Integers) -> int:
    """The arm that `best` finds among the scores of `upper`, with few square roots.

    Arm k can reach a limit only if beta^2 w_k >= max(limit - s_k, 0)^2. The limit is the score of
    a guess, lowered so far that rounding cannot lose an arm; exact scores of what is left decide.
    """
    scores, squares, along, phi, psi = board[0], board[1], board[2], run[PHI], run[PSI]
    count, found = scores.size, 0
    top = scores[guess] + phi * along[guess] + beta * width(squares[guess], along[guess], psi)
    limit = top - SCREEN * (1.0 + abs(top))
    for k in range(count):
        gap = larger(limit - (scores[k] + phi * along[k]), 0.0)
        reach = larger(squares[k] - psi * along[k] * along[k], 0.0)
        work[k] = beta * beta * reach - gap * gap
    for k in range(count):
        if work[k] >= 0.0:
            score = scores[k] + phi * along[k] + beta * width(squares[k], along[k], psi)
            work[found] = score
            places[found] = k
            found += 1
            top = larger(top, score)
    bar = top - TIE * (1.0 + abs(top))
    for i in range(found):
        if work[i] >= bar:
            return int(places[i])
    return -1


@inlined
def volume(run: Floats) -> float:
    """alpha = log(det V/det V_0)."""
    return float(run[VOLUME] + math.log1p(run[N] * run[Q]))


@inlined
def product(columns: Floats, vector: Floats, out: Floats) -> None:
    """out_k = x_k'vector for every arm that `out` has room for, eight rows at a time."""
    d, arms = columns.shape[0], out.size
    for k in range(arms):
        out[k] = 0.0
    i = 0
    while i + 8 <= d:
        v0, v1, v2, v3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        v4, v5, v6, v7 = vector[i + 4], vector[i + 5], vector[i + 6], vector[i + 7]
        for k in range(arms):
            out[k] += (
                v0 * columns[i, k]
                + v1 * columns[i + 1, k]
                + v2 * columns[i + 2, k]
                + v3 * columns[i + 3, k]
                + v4 * columns[i + 4, k]
                + v5 * columns[i + 5, k]
                + v6 * columns[i + 6, k]
                + v7 * columns[i + 7, k]
            )
        i += 8
    while i < d:
        v0 = vector[i]
        for k in range(arms):
            out[k] += v0 * columns[i, k]
        i += 1


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
def dot(a: Floats, b: Floats, n: int) -> float:
    """The sum of a_i b_i for i < n, in four strands: what a plain loop cannot vectorise."""
    s0 = s1 = s2 = s3 = 0.0
    i = 0
    while i + 4 <= n:
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
        i += 4
    while i < n:
        s0 += a[i] * b[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


@inlined
def row_dot(rows: Floats, i: int, b: Floats, n: int) -> float:
    """The same with a row of a matrix, which as a view of its own would cost more than the sum."""
    s0 = s1 = s2 = s3 = 0.0
    j = 0
    while j + 4 <= n:
        s0 += rows[i, j] * b[j]
        s1 += rows[i, j + 1] * b[j + 1]
        s2 += rows[i, j + 2] * b[j + 2]
        s3 += rows[i, j + 3] * b[j + 3]
        j += 4
    while j < n:
        s0 += rows[i, j] * b[j]
        j += 1
    return (s0 + s1) + (s2 + s3)


@inlined
def project(solved: Floats, vectors: Floats) -> float:
    """q = |x|^2 in V^-1, and in place p = M x and u = V^-1 x = M'p."""
    x, p, u = vectors[0], vectors[1], vectors[2]
    d = x.size
    for j in range(d):
        u[j] = 0.0
    for i in range(d):
        part = row_dot(solved, i, x, i + 1)
        p[i] = part
        for j in range(i + 1):
            u[j] += part * solved[i, j]
    return dot(p, p, d)


@inlined
def rank_one(solved: Floats, vectors: Floats, n: float) -> None:
    """M becomes the factor of V + n x x', in place, where p = M x.

    With c_i = 1 + n (p_1^2 + ... + p_i^2), the i-th row m_i turns into
    sqrt(c_{i-1}/c_i) (m_i - n p_i/c_{i-1} (p_1 m_1 + ... + p_{i-1} m_{i-1})).
    """
    p, before = vectors[1], vectors[3]
    d = p.size
    for j in range(d):
        before[j] = 0.0
    c = 1.0
    for i in range(d):
        here = p[i]
        grown = c + n * here * here
        shrink = math.sqrt(c / grown)
        part = n * here / c
        for j in range(i + 1):
            old = solved[i, j]
            solved[i, j] = shrink * (old - part * before[j])
            before[j] += here * old
        c = grown


@inlined
def add(total: float, carry: float, value: float) -> tuple[float, float]:
    """total + value, and the carry with what rounding took from that sum (Knuth's two-sum)."""
    grown = total + value
    part = grown - total
    return grown, carry + ((total - (grown - part)) + (value - part))


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
    scores, squares, along, floors = board[0], board[1], board[2], board[3]
    fallen = 0.0
    for k in range(scores.size):
        scores[k] += phi * along[k]
        square = larger(squares[k] - psi * along[k] * along[k], 0.0)
        squares[k] = square
        fallen = larger(fallen, floors[k] - square)
    if fallen > 0.0 or run[RUNS] > CLOSED * d:
        refresh(truth, penalty, solved, columns, board, run)
        return
    theta, u = solved[d], vectors[2]
    for i in range(d):
        theta[i] += phi * u[i]
    rank_one(solved, vectors, n)
    run[ARM] = -1.0
    run[N] = run[SUM] = run[Q] = run[START] = run[PHI] = run[PSI] = 0.0


@inlined
def open_run(solved: Floats, columns: Floats, board: Floats, vectors: Floats, run: Floats, arm: int) -> None:
    """Starts a run of column `arm`, or of the x that stands in `vectors` if `arm` is -1."""
    x = vectors[0]
    if arm >= 0:
        for i in range(x.size):
            x[i] = columns[i, arm]
    run[ARM] = arm
    run[Q] = project(solved, vectors)
    run[START] = dot(x, solved[x.size], x.size)
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


@compiled
def to_sphere(direction: Floats) -> None:
    """Brings a Gaussian direction to the length sqrt(d), in place: uniform on that sphere."""
    factor = math.sqrt(direction.size / dot(direction, direction, direction.size))
    for i in range(direction.size):
        direction[i] *= factor


@inlined
def perturb(
    solved: Floats, vectors: Floats, run: Floats, scale: float, direction: Floats, out: Floats
) -> None:
    """theta + scale M'direction, for theta and M after the run, which stay as they are.

    M after n pulls is R^-1 M with R R' = I + n p p', so only the direction changes: R^-T
    direction, by one sweep from the last entry up.
    """
    p, u, sums, n, phi = vectors[1], vectors[2], vectors[3], run[N], run[PHI]
    d = p.size
    total = 1.0
    for i in range(d):
        out[i] = solved[d, i] + phi * u[i]
        total += n * p[i] * p[i]
        sums[i] = total
    later = 0.0
    for i in range(d - 1, -1, -1):
        before = sums[i - 1] if i > 0 else 1.0
        root = math.sqrt(before * sums[i])
        part = scale * (before / root * direction[i] - n * p[i] * later)
        later += p[i] * direction[i] / root
        for j in range(i + 1):
            out[j] += part * solved[i, j]
