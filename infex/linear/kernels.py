"""The formulas of ridge regression, each written once, compiled.

Kernels that call each other stay in this file: Numba's cache does not notice an edit elsewhere.

State, for V = penalty I + sum x x' and b = sum y x:

    gram      sum x x', (2, d, d): the sum and what rounding took from it, as in `add`
    moment    b, (2, d), likewise
    factor    M, the inverse of the lower Cholesky factor of V: M'M = V^-1, and M is unique
    theta     V^-1 b
    columns   the arms as columns, (d, K), so that loops over arms run along memory
    scores    s_k = x_k'theta             squares   w_k = |M x_k|^2, the squared widths

A *run* is one x played n times in a row with reward sum S. With p = M x, u = M'p, q = p'p and
g_k = x_k'u, all taken at its start, phi = (S - n x'theta)/(1 + n q) and psi = n/(1 + n q) give
the state after it exactly: theta + phi u, s_k + phi g_k, w_k - psi g_k^2, and the volume
log(det V/det V_0) has grown by log1p(n q).
"""

import math

import numpy as np
from numpy.typing import NDArray

from infex.linear.compiling import compiled, larger

Floats = NDArray[np.float64]

TIE = 1e-12


@compiled
def radius(volume: float, penalty: float, noise: float, bound: float, delta: float) -> float:
    """beta = sigma sqrt(alpha + 2 log(1/delta)) + sqrt(lambda) S (Abbasi-Yadkori et al., 2011)."""
    return noise * math.sqrt(volume + 2.0 * math.log(1.0 / delta)) + math.sqrt(penalty) * bound


@compiled
def tie_limit(scores: Floats) -> float:
    """The score from which on an arm counts as tied with the best: max - 1e-12 (1 + |max|)."""
    top = float(scores[0])
    for k in range(1, scores.size):
        top = larger(top, scores[k])
    return top - TIE * (1.0 + abs(top))


@compiled
def best(scores: Floats) -> int:
    """The lowest index among the arms tied for the largest score; -1 if no score is a number."""
    limit = tie_limit(scores)
    for k in range(scores.size):
        if scores[k] >= limit:
            return k
    return -1


@compiled
def best_estimate(scores: Floats, along: Floats, phi: float, out: Floats) -> int:
    """The greedy arm, and in `out` the estimates s + phi g."""
    for k in range(scores.size):
        out[k] = scores[k] + phi * along[k]
    return best(out)


@compiled
def width(square: float, along: float, psi: float) -> float:
    """The width |x| in V^-1 after a run: sqrt(w - psi g^2), where rounding may not go below 0."""
    return math.sqrt(larger(square - psi * along * along, 0.0))


@compiled
def widths(squares: Floats, along: Floats, psi: float, out: Floats) -> None:
    """Every arm's width."""
    for k in range(squares.size):
        out[k] = width(squares[k], along[k], psi)


@compiled
def upper(
    scores: Floats, squares: Floats, along: Floats, phi: float, psi: float, beta: float, out: Floats
) -> None:
    """Every arm's optimistic score x'theta + beta |x| in V^-1 (LinUCB)."""
    for k in range(scores.size):
        out[k] = scores[k] + phi * along[k] + beta * width(squares[k], along[k], psi)


@compiled
def product(columns: Floats, vector: Floats, out: Floats) -> None:
    """out_k = x_k'vector for every arm, eight rows at a time."""
    d, arms = columns.shape
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
def direct(factor: Floats, columns: Floats, theta: Floats, scores: Floats, squares: Floats) -> None:
    """Scores x'theta and squared widths |M x|^2 of every arm, from the definition."""
    product(columns, theta, scores)
    row = np.empty(scores.size)
    squares[:] = 0.0
    for i in range(theta.size):
        product(columns[: i + 1], factor[i, : i + 1], row)
        for k in range(row.size):
            squares[k] += row[k] * row[k]


@compiled
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


@compiled
def project(factor: Floats, x: Floats, p: Floats, u: Floats) -> float:
    """q = |x|^2 in V^-1, and in place p = M x and u = V^-1 x = M'p."""
    u[:] = 0.0
    for i in range(x.size):
        p[i] = dot(factor[i], x, i + 1)
        for j in range(i + 1):
            u[j] += p[i] * factor[i, j]
    return dot(p, p, p.size)


@compiled
def rank_one(factor: Floats, p: Floats, n: float) -> None:
    """M becomes the factor of V + n x x', in place, where p = M x.

    With c_i = 1 + n (p_1^2 + ... + p_i^2), the i-th row m_i turns into
    sqrt(c_{i-1}/c_i) (m_i - n p_i/c_{i-1} (p_1 m_1 + ... + p_{i-1} m_{i-1})).
    """
    d = p.size
    before = np.zeros(d)
    c = 1.0
    for i in range(d):
        grown = c + n * p[i] * p[i]
        shrink = math.sqrt(c / grown)
        part = n * p[i] / c
        for j in range(i + 1):
            old = factor[i, j]
            factor[i, j] = shrink * (old - part * before[j])
            before[j] += p[i] * old
        c = grown


