"""Kernels over fixed arms, as features."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from infex.arrays import ROUNDING, Floats, rows_of
from infex.checks import real, safe_repr, whole
from infex.errors import InvalidArms, InvalidSetting

Kernel = Callable[[Floats, Floats], npt.ArrayLike]
LEAST_EIGENVALUE = 1e-12  # of the largest: less is rounding
NEGATIVE = 1e-8


def rbf(scale: float) -> Kernel:
    """The kernel exp(-|x - y|^2/(2 scale^2)) of points x, (n, d), and y, (m, d), as (n, m).

    `scale` is how far apart points may be and still say something of each other.

    >>> rbf(1.0)(np.zeros((1, 1)), np.array([[0.0], [1.0]])).round(4).tolist()
    [[1.0, 0.6065]]
    """
    length = real("scale", scale, above=0)

    def values(one: Floats, other: Floats) -> Floats:
        squares = np.sum(np.square(one[:, None, :] - other[None, :, :]), axis=2)
        found: Floats = np.exp(-squares / (2.0 * length**2))
        return found

    return values


def kernel(arms: npt.ArrayLike, kernel: Kernel, rank: int | None = None) -> Floats:
    """Features of fixed `arms`, (K, r), whose products are the values of a kernel: a kernel bandit is linear.

    `arms` are points of any size, (K, d), and `kernel` gives its values for two sets of them, as `rbf` does.
    Ridge regression on these features is kernel ridge regression, and LinUCB is GP-UCB over the arms, with
    alpha = log det(I + G/penalty) in its radius for the Gram matrix G of what was played. With a `rank`, the
    features are those of the best approximation of G of that rank. A k(x, x) above 1 is refused, as arms
    longer than 1 are.

    >>> from infex import Bandit, LinUCB, features
    >>> points = np.linspace(0, 1, 50)[:, None]
    >>> bandit = Bandit(features.kernel(points, features.rbf(0.2), rank=8), LinUCB())
    >>> bandit.ask().explored
    True
    """
    points = rows_of(arms)
    if not callable(kernel):
        raise InvalidSetting(f"kernel must be a function of two sets of points, got {safe_repr(kernel)}")
    gram = np.asarray(kernel(points, points), dtype=np.float64)
    if gram.shape != (len(points), len(points)):
        raise InvalidSetting(f"kernel must give numbers of the shape (K, K), got {gram.shape}")
    if not np.isfinite(gram).all():
        one, other = np.argwhere(~np.isfinite(gram))[0].tolist()
        raise InvalidSetting(
            f"kernel must give finite numbers, got {gram[one, other]} for arms {one} and {other}"
        )
    if float(np.max(np.diagonal(gram))) > 1.0 + ROUNDING:
        raise InvalidArms(
            f"k(x, x) must be at most 1, got {np.max(np.diagonal(gram)):g}: divide the kernel by its largest"
        )
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    if values[0] < -NEGATIVE * max(values[-1], 1.0) or not np.allclose(gram, gram.T, atol=NEGATIVE):
        raise InvalidSetting("kernel must be symmetric and positive: its Gram matrix is not")
    most = len(points) if rank is None else whole("rank", rank, least=1)
    kept = [k for k in range(len(points))[::-1] if values[k] > LEAST_EIGENVALUE * values[-1]][:most] or [-1]
    found: Floats = np.ascontiguousarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0)))
    return found
