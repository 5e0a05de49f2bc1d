"""Arms that come with a question: as columns, checked in one compiled pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from infex.arrays import MOST_SQUARED, Floats, columns_of
from infex.kernels.given_arms import take_rows


def plain_rows(arms: npt.ArrayLike, dim: int) -> Floats | None:
    """The arms as they are, (K, d), if they are rows of floats that compiled code can read; else None."""
    if type(arms) is not np.ndarray:
        if not isinstance(arms, list | tuple):
            return None
        try:
            arms = np.array(arms)
        except ValueError:  # rows of several lengths: whoever checks them says so
            return None
    fits = arms.dtype == np.float64 and arms.ndim == 2 and arms.shape[1] == dim and len(arms) > 0
    return np.ascontiguousarray(arms) if fits else None


def given_columns(arms: npt.ArrayLike, dim: int, rescale: bool | None) -> Floats:
    """The arms as columns, (d, K), as `columns_of` gives them; those that need no second look in one pass."""
    rows = plain_rows(arms, dim)
    if rows is not None:
        columns = np.empty((dim, len(rows)))
        if take_rows(rows, 0, MOST_SQUARED, columns):
            return columns
    return columns_of(arms, dim=dim, rescale=rescale)
