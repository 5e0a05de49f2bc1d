"""A log as a table of Arrow, and back: the columns that `log_schema` names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats, Integers
from infex.checks import settings_by_name
from infex.errors import InvalidLog
from infex.logs.log import Log
from infex.logs.log_checks import RoundsOfItems, refuse
from infex.logs.log_schema import LOOSE_COLUMNS, NAMED_COLUMNS, SHARE_COLUMNS, LogHeader, header_of

if TYPE_CHECKING:
    import pyarrow as pa

Parts = dict[str, Any]


def table_of(log: Log) -> pa.Table:
    """A log as a table of Arrow, with its header in the metadata.

    >>> table_of(Log(arm=[0, 1], reward=[0.5, float("nan")])).column_names
    ['round', 'arm', 'reward']
    """
    import pyarrow as pa

    columns: dict[str, Any] = {"round": pa.array(log.round), "arm": pa.array(log.arm.astype(np.int32))}
    singles = {name: settings_by_name(log)[name] for name in SHARE_COLUMNS}
    columns |= {
        name: pa.array(values, from_pandas=True) for name, values in singles.items() if values is not None
    }
    if log.greedy is not None:
        columns["greedy"] = pa.array(log.greedy.astype(np.int32), mask=log.greedy < 0)
    if log.explored is not None:
        columns["explored"] = pa.array(log.explored)
    if log.held_out is not None:
        columns["held_out"] = pa.array(log.held_out)
    columns |= _lists(log)
    loose = {name: settings_by_name(log)[name] for name in LOOSE_COLUMNS}
    columns |= {
        name: pa.array(values) for name, values in (loose | dict(log.others)).items() if values is not None
    }
    return pa.table(columns).replace_schema_metadata(header_from_log(log).metadata())


def header_from_log(log: Log) -> LogHeader:
    """What is said once of a log."""
    return LogHeader(log.facts, log.arms, log.labels, log.features, log.count)


def _lists(log: Log) -> dict[str, Any]:
    """The columns of which each row has several numbers."""
    import pyarrow as pa

    found = {}
    if log.base_propensities is not None:
        found["base_propensities"] = _rows(
            log.base_propensities, np.asarray(np.isnan(log.base_propensities).any(axis=1))
        )
    if log.context is not None:
        found["context"] = _rows(log.context)
    if log.offers is not None:
        n, count, dim = log.offers.shape
        hidden = None if log.offered is None else np.logical_not(log.offered.ravel())
        inner = _rows(log.offers.reshape(n * count, dim), hidden)
        found["arms"] = pa.ListArray.from_arrays(_ends(n, count), inner)
    elif log.offered is not None:
        found["offered"] = _rows(log.offered)
    return found


def _rows(values: NDArray[Any], missing: Bools | None = None) -> pa.Array:
    """An array (n, K) as a list of K in each row; null where it is missing."""
    import pyarrow as pa

    n, size = values.shape
    mask = None if missing is None or not missing.any() else pa.array(missing)
    flat = pa.array(np.ascontiguousarray(values).ravel())
    return pa.ListArray.from_arrays(_ends(n, size), flat, mask=mask)


def _ends(n: int, size: int) -> pa.Array:
    import pyarrow as pa

    return pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(size))


def log_of(table: pa.Table, header: LogHeader | None = None, *, first: int = 1) -> Log:
    """The log in a table that has the columns of `log_schema`; `first` is the first round if none is said.

    >>> import pyarrow as pa
    >>> log_of(pa.table({"arm": [0, 1], "reward": [0.5, None]})).rewarded.tolist()
    [True, False]
    """
    known = header or header_of(table.schema.metadata) or LogHeader()
    for name in ("arm", "reward"):
        if name not in table.column_names:
            raise InvalidLog(f"a log needs a column {name}, got {few(table.column_names)}")
    if not table.num_rows:
        raise InvalidLog("a log must have at least one row, got none")
    if len(set(table.column_names)) < len(table.column_names):
        raise InvalidLog("two columns of a log have the same name")
    rounds = _rounds(table, first)
    parts = _columns(table, rounds)
    parts |= _offers(table, rounds)
    _widen_propensities(parts, known)
    if known.arms is not None and parts.get("offers") is None:
        parts["arms"] = known.arms
    mapped = known.features if parts.get("offers") is None else None
    count = known.arms_count if known.arms_count is not None and _agrees(parts, known.arms_count) else None
    return Log(**parts, labels=known.labels, features=mapped, facts=known.facts, count=count)  # type: ignore[arg-type]


def _widen_propensities(parts: Parts, known: LogHeader) -> None:
    """Propensities of arms that were on offer alone get a 0 for the others."""
    propensities, offers = parts.get("base_propensities"), parts.get("offers")
    if propensities is None:
        return
    counts = [0 if offers is None else offers.shape[1], 0 if known.arms is None else len(known.arms)]
    most = max(propensities.shape[1], *counts, len(known.labels or ()), known.arms_count or 0)
    if most == propensities.shape[1] > 0:
        return
    wide = np.zeros((len(propensities), most))
    wide[:, : propensities.shape[1]] = propensities
    wide[np.isnan(propensities).any(axis=1) | (propensities.shape[1] == 0)] = np.nan
    parts["base_propensities"] = wide


def few(names: list[str]) -> str:
    """Some names of columns, as a message can hold them."""
    shown = [name if len(name) <= 40 else f"{name[:37]}..." for name in names[:8]]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "") if names else "none"


def _agrees(parts: Parts, count: int) -> bool:
    """May the header's number of arms be believed? In ragged parts of a file some may have fewer."""
    return count >= 1 and all(parts.get(name) is None for name in ("offers", "base_propensities", "offered"))


