"""What callers ask, checked and made plain: the same request twice gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from infex.arrays import plain_value
from infex.errors import InvalidSetting
from infex.features.vectors import refuse_single_values, table_rows
from infex.study.journal import RESERVED

LONGEST_KEY = 200  # characters
OPTIONS = ("context", "arms", "labels", "allowed", "offered", "explore", "played")
ENCODER = msgspec.json.Encoder(order="sorted")


class Request(NamedTuple):
    """What `Bandit.decide` is to be given, the same as bytes, and a digest of it."""

    options: dict[str, Any]
    encoded: bytes
    digest: bytes

    @staticmethod
    def of(options: Mapping[str, object], unit: str) -> Request:
        """What was asked for a unit; an option that is None was omitted."""
        if unknown := sorted(options.keys() - OPTIONS):
            raise TypeError(f"ask has no option {unknown[0]!r}; it has {', '.join(OPTIONS)}")
        plain = {name: plain_value(name, value) for name, value in options.items() if value is not None}
        encoded = ENCODER.encode(plain)
        return Request(plain, encoded, request_digest(encoded, unit))


def request_digest(encoded: bytes, unit: str) -> bytes:
    """What tells requests apart."""
    return blake2b(encoded + b"\0" + unit.encode(), digest_size=16).digest()


def digest_of(plain: object) -> str:
    """What tells plain data apart, whatever the order of their fields."""
    return blake2b(ENCODER.encode(plain), digest_size=16).hexdigest()


def checked_key(key: object) -> str:
    """A key of the caller's."""
    if not isinstance(key, str) or not key or len(key) > LONGEST_KEY or key.startswith(RESERVED):
        raise InvalidSetting(
            f"a key must be a text of 1 to {LONGEST_KEY} characters that does not begin with "
            f"{RESERVED!r}, got {key!r}"
        )
    return _writable("a key", key)


def checked_unit(unit: object) -> str:
    """Whom a decision is about; "" for nobody."""
    if unit is None:
        return ""
    if not isinstance(unit, str) or not unit or len(unit) > LONGEST_KEY:
        raise InvalidSetting(f"unit must be a text of 1 to {LONGEST_KEY} characters")
    return _writable("unit", unit)


def check_text(name: str, value: object) -> None:
    """Refuses what cannot be kept as text."""
    if not isinstance(value, str):
        raise InvalidSetting(f"{name} must be a text, got {value!r}")


def _writable(name: str, text: str) -> str:
    """Refuses what a database cannot hold as text."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidSetting(f"{name} must be a text of letters, without NUL or half a pair")
    return text


def rows_of(many: Any) -> list[Any] | None:
    """One value for each key, by its place: of a table its rows, whatever its index is."""
    if isinstance(many, Mapping):
        refuse_single_values(many)
        columns = {name: list(values) for name, values in many.items()}
        check_lengths(max(map(len, columns.values()), default=0), columns)
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows = table_rows(many)
    if rows is not None and not isinstance(rows, Iterable):
        raise InvalidSetting(
            f"contexts and arms are lists with one for each key, got a {type(many).__name__}"
        )
    return None if rows is None else list(rows)


def check_lengths(count: int, columns: Mapping[str, Any]) -> None:
    """Refuses a column that is not as long as the keys."""
    for word, column in columns.items():
        if column is not None and len(column) != count:
            raise InvalidSetting(f"{word} must be as many as the keys, {count}, got {len(column)}")
