"""The smallest eigenvalue of a symmetric matrix, by Jacobi's rotations."""

import math

import numpy as np

from infex.arrays import Floats
from infex.kernels.compiling import inner, shared

SWEEPS = 60
OFF_DIAGONAL = 1e-16  # of the trace, squared: what is left beside the diagonal when rotations end

LEAST_TURN = (
    1e-300  # of the difference on the diagonal: what is smaller turns nothing, and its ratio overflows
)


@shared
def least_eigenvalue(gram: Floats) -> tuple[float, float]:
    """The smallest eigenvalue of a symmetric matrix, of which the lower triangle is read; and its trace."""
    d = gram.shape[0]
    a = np.empty((d, d))
    trace = 0.0
    for i in range(d):
        trace += gram[i, i]
        for j in range(i + 1):
            a[i, j] = a[j, i] = gram[i, j]
    sweeps = 0
    while sweeps < SWEEPS and sweep(a) > (OFF_DIAGONAL * trace) * (OFF_DIAGONAL * trace):
        sweeps += 1
    least = a[0, 0]
    for i in range(1, d):
        least = min(least, a[i, i])
    return least, trace


@inner
def sweep(a: Floats) -> float:
    """Turns every plane once; how much stood beside the diagonal before, as a sum of squares."""
    beside = 0.0
    for i in range(1, a.shape[0]):
        for j in range(i):
            beside += a[i, j] * a[i, j]
            if abs(a[i, j]) > LEAST_TURN * abs(a[i, i] - a[j, j]):
                rotate(a, i, j)
    return beside


@inner
def rotate(a: Floats, p: int, q: int) -> None:
    """Turns the plane of p and q until a_pq is 0 (Golub and Van Loan, section 8.5)."""
    ratio = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
    tangent = 1.0 / (abs(ratio) + math.hypot(1.0, ratio))
    tangent = -tangent if ratio < 0.0 else tangent
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    left = a[p, q]
    a[p, p] -= tangent * left
    a[q, q] += tangent * left
    a[p, q] = a[q, p] = 0.0
    for i in range(a.shape[0]):
        if i not in (p, q):
            old, other = a[i, p], a[i, q]
            a[i, p] = a[p, i] = cosine * old - sine * other
            a[i, q] = a[q, i] = sine * old + cosine * other
