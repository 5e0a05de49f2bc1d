"""What was learnt as sums, and what is read from them without a penalty: least squares and LASSO."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from infex.linear.compiling import compiled
from infex.linear.kernels import Floats

RANK = 1e-13  # how small, against the largest, a pivot counts as nothing
SWEEPS = 1000
STILL = 1e-10  # the change of a coefficient, against the largest, at which descent stops


class Moments(NamedTuple):
    """sum x x', sum y x, and how many rewards are in them."""

    gram: Floats
    moment: Floats
    told: int

    @staticmethod
    def of(truth: Floats, told: int) -> Moments:
        """Those of the truth that `kernels` describes."""
        gram = np.tril(truth[0, :-1]) + np.tril(truth[0, :-1], -1).T
        return Moments(gram, truth[0, -1].copy(), told)

    def least_squares(self) -> Floats:
        """The parameter of least squares; of the least length where many are equally good."""
        theta = np.empty(self.moment.size)
        least_squares(self.gram, self.moment, theta)
        return theta

    def lasso(self, strength: float, start: Floats | None = None) -> Floats:
        """The parameter that minimises sum (y - x'theta)^2/(2n) + strength |theta|_1.

        By coordinate descent from `start`, which makes the next fit after one more reward cheap.
        """
        if strength == 0.0:
            return self.least_squares()
        theta = np.zeros(self.moment.size) if start is None else np.array(start, dtype=np.float64)
        if self.told > 0:
            descend(self.gram / self.told, self.moment / self.told, strength, theta)
        return theta

    def least_eigenvalue(self) -> float:
        """The smallest eigenvalue of sum x x'."""
        return float(np.linalg.eigvalsh(self.gram)[0])


@compiled
def pivoted(gram: Floats, factor: Floats) -> int:
    """gram = F F' by Cholesky with pivoting; the rank r, and F in the first r columns of `factor`."""
    d = gram.shape[0]
    left = np.empty(d)
    for i in range(d):
        left[i] = gram[i, i]
    limit = RANK * d * max(np.max(left), 0.0)
    rank = 0
    factor[:] = 0.0
    while rank < d:
        pivot = int(np.argmax(left))
        if not left[pivot] > limit:
            break
        root = math.sqrt(left[pivot])
        for i in range(d):
            value = gram[max(i, pivot), min(i, pivot)]
            for j in range(rank):
                value -= factor[i, j] * factor[pivot, j]
            factor[i, rank] = value / root
            left[i] -= factor[i, rank] * factor[i, rank]
        left[pivot] = -1.0
        rank += 1
    return rank


@compiled
def least_squares(gram: Floats, moment: Floats, theta: Floats) -> None:
    """theta = gram^+ moment; reads the lower triangle of gram.

    With gram = F F' and F of full column rank, gram^+ = F (F'F)^-2 F'.
    """
    d = gram.shape[0]
    factor = np.empty((d, d))
    rank = pivoted(gram, factor)
    theta[:] = 0.0
    if rank == 0:
        return
    inner = np.zeros((rank, rank))
    right = np.zeros(rank)
    for a in range(rank):
        for i in range(d):
            right[a] += factor[i, a] * moment[i]
        for b in range(a + 1):
            for i in range(d):
                inner[a, b] += factor[i, a] * factor[i, b]
    root = np.empty((rank, rank))
    cholesky(inner, root)
    solve(root, right)
    solve(root, right)
    for i in range(d):
        for a in range(rank):
            theta[i] += factor[i, a] * right[a]


@compiled
def cholesky(matrix: Floats, root: Floats) -> None:
    """The lower factor of a positive definite matrix, from its lower triangle."""
    n = matrix.shape[0]
    for j in range(n):
        for i in range(j, n):
            value = matrix[i, j]
            for k in range(j):
                value -= root[i, k] * root[j, k]
            root[i, j] = math.sqrt(value) if i == j else value / root[j, j]


@compiled
def solve(root: Floats, right: Floats) -> None:
    """right becomes (root root')^-1 right."""
    n = root.shape[0]
    for i in range(n):
        for k in range(i):
            right[i] -= root[i, k] * right[k]
        right[i] /= root[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= root[k, i] * right[k]
        right[i] /= root[i, i]


@compiled
def descend(gram: Floats, moment: Floats, strength: float, theta: Floats) -> None:
    """Coordinate descent on theta'gram theta/2 - moment'theta + strength |theta|_1, from theta on.

    Sweeps go on along their way (`stride`): where gram is all but singular, single coordinates
    would need many thousands of them.
    """
    d = theta.size
    before = np.empty(d)
    for _ in range(SWEEPS):
        change, largest = 0.0, 0.0
        before[:] = theta
        for i in range(d):
            old = theta[i]
            pull = moment[i] + gram[i, i] * old
            for j in range(d):
                pull -= gram[i, j] * theta[j]
            size = max(abs(pull) - strength, 0.0)
            theta[i] = math.copysign(size / gram[i, i], pull) if gram[i, i] > 0.0 else 0.0
            change = max(change, abs(theta[i] - old))
            largest = max(largest, abs(theta[i]))
        if change <= STILL * largest:
            return
        stride(gram, moment, strength, before, theta)


@compiled
def stride(gram: Floats, moment: Floats, strength: float, before: Floats, theta: Floats) -> None:
    """theta goes on along theta - before as long as the loss falls, but no coefficient beyond 0."""
    d = theta.size
    slope, curve, reach = 0.0, 0.0, np.inf
    for i in range(d):
        way = theta[i] - before[i]
        if way != 0.0 and theta[i] == 0.0:
            return
        along, bend = -moment[i], 0.0
        for j in range(d):
            along += gram[i, j] * theta[j]
            bend += gram[i, j] * (theta[j] - before[j])
        slope += way * (along + math.copysign(strength, theta[i]))
        curve += way * bend
        if way * theta[i] < 0.0:
            reach = min(reach, -theta[i] / way)
    far = -slope / curve if curve > 0.0 else np.inf
    if slope >= 0.0 or min(far, reach) == np.inf:
        return
    far = min(far, reach)
    for i in range(d):
        way = theta[i] - before[i]
        theta[i] = 0.0 if way * theta[i] < 0.0 and -theta[i] / way <= far else theta[i] + far * way
