"""What was asked as plain data, for the journal: the same request twice gives the same bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import chain, repeat
from typing import Any, NamedTuple

import msgspec
import numpy as np

from infex.checks import quick
from infex.errors import InvalidSetting
from infex.features.vectors import as_mapping

LONGEST_KEY = 200  # characters
RESERVED = "infex:"  # what keys of the journal's own begin with
ENCODER = msgspec.json.Encoder(order="sorted")
PLAIN = (str, bool, int, type(None))
begin_digest = blake2b(digest_size=16).copy  # a copy takes half the time of a new one


class Request(NamedTuple):
    """What `Bandit.decide` is to be given, the same as bytes, and a digest of it."""

    options: dict[str, Any]
    encoded: bytes
    digest: bytes


def request_of(options: Mapping[str, object], unit: str) -> Request:
    """What was asked of, or for, a unit; an option that is None was not given."""
    plainly = {name: plain_value(name, value) for name, value in options.items() if value is not None}
    encoded = ENCODER.encode(plainly)
    return quick(Request, (plainly, encoded, digest_of(encoded, unit)))


class ContextAsked(msgspec.Struct, gc=False):
    """The common request, as it is encoded."""

    context: list[float]


def requests_of_contexts(contexts: Sequence[object], units: Sequence[str]) -> list[Request] | None:
    """What `request_of` gives for each context; None unless all are lists of finite floats."""
    if {*map(type, contexts)} != {list}:
        return None
    rows: Sequence[list[float]] = contexts  # type: ignore[assignment]
    if {*map(type, chain.from_iterable(rows))} != {float} or not math.isfinite(sum(map(sum, rows))):
        return None
    lines = ENCODER.encode_lines(list(map(ContextAsked, rows))).split(b"\n")[:-1]
    options = [{"context": row} for row in rows]
    fields = zip(options, lines, map(digest_of, lines, units), strict=True)
    return list(map(quick, repeat(Request), fields))


def digest_of(encoded: bytes, unit: str) -> bytes:
    """What tells requests apart."""
    begun = begin_digest()
    begun.update(encoded + b"\0" + unit.encode())
    return begun.digest()


def plain_value(name: str, value: object) -> Any:
    """A value as JSON can hold it: arrays as lists, named values as mappings, a NaN with a name as None."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is float:
        return _finite(name, value)  # type: ignore[arg-type]
    if kind is list and {*map(type, value)} == {float} and all(map(math.isfinite, value)):  # type: ignore[call-overload]
        return value
    if kind is list or kind is tuple or isinstance(value, set | frozenset | range):
        return [plain_value(name, part) for part in value]  # type: ignore[attr-defined]
    if isinstance(value, np.ndarray | np.generic):
        return plain_value(name, value.tolist())
    if (named := as_mapping(value)) is not None:
        return {str(word): _named(name, part) for word, part in named.items()}
    if isinstance(value, float):
        return _finite(name, float(value))
    raise InvalidSetting(
        f"a study keeps what it is asked: {name} must be numbers, texts, lists or mappings of them, "
        f"got a {kind.__name__}"
    )


def _named(name: str, value: object) -> Any:
    """A value that has a name, where NaN is what is missing."""
    if isinstance(value, float | np.floating) and math.isnan(value):
        return None
    return plain_value(name, value)


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidSetting(f"{name} must be finite numbers, got {value!r}")
    return value


def checked_key(key: object) -> str:
    """A key of the caller's."""
    if not isinstance(key, str) or not key or len(key) > LONGEST_KEY or key.startswith(RESERVED):
        raise InvalidSetting(
            f"a key must be a text of 1 to {LONGEST_KEY} characters that does not begin with "
            f"{RESERVED!r}, got {key!r}"
        )
    return _writable("a key", key)


def are_plain_keys(keys: Sequence[object]) -> bool:
    """Does `checked_key` take them all? False also for some that it takes after a closer look."""
    if {*map(type, keys)} != {str}:
        return False
    every = "".join(keys)  # type: ignore[arg-type]
    sizes = {*map(len, keys)}  # type: ignore[arg-type]
    plain = every.isascii() and "\0" not in every and RESERVED not in every
    return plain and min(sizes) > 0 and max(sizes) <= LONGEST_KEY


def checked_unit(unit: object) -> str:
    """Whom a decision is about; "" for nobody."""
    if unit is None:
        return ""
    if not isinstance(unit, str) or not unit or len(unit) > LONGEST_KEY:
        raise InvalidSetting(f"unit must be a text of 1 to {LONGEST_KEY} characters")
    return _writable("unit", unit)


def _writable(name: str, text: str) -> str:
    """Refuses what a database cannot hold as text."""
    if text.isascii() and "\0" not in text:
        return text
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text if letter > "\ud7ff"):
        raise InvalidSetting(f"{name} must be a text of letters, without NUL or half a pair")
    return text
