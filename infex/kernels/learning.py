"""How a ridge takes in rewards; see `kernels`."""

from infex.arrays import Floats
from infex.kernels.algebra import add, dot, product, project, rank_one, row_dot, row_product
from infex.kernels.compiling import compiled, copy_into, inlined, inner, larger, lend, shared, within, woven
from infex.kernels.factoring import estimate, factor, factor_finely, invert
from infex.kernels.layout import (
    ARM,
    CLOSED,
    FINE,
    HEAVY,
    LARGE,
    LONGEST,
    MOST_PULLS,
    PHI,
    PSI,
    RUNS,
    START,
    STEEP,
    SUM,
    VOLUME,
    N,
    Q,
)
from infex.kernels.pairs import exact_product
from infex.kernels.reading import volume


@within
def square_widths(solved: Floats, columns: Floats, board: Floats) -> None:
    """Squared widths |M x|^2 of every arm, from the definition."""
    solved, columns, board = lend(solved), lend(columns), lend(board)
    d, squares, row = columns.shape[0], board[1], board[2]
    squares[:] = 0.0
    for i in range(d):
        row_product(columns, solved, i, i + 1, row)
        for k in range(row.size):
            squares[k] += row[k] * row[k]
    for k in range(row.size):
        row[k] = 0.0
        board[3, k] = squares[k] / LONGEST


@within
def direct(solved: Floats, columns: Floats, board: Floats) -> None:
    """Scores x'theta and squared widths |M x|^2 of every arm, from the definition."""
    solved, columns, board = lend(solved), lend(columns), lend(board)
    d = columns.shape[0]
    row_product(columns, solved, d, d, board[0])
    square_widths(solved, columns, board)


@compiled
def score(solved: Floats, vectors: Floats, run: Floats, columns: Floats, board: Floats) -> None:
    """The board of arms that are not kept up, to be read with the run under way, which stays as it is."""
    direct(solved, columns, board)
    if run[N] > 0.0:
        product(columns, vectors[2], board[2])


@woven
def put_pulls(truth: Floats, penalty: float, x: Floats, n: float, total: float) -> None:
    """The truth after n pulls of x with reward sum `total`.

    A million plain additions would leave an error of 1e-10 in V relative to its largest entry,
    which near-collinear arms blow up to 1e-5 in theta. A small penalty, or a weight that is large
    against it, asks for more: for what rounding takes from the products, too.
    """
    d = x.size
    if penalty < FINE or abs(n) * dot(x, x, d) > HEAVY * penalty:
        for i in range(d):
            add_product(truth, d, i, total, x[i])
            scaled, lost = exact_product(n, x[i])
            for j in range(i + 1):
                add_product(truth, i, j, scaled, x[j])
                truth[1, i, j] += lost * x[j]
        return
    for i in range(d):
        truth[0, d, i], truth[1, d, i] = add(truth[0, d, i], truth[1, d, i], total * x[i])
        for j in range(i + 1):
            truth[0, i, j], truth[1, i, j] = add(truth[0, i, j], truth[1, i, j], n * x[i] * x[j])


@shared
def add_pulls(truth: Floats, penalty: float, x: Floats, n: float, total: float) -> None:
    """The same, where it stands once."""
    put_pulls(lend(truth), penalty, lend(x), n, total)


@woven
def add_product(truth: Floats, i: int, j: int, a: float, b: float) -> None:
    """Adds a b to one number of the truth, and what rounding takes from it to the carry."""
    value, lost = exact_product(a, b)
    truth[0, i, j], truth[1, i, j] = add(truth[0, i, j], truth[1, i, j] + lost, value)


@compiled
def add_truth(truth: Floats, more: Floats) -> None:
    """Adds what another ridge has learnt."""
    rows, d = truth.shape[1], truth.shape[2]
    for i in range(rows):
        for j in range(d):
            carry = truth[1, i, j] + more[1, i, j]
            truth[0, i, j], truth[1, i, j] = add(truth[0, i, j], carry, more[0, i, j])


@woven
def trace(truth: Floats) -> float:
    """That of sum x x'."""
    total = 0.0
    for i in range(truth.shape[2]):
        total += truth[0, i, i]
    return total


@shared
def settle(truth: Floats, penalty: float, solved: Floats) -> float:
    """The volume, and in `solved` M and theta, from the truth alone."""
    truth, solved = lend(truth), lend(solved)
    if penalty < FINE or trace(truth) > STEEP * penalty:
        volume = factor_finely(truth, penalty, solved)
        invert(solved)
    else:
        volume = factor(truth, penalty, solved)
        invert(solved)
        estimate(truth, solved)
    return max(volume, 0.0)  # rounding may not go below it


