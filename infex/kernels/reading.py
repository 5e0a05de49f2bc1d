"""What is read from a ridge: scores, widths, ties, samples; see `kernels`."""

import math

from infex.arrays import Floats, Integers
from infex.kernels.algebra import row_dot
from infex.kernels.compiling import compiled, inlined, larger, lend, shared, woven
from infex.kernels.layout import ARM, HUGE, PHI, PSI, SCREEN, TIE, VOLUME, N, Q


@inlined
def radius(volume: float, penalty: float, noise: float, bound: float, delta: float) -> float:
    """beta = sigma sqrt(alpha + 2 log(1/delta)) + sqrt(lambda) S (Abbasi-Yadkori et al., 2011)."""
    return noise * math.sqrt(volume - 2.0 * math.log(delta)) + math.sqrt(penalty) * bound


@woven
def tie_bar(top: float) -> float:
    """The score from which on an arm counts as tied with the best, which has `top`: the one tie rule."""
    return top if math.isinf(top) else top - TIE * (1.0 + abs(top))


@inlined
def tie_limit(scores: Floats) -> float:
    """That of these scores: max - 1e-12 (1 + |max|)."""
    top = float(scores[0])
    for k in range(1, scores.size):
        top = larger(top, scores[k])
    return tie_bar(top)


@inlined
def best(scores: Floats) -> int:
    """The lowest index among the arms tied for the largest score; -1 if no score is a number."""
    limit = tie_limit(scores)
    k = 0
    while k + 8 <= scores.size and not largest_of_eight(scores, k) >= limit:
        k += 8
    while k < scores.size:
        if scores[k] >= limit:
            return k
        k += 1
    return -1


@woven
def largest_of_eight(values: Floats, k: int) -> float:
    """The largest of eight numbers from place k on."""
    left = larger(larger(values[k], values[k + 1]), larger(values[k + 2], values[k + 3]))
    right = larger(larger(values[k + 4], values[k + 5]), larger(values[k + 6], values[k + 7]))
    return larger(left, right)  # type: ignore[no-any-return]


@compiled
def tied_count(scores: Floats) -> int:
    """How many arms are tied for the largest score."""
    limit = tie_limit(scores)
    count = 0
    for k in range(scores.size):
        count += 1 if scores[k] >= limit else 0
    return count


@compiled
def tied_arm(scores: Floats, place: int) -> int:
    """The arm at a place, from 0, among those tied for the largest score; -1 if there is none."""
    limit = tie_limit(scores)
    for k in range(scores.size):
        if scores[k] >= limit:
            if place == 0:
                return k
            place -= 1
    return -1


@shared
def estimates(board: Floats, run: Floats, out: Floats) -> int:
    """The greedy arm, and in `out` every arm's estimate s + phi g."""
    board, run, out = lend(board), lend(run), lend(out)
    scores, along, phi = board[0], board[2], run[PHI]
    for k in range(out.size):
        out[k] = scores[k] + phi * along[k]
    return best(out)


@compiled
def look(board: Floats, run: Floats, out: Floats) -> tuple[int, float, float]:
    """The greedy arm, the volume and the greedy arm's width, and in `out` every arm's estimate."""
    arm = estimates(board, run, out)
    return arm, volume(run), arm_width(board, run, max(arm, 0))


@woven
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


@shared
def upper(board: Floats, run: Floats, beta: float, out: Floats) -> None:
    """Every arm's optimistic score x'theta + beta |x| in V^-1 (LinUCB)."""
    board, run, out = lend(board), lend(run), lend(out)
    scores, squares, along, phi, psi = board[0], board[1], board[2], run[PHI], run[PSI]
    for k in range(out.size):
        out[k] = scores[k] + phi * along[k] + beta * width(squares[k], along[k], psi)


@shared
def best_upper(board: Floats, run: Floats, beta: float, guess: int, work: Floats, places: Integers) -> int:
    """The arm that `best` finds among the scores of `upper`, with few square roots.

    Arm k can reach a limit only if beta^2 w_k >= max(limit - s_k, 0)^2. The limit is the score of
    a guess, lowered so far that rounding cannot lose an arm; exact scores of what is left decide.
    `work` and `places` have room for K numbers.
    """
    board, run, work, places = lend(board), lend(run), lend(work), lend(places)
    if beta > HUGE:  # whose square would overflow
        upper(board, run, beta, work)
        return best(work)
    scores, squares, along, phi, psi = board[0], board[1], board[2], run[PHI], run[PSI]
    count = scores.size
    top = scores[guess] + phi * along[guess] + beta * width(squares[guess], along[guess], psi)
    limit = top - SCREEN * (1.0 + abs(top))
    for k in range(count):
        gap = larger(limit - (scores[k] + phi * along[k]), 0.0)
        reach = larger(squares[k] - psi * along[k] * along[k], 0.0)
        work[k] = beta * beta * reach - gap * gap
    k, found = 0, 0
    while k < count:
        last = min(k + 8, count)
        if k + 8 <= count and largest_of_eight(work, k) < 0.0:  # as nearly all are out of reach
            k = last
        while k < last:
            if work[k] >= 0.0:
                score = scores[k] + phi * along[k] + beta * width(squares[k], along[k], psi)
                work[found] = score
                places[found] = k
                found += 1
                top = larger(top, score)
            k += 1
    bar = tie_bar(top)
    for i in range(found):
        if work[i] >= bar:
            return int(places[i])
    return -1


