"""Sums, products and the factor: the algebra under a ridge; see `kernels`."""

import math

from infex.arrays import Floats
from infex.kernels.compiling import compiled, lend, shared, woven


@woven
def row_product(columns: Floats, rows: Floats, r: int, n: int, out: Floats) -> None:
    """out_k = x_k'(row r) by the first n features, for every arm that `out` has room for; eight at a time."""
    arms = out.size
    i = 0
    while i + 8 <= n:
        v0, v1, v2, v3 = rows[r, i], rows[r, i + 1], rows[r, i + 2], rows[r, i + 3]
        v4, v5, v6, v7 = rows[r, i + 4], rows[r, i + 5], rows[r, i + 6], rows[r, i + 7]
        for k in range(arms):
            out[k] = (0.0 if i == 0 else out[k]) + (
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
    while i + 2 <= n:
        v0, v1 = rows[r, i], rows[r, i + 1]
        for k in range(arms):
            out[k] = (0.0 if i == 0 else out[k]) + (v0 * columns[i, k] + v1 * columns[i + 1, k])
        i += 2
    if i < n:
        v0 = rows[r, i]
        for k in range(arms):
            out[k] = (0.0 if i == 0 else out[k]) + v0 * columns[i, k]


@shared
def product(columns: Floats, vector: Floats, out: Floats) -> None:
    """out_k = x_k'vector for every arm that `out` has room for, up to eight rows in one pass."""
    columns, vector, out = lend(columns), lend(vector), lend(out)
    row_product(columns, vector.reshape((1, vector.size)), 0, columns.shape[0], out)


@woven
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


@woven
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


@woven
def rows_dot(rows: Floats, a: int, b: int, n: int) -> float:
    """The same of two rows."""
    s0 = s1 = s2 = s3 = 0.0
    j = 0
    while j + 4 <= n:
        s0 += rows[a, j] * rows[b, j]
        s1 += rows[a, j + 1] * rows[b, j + 1]
        s2 += rows[a, j + 2] * rows[b, j + 2]
        s3 += rows[a, j + 3] * rows[b, j + 3]
        j += 4
    while j < n:
        s0 += rows[a, j] * rows[b, j]
        j += 1
    return (s0 + s1) + (s2 + s3)


@woven
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


@woven
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


@woven
def add(total: float, carry: float, value: float) -> tuple[float, float]:
    """total + value, and the carry with what rounding took from that sum (Knuth's two-sum)."""
    grown = total + value
    part = grown - total
    return grown, carry + ((total - (grown - part)) + (value - part))


@compiled
def to_sphere(direction: Floats) -> None:
    """Brings a Gaussian direction to the length sqrt(d), in place: uniform on that sphere."""
    factor = math.sqrt(direction.size / dot(direction, direction, direction.size))
    for i in range(direction.size):
        direction[i] *= factor
