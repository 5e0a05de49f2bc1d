"""Many contexts at once, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from infex.arrays import ROUNDING, Floats, Integers
from infex.errors import InvalidContext
from infex.features.context_vectors import shortened_of, vector_of


def contexts_of(given: object) -> Sequence[object]:
    """`given`, if it is a sequence of contexts: rows of an array, or anything else one by one."""
    if isinstance(given, np.ndarray) and given.ndim >= 1:
        return given  # type: ignore[return-value]
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise InvalidContext(
            f"contexts must be a list with one for each decision, or an array of rows; got a "
            f"{type(given).__name__}"
        )
    return given


def vectors_of(contexts: Sequence[object], dim: int, longest: float) -> Floats:
    """Each context as `vector_of` gives it, (n, dim)."""
    found, odd = _divided(contexts, dim, longest)
    for place in odd.tolist():
        found[place] = vector_of(f"context {place}", contexts[place], dim, longest)
    return found


def shortened_rows(contexts: Sequence[object], dim: int, longest: float) -> tuple[Floats, int]:
    """Each context as `shortened_of` gives it, (n, dim), and how many were longer than `longest`."""
    (found, odd), times = _divided(contexts, dim, longest), 0
    for place in odd.tolist():
        found[place], long = shortened_of(f"context {place}", contexts[place], dim, longest)
        times += long
    return found, times


def _divided(contexts: Sequence[object], dim: int, longest: float) -> tuple[Floats, Integers]:
    """Contexts divided by `longest`, (n, dim), and the places of those that need a look."""
    if _is_plain(contexts) and contexts.dtype == np.float64 and contexts.shape[1:] == (dim,):
        found: Floats = contexts / longest
        with np.errstate(all="ignore"):  # what is no number, or too long, is looked at again
            squares = np.einsum("ij,ij->i", contexts, contexts)
            odd = np.flatnonzero(~(squares <= longest * longest * (1.0 - ROUNDING)))
    else:
        found, odd = np.empty((len(contexts), dim)), np.arange(len(contexts))
    return found, odd


def _is_plain(contexts: object) -> TypeGuard[Floats]:
    """Is it an array of NumPy's own kind, with no mask?"""
    return type(contexts) is np.ndarray
