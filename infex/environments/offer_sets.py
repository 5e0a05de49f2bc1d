"""What rounds draw from: sets of arms, or contexts, checked once and shared by many problems."""

from __future__ import annotations

import hashlib
from typing import final

import numpy as np
import numpy.typing as npt

from infex.arrays import ROUNDING, Floats, shown
from infex.errors import InvalidArms


@final
class OfferSets:
    """Sets of as many arms each, (sets, K, d), none longer than 1; a round draws one of them uniformly.

    A context by itself is a set of one row. Problems that share it hold no copies.

    >>> OfferSets([[[1.0, 0.0], [0.0, 1.0]]]).rows.shape
    (1, 2, 2)
    """

    __slots__ = ("content", "rows")

    def __init__(self, sets: npt.ArrayLike) -> None:
        rows: Floats = np.array(sets, dtype=np.float64, order="C")
        if rows.ndim != 3 or 0 in rows.shape:
            raise InvalidArms(f"sets must be sets of arms, (sets, arms, d), got the shape {rows.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            fits = np.einsum("skd,skd->sk", rows, rows).max() <= (1.0 + ROUNDING) ** 2  # NaN does not
        if not fits:
            raise InvalidArms("arms of sets must be finite and no longer than 1")
        self.rows = shown(rows)
        self.content = hashlib.blake2b(rows.tobytes(), digest_size=16).digest()

    def __deepcopy__(self, memo: object) -> OfferSets:
        """Itself: nothing changes it."""
        return self

    def __len__(self) -> int:
        return len(self.rows)