def _columns(table: pa.Table, rounds: Integers) -> Parts:
    """All columns but those of offers."""
    readers: dict[str, Callable[[Any, str, Integers], Any]] = {
        "arm": whole_numbers, "reward": numbers, "greedy": _places, "explored": _truths,
        "base_propensities": _list_rows, "context": _list_rows, "offered": _truth_rows, "held_out": _truths,
    }  # fmt: skip
    readers |= dict.fromkeys(SHARE_COLUMNS, numbers)
    names = [name for name in readers if name in table.column_names]
    parts: Parts = {"round": rounds} | {name: readers[name](table[name], name, rounds) for name in names}
    parts |= {name: loose(table[name]) for name in LOOSE_COLUMNS if name in table.column_names}
    others = [name for name in table.column_names if name not in NAMED_COLUMNS]
    return parts | {"others": {name: loose(table[name]) for name in others}}


def _rounds(table: pa.Table, first: int) -> Integers:
    rows = np.arange(first, first + table.num_rows)
    return whole_numbers(table["round"], "round", rows) if "round" in table.column_names else rows


def numbers(column: Any, name: str, rounds: Integers | RoundsOfItems) -> Floats:
    """A column of numbers, NaN where it has a null; what is NaN in a file is refused."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number and not pa.types.is_boolean(kind):
        raise InvalidLog(f"{name} must hold numbers, and holds {_kind(kind)}")
    column = column if is_number else column.cast(pa.int8())
    floats = column.cast(pa.float64(), safe=False)
    if not column.null_count:
        values = arrayed(floats)
        refuse(name, np.isnan(values), rounds, "must be a number or null")
        return values
    values, nulls = arrayed(floats.fill_null(np.nan)), arrayed(column.is_null())
    refuse(name, np.isnan(values) & ~nulls, rounds, "must be a number or null")
    return values


def whole_numbers(column: Any, name: str, rounds: Integers) -> Integers:
    """A column of whole numbers, all of them known."""
    import pyarrow as pa

    if pa.types.is_signed_integer(column.type) and not column.null_count:
        values = arrayed(column.cast(pa.int64()))
    else:
        values = numbers(column, name, rounds)
        refuse(name, np.isnan(values), rounds, "must be there in every row")
        refuse(name, values != np.floor(values), rounds, "must be a whole number")
    refuse(name, (values > 2**53) | (values < -(2**53)), rounds, "must be a whole number")
    return values.astype(np.int64, copy=False)


def _places(column: Any, name: str, rounds: Integers) -> Integers:
    """Places of arms, -1 where they are not known."""
    return whole_numbers(column.fill_null(-1) if column.null_count else column, name, rounds)


def _truths(column: Any, name: str, rounds: Integers) -> Bools:
    values = numbers(column, name, rounds)
    refuse(name, ~((values == 0.0) | (values == 1.0)), rounds, "must be true or false")
    return np.equal(values, 1.0)


def _kind(kind: object) -> str:
    return str(kind).split("<", maxsplit=1)[0][:40]


def _list_rows(column: Any, name: str, rounds: Integers) -> Floats:
    """A list of as many numbers in each row, (n, K); NaN in a row that is null."""
    import pyarrow as pa

    values, sizes, known = _flat(column, name)
    if pa.types.is_list(values.type):
        raise InvalidLog(f"{name} must be lists of numbers, and holds lists in lists")
    width = int(sizes[known].max()) if known.any() else 0
    if name == "context":
        refuse(name, ~known, rounds, "must be there in every row")
        refuse(name, sizes != width, rounds, f"must have {width} numbers in each row")
    inside = _inside(values, name, RoundsOfItems(rounds, np.cumsum(sizes)))
    if width and (sizes == width).all():
        return inside.reshape(-1, width)
    rows = np.zeros((len(known), width))  # of arms that were not on offer there is nothing, or less often
    rows[~known] = np.nan
    rows[_places_of_items(sizes)] = inside
    return rows


def _inside(values: Any, name: str, rounds: RoundsOfItems) -> Floats:
    """The numbers in lists, all of them known."""
    found = numbers(values, name, rounds)
    if values.null_count:
        refuse(name, np.isnan(found), rounds, "must have no null inside")
    return found


def _places_of_items(sizes: Integers) -> tuple[Integers, Integers]:
    """The row of everything that stands in lists, and its place there."""
    owner = np.repeat(np.arange(sizes.size), sizes)
    return owner, np.arange(owner.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _truth_rows(column: Any, name: str, rounds: Integers) -> Bools:
    rows = _list_rows(column, name, rounds)
    refuse(name, ~((rows == 0.0) | (rows == 1.0)).all(axis=1), rounds, "must be true or false")
    return np.equal(rows, 1.0)


def _flat(column: Any, name: str) -> tuple[Any, Integers, Bools]:
    """What stands in the lists of a column, how much in each row, and which rows are there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    kind = array.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise InvalidLog(f"{name} must hold lists, and holds {_kind(kind)}")
    lengths = pc.list_value_length(array)
    if not array.null_count:
        return array.flatten(), arrayed(lengths).astype(np.int64), np.ones(len(array), dtype=bool)
    known = ~arrayed(array.is_null())
    return array.flatten(), arrayed(lengths.fill_null(0)).astype(np.int64), known


