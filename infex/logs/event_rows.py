"""Events of other people's logs, one by one, as rows of a table: features by name become numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from infex.errors import InvalidLog

if TYPE_CHECKING:
    import pyarrow as pa

EVENTS_AT_ONCE = 65_536
SUM_SLACK = 1e-3  # by which single precision may make propensities miss 1
EXACT_SUM = 1e-9

Named = Mapping[str, float]
NO_FEATURES: Named = MappingProxyType({})


class LogEvent(NamedTuple):
    """One event: which arm, its reward and propensity, and features by name, those of all and of each arm.

    `number` is its place in the file, from 1. `propensities` are those of all arms, in their order.
    """

    number: int
    arm: int | str
    reward: float | None
    propensity: float | None
    propensities: Sequence[float] | None = None
    shared: Named = NO_FEATURES
    each: Sequence[Named] = ()
    kept: float | None = None
    id: str | None = None
    time: str | None = None
    unit: str | None = None


class EventNames(NamedTuple):
    """Which features of events are read: of what all arms share (`context`), and of each arm (`arms`)."""

    context: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()


def event_tables(
    events: Iterable[LogEvent], names: EventNames, rows: int = EVENTS_AT_ONCE
) -> Iterator[pa.Table]:
    """Events as tables of so many rows; refuses a feature that no event has."""
    waiting: list[LogEvent] = []
    left = {*names.context, *names.arms}
    for event in events:
        left -= event.shared.keys()
        for each in event.each:
            left -= each.keys()
        waiting.append(event)
        if len(waiting) == rows:
            yield _table(waiting, names)
            waiting = []
    if waiting:
        yield _table(waiting, names)
    if left:
        raise InvalidLog(f"no event has a feature called {sorted(left)[0]!r}")


def _table(events: Sequence[LogEvent], names: EventNames) -> pa.Table:
    import pyarrow as pa

    columns = _certain(events) | _optional(events)
    if names.context:
        columns["context"] = _contexts(events, names.context)
    if names.arms:
        columns["arms"] = _sets(events, names.arms)
    elif _vary_in_size(events):
        columns["offered"] = pa.array([[True] * len(event.each) for event in events])
    if any(event.propensities is not None for event in events):
        columns["base_propensities"] = _propensities(events)
    return pa.table(columns)


def _certain(events: Sequence[LogEvent]) -> dict[str, pa.Array]:
    """The columns that every log has."""
    import pyarrow as pa

    return {
        "round": pa.array([event.number for event in events], pa.int64()),
        "arm": pa.array([event.arm for event in events]),
        "reward": pa.array([event.reward for event in events], pa.float64()),
    }


def _optional(events: Sequence[LogEvent]) -> dict[str, pa.Array]:
    """The columns of single values that some event has."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {
        "propensity": [event.propensity for event in events],
        "kept": [event.kept for event in events],
        "id": [event.id for event in events],
        "time": [_date(event) for event in events],
        "unit": [event.unit for event in events],
    }
    return {name: pa.array(column) for name, column in columns.items() if _is_said(column)}


def _is_said(column: Iterable[object]) -> bool:
    return any(value is not None for value in column)


def _contexts(events: Sequence[LogEvent], names: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    rows = [_numbers(event.shared, names) for event in events]
    return pa.array(rows, pa.list_(pa.float64()))


def _sets(events: Sequence[LogEvent], names: tuple[str, ...]) -> pa.Array:
    import pyarrow as pa

    sets = [[_numbers(arm, names) for arm in event.each] for event in events]
    return pa.array(sets, pa.list_(pa.list_(pa.float64())))


def _numbers(features: Named, names: tuple[str, ...]) -> list[float]:
    return [features.get(name, 0.0) for name in names]


def _vary_in_size(events: Sequence[LogEvent]) -> bool:
    """Are the arms of some events more than those of others, and told of all?"""
    sizes = {len(event.each) for event in events}
    return len(sizes) > 1 and 0 not in sizes


def _propensities(events: Sequence[LogEvent]) -> pa.Array:
    """The propensities of all arms where they are told, with zeros up to the most arms there are."""
    import pyarrow as pa

    rows = [None if event.propensities is None else _normalized(event) for event in events]
    width = max(len(row) for row in rows if row is not None)
    padded = [None if row is None else [*row, *[0.0] * (width - len(row))] for row in rows]
    return pa.array(padded, pa.list_(pa.float64()))


def _normalized(event: LogEvent) -> list[float]:
    """Propensities of all arms that add up to 1; those in single precision may miss it by a little."""
    assert event.propensities is not None
    total = math.fsum(event.propensities)
    if not abs(total - 1.0) <= SUM_SLACK or not all(0.0 <= share <= 1.0 for share in event.propensities):
        raise InvalidLog(f"propensities of all arms must add up to 1; 1 row is not: round {event.number}")
    return list(
        event.propensities
        if abs(total - 1.0) <= EXACT_SUM
        else (share / total for share in event.propensities)
    )


def _date(event: LogEvent) -> np.datetime64 | None:
    if event.time is None:
        return None
    try:
        read = datetime.fromisoformat(event.time)
        return np.datetime64(read if read.tzinfo is None else read.astimezone(UTC).replace(tzinfo=None), "us")
    except (ValueError, OverflowError):
        raise InvalidLog(f"time must be a date; 1 row is not: round {event.number}") from None


def named_features(given: object, prefix: str = "") -> dict[str, float]:
    """The features in an object of JSON by their names, inner ones as `outer.inner`, texts as `name=text`.

    >>> named_features({"age": 3, "from": {"city": "Rome", "far": True}})
    {'age': 3.0, 'from.city=Rome': 1.0, 'from.far': 1.0}
    """
    found: dict[str, float] = {}
    if isinstance(given, Mapping):
        for name, value in given.items():
            if not str(name).startswith("_"):
                found |= _feature(f"{prefix}{name}", value)
    return found


def _feature(name: str, value: object) -> dict[str, float]:
    if isinstance(value, str):
        return {f"{name}={value}": 1.0}
    if isinstance(value, bool | int | float):
        return {name: float(value)}
    if isinstance(value, list):
        inner = {str(place): each for place, each in enumerate(value)}
        return named_features(inner, f"{name}.")
    return named_features(value, f"{name}.")
