"""Contexts as numbers: checked, and never told."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from infex.arrays import ROUNDING, Floats, is_masked
from infex.errors import InvalidContext
from infex.features.encoder import Encoded, Encoder
from infex.features.named_values import by_name

MOST_INTEGER = 10**308  # that a float holds


def inside_of(context: object, dim: int, longest: float, encoder: Encoder | None) -> Floats:
    """The features of a context, (dim,), divided by `longest`: those an encoder makes, or its own numbers."""
    if isinstance(context, Encoded):  # by a bandit, which counts what was noticed
        return _encoded(context, dim)
    if encoder is None:
        return vector_of("a context", context, dim, longest)
    return _encoded(encoder.encode(context), dim)


def _vector(encoded: Encoded, dim: int) -> Floats:
    vector = encoded.vector if isinstance(encoded, Encoded) else None
    if type(vector) is not np.ndarray or vector.shape != (dim,) or vector.dtype != np.float64:
        raise InvalidContext(f"an encoder must give an Encoded with {dim} floats, and gave something else")
    return vector


def _encoded(encoded: Encoded, dim: int) -> Floats:
    """The features that an encoder gave, which may be a user's: so many floats, no longer than 1."""
    vector = _vector(encoded, dim)
    if not float(vector.dot(vector)) <= 1.0 + ROUNDING:
        raise InvalidContext("an encoder must give features no longer than 1, and gave longer ones, or NaN")
    return np.array(vector)  # an encoder may write the next context into the same array


def vector_of(name: str, given: object, dim: int, longest: float) -> Floats:
    """`given` as so many finite numbers, divided by `longest`, than which it may not be longer."""
    if (quickly := _short(given, dim, longest)) is not None:
        return quickly
    found = _finite(name, given, dim)
    length = float(np.linalg.norm(found))
    if length > longest * (1.0 + ROUNDING):
        raise InvalidContext(
            f"{name} must be no longer than longest={longest:g}, got one of length {length:.6g}"
        )
    return found / max(longest, length)


def shortened_of(name: str, given: object, dim: int, longest: float) -> tuple[Floats, bool]:
    """The same of a vector that may be longer, which is divided by its own length then; and whether it is."""
    with np.errstate(over="ignore"):  # of squares; what is too large for a float is longer than `longest`
        if (quickly := _short(given, dim, longest)) is not None:
            return quickly, False
        found = _finite(name, given, dim)
        length = float(np.linalg.norm(found))
    if length <= longest * (1.0 + ROUNDING):
        return found / max(longest, length), False
    near = found / np.abs(found).max()
    return near / np.linalg.norm(near), True


def _finite(name: str, given: object, dim: int) -> Floats:
    try:
        plain = np.asarray(given)
        if plain.shape != (dim,) or plain.dtype.kind not in "iufO" or _has_names(given) or is_masked(given):
            raise ValueError
        found: Floats = plain.astype(np.float64)
        if not np.isfinite(found).all():
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidContext(f"{name} must be {dim} finite numbers{_wrong(given, dim)}") from None
    return found


def _short(given: object, dim: int, longest: float) -> Floats | None:
    """The same by one product, for numbers of the right shape and not too long; None for what needs a look.

    What is finite and short has a square that is no larger than `longest` has.
    """
    if type(given) is not np.ndarray and type(given) is not list:
        return None
    try:
        found = np.asarray(given)
    except (ValueError, OverflowError):
        return None
    if found.shape != (dim,) or found.dtype != np.float64:
        return None
    within: Floats = found / longest
    return within if within.dot(within) <= 1.0 else None


def _has_names(given: object) -> bool:
    """Does it have names of its own, which would be ignored? A named tuple's order is part of its kind."""
    if isinstance(given, np.ndarray | list | tuple):
        return False
    names = by_name(given)
    return names is not None and list(names) != list(range(len(names)))


def _wrong(given: object, dim: int) -> str:
    """What is wrong with a context, and where; never what it holds, which is somebody's data."""
    if by_name(given) is not None and not isinstance(given, tuple):
        return f", got a {type(given).__name__} with names: a map over features.table(...) reads these"
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return f", got a {type(given).__name__}"
    if len(given) != dim:
        return f", got {len(given)}"
    for place, feature in enumerate(given):
        if isinstance(feature, bool | np.bool_) or not isinstance(feature, Real):
            return f"; feature {place} is a {type(feature).__name__}"
        if isinstance(feature, int) and abs(feature) > MOST_INTEGER:
            return f"; feature {place} is too large a number"
        if not math.isfinite(feature):
            return f"; feature {place} is {float(feature)}"
    return ""