def arrayed(column: Any) -> NDArray[Any]:
    """A column of Arrow as an array of NumPy, copied where it has to be.

    Numbers and truths go by DLPack: `to_numpy` would import pandas, which takes longer than reading a log.
    """
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not isinstance(array, pa.Array) or array.null_count or not len(array):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(array.type):
        return np.from_dlpack(array.cast(pa.uint8())).view(np.bool_)
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        return np.from_dlpack(array)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _offers(table: pa.Table, rounds: Integers) -> Parts:
    """What arms looked like in each round: K lists of d numbers, a null where one was not on offer."""
    if "arms" not in table.column_names:
        return {}
    inner, sizes, known = _flat(table["arms"], "arms")
    if not known.any():
        return {}
    refuse("arms", ~known | (sizes == 0), rounds, "must be there in every row, or in none")
    values, widths, offered = _flat(inner, "arms")
    dim = int(widths[offered].max()) if offered.any() else 0
    if not dim:
        raise InvalidLog("arms must have at least one feature")
    ends = np.cumsum(sizes)
    refuse("arms", offered & (widths != dim), RoundsOfItems(rounds, ends), f"must have {dim} features each")
    of_features = RoundsOfItems(rounds, np.cumsum(widths)[ends - 1])
    filled = numbers(values, "arms", of_features)
    refuse("arms", ~np.isfinite(filled), of_features, "must be finite")
    return _dense(filled.reshape(-1, dim), sizes, offered, int(sizes.max()))


def _dense(rows: Floats, sizes: Integers, offered: Bools, count: int) -> Parts:
    """Rows of arms on offer as an array (n, K, d), and which places are arms on offer, where not all are."""
    n = sizes.size
    if offered.all() and (sizes == count).all():
        return {"offers": rows.reshape(n, count, -1)}
    owner, place = _places_of_items(sizes)
    mask = np.zeros((n, count), dtype=bool)
    mask[owner[offered], place[offered]] = True
    offers = np.zeros((n, count, rows.shape[1]))
    offers[owner[offered], place[offered]] = rows
    return {"offers": offers, "offered": mask}


def loose(column: Any) -> NDArray[Any]:
    """A column of any kind as NumPy has it; texts without nulls as texts."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return arrayed(column) if column.null_count else arrayed(column).astype(str)
    return arrayed(column)
