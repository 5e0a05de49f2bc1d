"""Optimal designs: how often to play each arm, to know all of them alike."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, rows_of
from infex.checks import real
from infex.core import design


def optimal_design(arms: npt.ArrayLike, tolerance: float = 0.01) -> Floats:
    """The share of each arm that makes the largest width smallest, a G-optimal design, (K,).

    `arms` are (K, d). With V = sum pi_k x_k x_k', the largest x'V^-1 x is at most (1 + `tolerance`) r, where
    r <= d is the rank of the arms; the least possible is r, and reached where det V is largest (Kiefer and
    Wolfowitz, 1960). By Frank-Wolfe steps towards the widest arm or away from the narrowest one, whichever is
    farther from r, from r arms that span a large volume (Kumar and Yildirim, 2005). Arms may span less than
    the space: widths are those of their own space. A direction in which all arms are below 1e-10 of what they
    are along the longest is taken for rounding, and does not count: bring features to similar sizes. Equal
    shares if all arms are 0.

    >>> from infex import lab
    >>> lab.optimal_design([[1.0, 0.0], [0.0, 0.5], [0.1, 0.1]]).round(3).tolist()
    [0.5, 0.5, 0.0]
    """
    rows = rows_of(arms)
    return _design(rows.tobytes(), rows.shape, real("tolerance", tolerance, above=0)).copy()


def spanning_arms(arms: Floats) -> tuple[int, ...]:
    """As many of the arms, (K, d), as they have dimensions, each farthest from the span of those before."""
    return _spanning(np.ascontiguousarray(arms).tobytes(), arms.shape)


# Policies over fixed arms ask for these in every round, and they cost more than all else in a round.


@lru_cache(maxsize=64)
def _design(rows: bytes, shape: tuple[int, int], tolerance: float) -> Floats:
    return design.optimal_shares(np.frombuffer(rows).reshape(shape).T, None, tolerance)


@lru_cache(maxsize=64)
def _spanning(rows: bytes, shape: tuple[int, int]) -> tuple[int, ...]:
    return tuple(design.spanning_arms(np.frombuffer(rows).reshape(shape).T).tolist())