@woven
def parameter(solved: Floats, vectors: Floats, run: Floats, out: Floats) -> None:
    """theta after the run under way."""
    d, phi = out.size, run[PHI]
    for i in range(d):
        out[i] = solved[d, i] + phi * vectors[2, i]


@compiled
def solve(solved: Floats, vectors: Floats, run: Floats, x: Floats, out: Floats) -> float:
    """The width |x| in V^-1 of any x, and in `out` V^-1 x = M'M x - psi u u'x."""
    d, psi = out.size, run[PSI]
    square, along = 0.0, 0.0
    for j in range(d):
        out[j] = 0.0
        along += vectors[2, j] * x[j]
    for i in range(d):
        part = row_dot(solved, i, x, i + 1)
        square += part * part
        for j in range(i + 1):
            out[j] += part * solved[i, j]
    if psi == 0.0:
        return math.sqrt(square)
    for j in range(d):
        out[j] -= psi * along * vectors[2, j]
    return width(square, along, psi)


@compiled
def optimistic(solved: Floats, vectors: Floats, run: Floats, x: Floats, beta: float, out: Floats) -> None:
    """theta + beta V^-1 x/|x| in V^-1: where within so many widths the mean of x is largest."""
    length, d = solve(solved, vectors, run, x, out), x.size
    share = beta / length if length > 0.0 else 0.0
    for i in range(d):
        out[i] = solved[d, i] + run[PHI] * vectors[2, i] + (share * out[i] if length > 0.0 else 0.0)


@compiled
def to_chances(odds: Floats) -> None:
    """1/(1 + exp(-z)) of every z, in its place."""
    for k in range(odds.size):
        small = math.exp(-abs(odds[k]))
        odds[k] = 1.0 / (1.0 + small) if odds[k] >= 0.0 else small / (1.0 + small)


@woven
def greedy_scan(board: Floats, run: Floats) -> int:
    """The arm that `best` finds among all estimates, which are not kept; -1 if none is a number."""
    scores, along, phi = board[0], board[2], run[PHI]
    top = scores[0] + phi * along[0]
    for k in range(1, scores.size):
        top = larger(top, scores[k] + phi * along[k])
    limit = tie_bar(top)
    for k in range(scores.size):
        if scores[k] + phi * along[k] >= limit:
            return k
    return -1


@woven
def interval_radius(log_det_ratio: float, numbers: Floats) -> float:
    """beta + bonus, the radius of intervals: `scale` is for choosing alone.

    `numbers` are noise, bound, delta, scale, bonus and the penalty.
    """
    beta = radius(log_det_ratio, numbers[5], numbers[0], numbers[1], numbers[2])
    return float(beta + numbers[4])


@woven
def choosing_radius(log_det_ratio: float, numbers: Floats) -> float:
    """scale beta + bonus, the radius of the bounds that an optimistic base compares."""
    beta = radius(log_det_ratio, numbers[5], numbers[0], numbers[1], numbers[2])
    return float(numbers[3] * beta + numbers[4])


@compiled
def greedy_glance(board: Floats, run: Floats, numbers: Floats) -> tuple[int, int, float, float, float]:
    """One greedy decision, as `glance` gives it; it needs no room, and so fewer arrays handed over."""
    arm = greedy_scan(board, run)
    if arm < 0:
        return -1, -1, 0.0, 0.0, 0.0
    score = board[0, arm] + run[PHI] * board[2, arm]
    margin = interval_radius(volume(run), numbers) * width(board[1, arm], board[2, arm], run[PSI])
    return arm, arm, score, score, margin


@compiled
def glance(
    board: Floats, run: Floats, numbers: Floats, work: Floats, places: Integers
) -> tuple[int, int, float, float, float]:
    """One optimistic decision: the arm, the greedy arm, both estimates, half of the arm's interval.

    `numbers` are those of `interval_radius`; the other two have room for K.
    """
    greedy = greedy_scan(board, run)
    beta = choosing_radius(volume(run), numbers)
    arm = best_upper(board, run, beta, max(int(run[ARM]), 0), work, places)
    if arm < 0 or greedy < 0:
        return -1, greedy, 0.0, 0.0, 0.0
    estimate = board[0, arm] + run[PHI] * board[2, arm]
    best_estimate = board[0, greedy] + run[PHI] * board[2, greedy]
    margin = interval_radius(volume(run), numbers) * width(board[1, arm], board[2, arm], run[PSI])
    return arm, greedy, estimate, best_estimate, margin


@inlined
def volume(run: Floats) -> float:
    """alpha = log(det V/det V_0)."""
    return float(run[VOLUME] + math.log1p(run[N] * run[Q]))


@inlined
def perturb(
    solved: Floats, vectors: Floats, run: Floats, scale: float, direction: Floats, out: Floats, sums: Floats
) -> None:
    """theta + scale M'direction, for theta and M after the run, which stay as they are.

    M after n pulls is R^-1 M with R R' = I + n p p', so only the direction changes: R^-T
    direction, by one sweep from the last entry up. `sums` has room for d numbers.
    """
    p, u, n, phi = vectors[1], vectors[2], run[N], run[PHI]
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