@compiled
def open_run(
    factor: Floats,
    theta: Floats,
    columns: Floats,
    arm: int,
    x: Floats,
    p: Floats,
    u: Floats,
    along: Floats,
) -> tuple[float, float]:
    """q and x'theta, and in place p, u and g, of a run that starts at this state.

    The run is of column `arm`, which is copied to x; of x itself if `arm` is -1.
    """
    if arm >= 0:
        for i in range(x.size):
            x[i] = columns[i, arm]
    q = project(factor, x, p, u)
    product(columns, u, along)
    return q, dot(x, theta, x.size)


@compiled
def add(total: float, carry: float, value: float) -> tuple[float, float]:
    """total + value, and the carry with what rounding took from that sum (Knuth's two-sum)."""
    grown = total + value
    part = grown - total
    return grown, carry + ((total - (grown - part)) + (value - part))


@compiled
def add_pulls(gram: Floats, moment: Floats, x: Floats, n: float, total: float) -> None:
    """The truth after n pulls of x with reward sum `total`.

    A million plain additions would leave an error of 1e-10 in V relative to its largest entry,
    which near-collinear arms blow up to 1e-5 in theta.
    """
    for i in range(x.size):
        moment[0, i], moment[1, i] = add(moment[0, i], moment[1, i], total * x[i])
        for j in range(i + 1):
            gram[0, i, j], gram[1, i, j] = add(gram[0, i, j], gram[1, i, j], n * x[i] * x[j])


@compiled
def add_sums(sums: Floats, more: Floats) -> None:
    """Adds sums with carries, (2, n), to others."""
    for i in range(sums.shape[1]):
        sums[0, i], sums[1, i] = add(sums[0, i], sums[1, i] + more[1, i], more[0, i])


@compiled
def close_run(
    gram: Floats,
    moment: Floats,
    factor: Floats,
    theta: Floats,
    scores: Floats,
    squares: Floats,
    x: Floats,
    p: Floats,
    u: Floats,
    along: Floats,
    n: float,
    total: float,
    phi: float,
    psi: float,
) -> None:
    """The state after n pulls of x with reward sum `total`, in place: the truth, then all derived."""
    add_pulls(gram, moment, x, n, total)
    for i in range(theta.size):
        theta[i] += phi * u[i]
    for k in range(scores.size):
        scores[k] += phi * along[k]
        squares[k] = larger(squares[k] - psi * along[k] * along[k], 0.0)
    rank_one(factor, p, n)


@compiled
def refresh(gram: Floats, moment: Floats, penalty: float, factor: Floats, theta: Floats) -> float:
    """Factor and theta computed anew from the truth; gives the volume log(det V/det V_0).

    Cholesky V = L L', then M = L^-1 row by row, both within `factor`, and theta = M'(M b).
    """
    d = theta.size
    volume = 0.0
    for i in range(d):
        for j in range(i + 1):
            value = gram[0, i, j] + gram[1, i, j] - dot(factor[i], factor[j], j)
            factor[i, j] = math.sqrt(value + penalty) if i == j else value / factor[j, j]
        volume += math.log(factor[i, i] * factor[i, i] / penalty)
    theta[:] = 0.0
    row = np.empty(d)
    sums = moment[0] + moment[1]
    for i in range(d):
        row[:] = 0.0
        for k in range(i):
            for j in range(k + 1):
                row[j] -= factor[i, k] * factor[k, j]
        pivot = 1.0 / factor[i, i]
        row[i] = 1.0
        for j in range(i + 1):
            factor[i, j] = pivot * row[j]
        value = dot(factor[i], sums, i + 1)
        for j in range(i + 1):
            theta[j] += value * factor[i, j]
    return max(volume, 0.0)  # rounding may not go below it


@compiled
def perturb(
    factor: Floats,
    theta: Floats,
    p: Floats,
    u: Floats,
    n: float,
    phi: float,
    scale: float,
    direction: Floats,
    out: Floats,
) -> None:
    """theta + scale M'direction, for theta and M after the run, which stay as they are.

    M after n pulls is R^-1 M with R R' = I + n p p', so only the direction changes: R^-T
    direction, by one sweep from the last entry up.
    """
    d = p.size
    sums = np.ones(d + 1)
    for i in range(d):
        out[i] = theta[i] + phi * u[i]
        sums[i + 1] = sums[i] + n * p[i] * p[i]
    later = 0.0
    for i in range(d - 1, -1, -1):
        root = math.sqrt(sums[i] * sums[i + 1])
        part = scale * (sums[i] / root * direction[i] - n * p[i] * later)
        later += p[i] * direction[i] / root
        for j in range(i + 1):
            out[j] += part * factor[i, j]
