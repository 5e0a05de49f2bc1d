"""Settings as records: `{"kind": "LinUCB", "version": 1, "delta": 0.01, ...}`, every setting named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from infex.errors import InfexError, InvalidRecord, NoRecord
from infex.records.registry import NAMED, row_of

VERSION = 1

Record = dict[str, Any]


class Kept(NamedTuple):
    """How things of a higher room are kept: as a record that names kind and version, and back."""

    record: Callable[[Any], Record]
    made: Callable[[Record], Any]


KEPT: dict[type, Kept] = {}  # what rooms above add to the registry: decisions


def to_record(thing: object) -> Record:
    """A built-in policy, schedule, estimator, feature map, environment or decision as plain data, for JSON.

    NoRecord is raised if the `thing` is none of these, or holds a function of yours.

    >>> from infex import LinUCB
    >>> to_record(LinUCB(delta=0.05))["delta"]
    0.05
    """
    if type(thing) in KEPT:
        return KEPT[type(thing)].record(thing)
    row = row_of(thing)
    if row is None:
        raise NoRecord(
            f"{type(thing).__name__} is no built-in kind, or holds code of yours: it has no record"
        )
    kind, settings = row
    return {"kind": kind.name, "version": VERSION} | {name: _plain(value) for name, value in settings.items()}


def from_record(kept: object) -> Any:
    """What a record that was `kept` is of.

    >>> from infex import LinUCB
    >>> from_record(to_record(LinUCB(delta=0.05))) == LinUCB(delta=0.05)
    True
    """
    if not isinstance(kept, dict) or not isinstance(kept.get("kind"), str):
        raise InvalidRecord("a record must be a mapping that names its kind")
    for kind, how in KEPT.items():
        if kind.__name__ == kept["kind"]:
            return how.made(kept)
    row = NAMED.get(kept["kind"])
    if row is None:
        raise InvalidRecord(f"no built-in thing is called {kept['kind']!r}")
    if kept.get("version") != VERSION:
        raise InvalidRecord(
            f"version {kept.get('version')!r} of {row.name} is not known here, only {VERSION}"
        )
    settings = {name: _alive(value) for name, value in kept.items() if name not in ("kind", "version")}
    try:
        return row.make(**settings)
    except (TypeError, InfexError) as error:
        raise InvalidRecord(f"the record of {row.name} cannot be made: {error}") from None


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return to_record(value)


def _alive(value: object) -> Any:
    if isinstance(value, list):
        return [_alive(part) for part in value]
    return from_record(value) if isinstance(value, dict) else value
