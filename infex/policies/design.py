"""Optimal designs: how often to play each arm, to know all of them alike."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats
from infex.checks import real
from infex.errors import InvalidArms

SINGULAR = 1e-10  # of the largest singular value: a direction in which arms do not go
ROUNDING = 1e-9
MOST_STEPS = 100_000


def optimal_design(arms: npt.ArrayLike, tolerance: float = 0.01) -> Floats:
    """The share of each arm that makes the largest width smallest, a G-optimal design, (K,).

    `arms` are (K, d). With V = sum pi_k x_k x_k', the largest x'V^-1 x is at most (1 + `tolerance`) r, where
    r <= d is the rank of the arms; the least possible is r, and reached where det V is largest (Kiefer and
    Wolfowitz, 1960). By Frank-Wolfe steps towards the widest arm or away from the narrowest one, whichever is
    farther from r, from r arms that span a large volume (Kumar and Yildirim, 2005). Arms may span less than
    the space: widths are those of their own space. Equal shares if all arms are 0.

    >>> from infex import lab
    >>> lab.optimal_design([[1.0, 0.0], [0.0, 0.5], [0.1, 0.1]]).round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    rows = np.array(arms, dtype=np.float64, order="C", ndmin=2)
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise InvalidArms(f"arms must be a matrix of finite numbers, (K, d), got the shape {rows.shape}")
    return _design(rows.tobytes(), rows.shape, real("tolerance", tolerance, above=0)).copy()


@lru_cache(maxsize=64)  # fixed arms are asked about in every round
def _design(rows: bytes, shape: tuple[int, int], tolerance: float) -> Floats:
    given = np.frombuffer(rows).reshape(shape)
    left, values, _ = np.linalg.svd(given, full_matrices=False)
    rank = int(np.sum(values > SINGULAR * values[0])) if values[0] > 0.0 else 0
    if rank == 0:
        return np.full(shape[0], 1.0 / shape[0])
    points: Floats = np.ascontiguousarray(
        left[:, :rank]
    )  # the arms, up to a linear map, which changes no width
    shares = np.zeros(shape[0])
    shares[spanning_arms(points)] = 1.0 / rank
    inverse = np.linalg.inv((points.T * shares) @ points)
    widths: Floats = np.einsum("ki,ij,kj->k", points, inverse, points)
    for _ in range(MOST_STEPS):
        widest = _first_largest(widths)
        played = np.flatnonzero(shares)
        narrowest = int(played[_first_largest(-widths[played])])
        if widths[widest] <= (1.0 + tolerance) * rank:
            break
        away = rank - widths[narrowest] > widths[widest] - rank
        arm = narrowest if away else widest
        least = -shares[arm] / (1.0 - shares[arm])  # then it is not played at all
        step = least
        if widths[arm] > 1.0:  # where det V is largest on the way
            step = max((widths[arm] / rank - 1.0) / (widths[arm] - 1.0), least)
        solved = inverse @ points[arm]
        along = points @ solved
        factor = step / (1.0 - step + step * widths[arm])
        inverse = (inverse - factor * np.outer(solved, solved)) / (1.0 - step)
        widths = (widths - factor * np.square(along)) / (1.0 - step)
        shares *= 1.0 - step
        shares[arm] += step
        if shares[arm] < 1e-15:
            shares[arm] = 0.0
    found: Floats = shares / shares.sum()
    return found


def _first_largest(values: Floats) -> int:
    """The lowest index of the largest values: which of equals comes first is not left to rounding."""
    top = float(np.max(values))
    return int(np.argmax(values >= top - ROUNDING * abs(top)))


def spanning_arms(arms: Floats) -> list[int]:
    """As many arms as they have dimensions, each the farthest from the span of those before."""
    rest, found, first = arms.copy(), list[int](), 0.0
    while len(found) < min(arms.shape):
        lengths = np.einsum("ki,ki->k", rest, rest)
        lengths[found] = -1.0
        arm = _first_largest(lengths)
        first = first or float(lengths[arm])
        if lengths[arm] <= SINGULAR**2 * first:
            break
        found.append(arm)
        direction = rest[arm] / np.sqrt(lengths[arm])
        rest -= np.outer(rest @ direction, direction)
    return found