@compiled
def is_steep(truth: Floats, solved: Floats) -> bool:
    """Is V so much larger in some directions than in others that updates lose theta in the latter?"""
    largest = 0.0
    for i in range(solved.shape[1]):
        largest = larger(largest, solved[i, i])
    return trace(truth) * largest * largest > STEEP


@shared
def refresh(
    truth: Floats, penalty: float, solved: Floats, columns: Floats, board: Floats, run: Floats
) -> None:
    """Computes all that is derived anew from the truth; no run is under way.

    Cholesky V = L L', then M = L^-1 in its place, and theta = M'(M b).
    """
    truth, solved, columns = lend(truth), lend(solved), lend(columns)
    board, run = lend(board), lend(run)
    volume = settle(truth, penalty, solved)
    direct(solved, columns, board)
    run[:] = 0.0
    run[ARM] = -1.0
    run[VOLUME] = volume


@woven
def close(
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
    put_pulls(truth, penalty, vectors[0], n, run[SUM])
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


@shared
def close_run(
    truth: Floats,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
) -> None:
    """The same, where it stands once."""
    truth, solved, columns = lend(truth), lend(solved), lend(columns)
    close(truth, penalty, solved, columns, lend(board), lend(vectors), lend(run))


@woven
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


@woven
def is_long(n: float, q: float) -> bool:
    """Must the run be closed? For the growth it brought, or because its plain sum is long."""
    return 1.0 + n * q > LONGEST or n >= MOST_PULLS


@woven
def pull(run: Floats, reward: float) -> bool:
    """One more reward for the run; True once it must be closed."""
    run[N] += 1.0
    run[SUM] += reward
    run[PHI], run[PSI] = shift(run[N], run[SUM], run[START], run[Q])
    return is_long(run[N], run[Q])


@within
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
    truth, solved, columns = lend(truth), lend(solved), lend(columns)
    board, vectors, run = lend(board), lend(vectors), lend(run)
    if arm != run[ARM]:
        close(truth, penalty, solved, columns, board, vectors, run)
        open_run(solved, columns, board, vectors, run, arm)
    if pull(run, reward):
        close_run(truth, penalty, solved, columns, board, vectors, run)


@compiled
def pull_counted(run: Floats, counts: Floats, arm: int, reward: float) -> bool:
    """One more reward of the arm whose run is under way; True once the run must be closed."""
    counts[0, arm] += 1.0
    counts[1, arm] += reward
    return pull(run, reward)


@woven
def is_apart(n: float, total: float, reward: float) -> bool:
    """Is a reward, or a run of n with sum `total`, LARGE, and the other LARGE times smaller?"""
    alone = abs(reward) > LARGE and LARGE * abs(total) < abs(reward)
    return alone or (abs(total) > LARGE * n and LARGE * abs(reward) < abs(total))


@compiled
def learn_counted(
    truth: Floats,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
    counts: Floats,
    arm: int,
    reward: float,
) -> None:
    """The same, with one pull more of the arm in row 0 of `counts`, and its reward in row 1.

    A reward that is far larger or smaller than those of the run starts another, so that it leaves no trace
    in their sum when it is taken out again.
    """
    if arm == run[ARM] and is_apart(run[N], run[SUM], reward):
        close_run(truth, penalty, solved, columns, board, vectors, run)
    learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
    counts[0, arm] += 1.0
    counts[1, arm] += reward


@inner
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
    absorb_weighted(truth, penalty, solved, columns, board, vectors, run, x, reward, 1.0)


@shared
def absorb_weighted(
    truth: Floats,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
    x: Floats,
    reward: float,
    weight: float,
) -> None:
    """The same for a reward with a weight: so many pulls, as sqrt(weight) x would not lie quite along x."""
    close_run(truth, penalty, solved, columns, board, vectors, run)
    copy_into(vectors[0], x)
    open_run(solved, columns, board, vectors, run, -1)
    run[N], run[SUM] = weight, weight * reward
    run[PHI], run[PSI] = shift(run[N], run[SUM], run[START], run[Q])
    close_run(truth, penalty, solved, columns, board, vectors, run)
    if run[RUNS] > 0.0 and is_steep(truth, solved):
        refresh(truth, penalty, solved, columns, board, run)
