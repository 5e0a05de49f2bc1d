"""A log as a table of Arrow in the schema of logs, and back; Parquet files hold such tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats, Integers
from infex.checks import settings_by_name
from infex.errors import InvalidLog, PartsDiffer
from infex.files import replacing
from infex.logs.log import NOT_OF_POLICY, UNTYPED, ItemRounds, Log, refuse
from infex.logs.schema import LogHeader, header_of

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = ("reward", "propensity", "explore_probability", "base_propensity", "kept")
LISTS = ("base_propensities", "context", "offered", "arms")
TRUTHS = ("explored", *NOT_OF_POLICY)
NAMED = ("round", "arm", "greedy", *NUMBERS, *TRUTHS, *LISTS, *UNTYPED)
ROWS_PER_GROUP = 131_072


# Writing


def table_of(log: Log) -> pa.Table:
    """The table of a log, with its header in the metadata.

    >>> table_of(Log(arm=[0, 1], reward=[0.5, float("nan")])).column_names
    ['round', 'arm', 'reward']
    """
    import pyarrow as pa

    given = settings_by_name(log)
    columns: dict[str, Any] = {"round": pa.array(log.round), "arm": pa.array(log.arm.astype(np.int32))}
    columns |= {name: pa.array(given[name], from_pandas=True) for name in NUMBERS if given[name] is not None}
    if log.greedy is not None:
        columns["greedy"] = pa.array(log.greedy.astype(np.int32), mask=log.greedy < 0)
    columns |= {name: pa.array(given[name]) for name in TRUTHS if given[name] is not None}
    if log.base_propensities is not None:
        unknown = np.asarray(np.isnan(log.base_propensities).any(axis=1))
        columns["base_propensities"] = list_column(log.base_propensities, unknown)
    if log.context is not None:
        columns["context"] = list_column(log.context)
    if log.offers is not None:
        n, count, dim = log.offers.shape
        hidden = None if log.offered is None else np.logical_not(log.offered.ravel())
        rows = list_column(log.offers.reshape(n * count, dim), hidden)
        columns["arms"] = pa.ListArray.from_arrays(_offsets(n, count), rows)
    elif log.offered is not None:
        columns["offered"] = list_column(log.offered)
    untyped = {name: given[name] for name in UNTYPED} | dict(log.others)
    columns |= {name: pa.array(values) for name, values in untyped.items() if values is not None}
    header = LogHeader(log.facts, log.arms, log.labels, log.features, log.count)
    return pa.table(columns).replace_schema_metadata(header.metadata())


def list_column(values: NDArray[Any], missing: Bools | None = None, *, nan_is_null: bool = False) -> Any:
    """An array (n, K) as a column of lists of K values; null where it is missing."""
    import pyarrow as pa

    n, size = values.shape
    mask = None if missing is None or not missing.any() else pa.array(missing)
    flat = pa.array(np.ascontiguousarray(values).ravel(), from_pandas=nan_is_null)
    return pa.ListArray.from_arrays(_offsets(n, size), flat, mask=mask)


def _offsets(n: int, size: int) -> Any:
    import pyarrow as pa

    return pa.array(np.arange(n + 1, dtype=np.int32) * np.int32(size))


def write_parquet(parts: Iterable[Log], path: Path) -> None:
    """Writes parts of a log, one after the other, to one file; it is replaced as a whole."""
    import pyarrow.parquet as pq

    tables = map(table_of, parts)
    first = next(tables)
    with replacing(path) as file, pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
        writer.write_table(first, row_group_size=ROWS_PER_GROUP)
        for table in tables:
            writer.write_table(_in_schema(table, first.schema), row_group_size=ROWS_PER_GROUP)


def _in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    if set(table.column_names) != set(schema.names):
        raise PartsDiffer("parts of this log have different columns: read it whole")
    try:
        return table.select(schema.names).cast(schema)
    except pa.ArrowException:
        raise PartsDiffer("parts of this log have columns of different types: read it whole") from None


# Reading


def log_of(table: pa.Table, header: LogHeader | None = None, *, first: int = 1) -> Log:
    """The log in a table in the schema of logs; `first` is the first round if there is no column for rounds.

    >>> import pyarrow as pa
    >>> log_of(pa.table({"arm": [0, 1], "reward": [0.5, None]})).rewarded.tolist()
    [True, False]
    """
    header = header or header_of(table.schema.metadata) or LogHeader()
    refuse_repeated_columns(table.column_names)
    for name in ("arm", "reward"):
        if name not in table.column_names:
            raise InvalidLog(f"a log needs a column {name}, got {listed_names(table.column_names)}")
    if not table.num_rows:
        raise InvalidLog("a log must have at least one row, got none")
    rounds = np.arange(first, first + table.num_rows)
    if "round" in table.column_names:
        rounds = _whole_numbers(table["round"], "round", rounds)
    readers: dict[str, Callable[[Any, str, Integers], Any]] = {
        **dict.fromkeys(NUMBERS, numbers),
        **dict.fromkeys(TRUTHS, _truths), "arm": _whole_numbers, "greedy": _arm_or_minus_one,
        "base_propensities": _number_lists, "context": _number_lists, "offered": _truth_lists,
    }  # fmt: skip
    columns: dict[str, Any] = {"round": rounds}
    for name in table.column_names:
        if name in readers:
            columns[name] = readers[name](table[name], name, rounds)
        elif name in UNTYPED:
            columns[name] = _untyped(table[name])
    columns["others"] = {name: _untyped(table[name]) for name in table.column_names if name not in NAMED}
    if "arms" in table.column_names:
        columns |= _offers(table["arms"], rounds)
    _widen_propensities(columns, header)
    if columns.get("offers") is None:
        columns |= {"arms": header.arms, "features": header.features}
    ragged = any(columns.get(name) is not None for name in ("offers", "base_propensities", "offered"))
    count = None if ragged or (header.arms_count or 0) < 1 else header.arms_count  # parts may have fewer arms
    return Log(**columns, labels=header.labels, facts=header.facts, count=count)  # type: ignore[arg-type]


def refuse_repeated_columns(names: list[str]) -> None:
    """Refuses a table of which two columns have one name."""
    if len(set(names)) < len(names):
        raise InvalidLog("two columns of a log have the same name")


def listed_names(names: list[str]) -> str:
    """Some names of columns, for a message."""
    shown = [name if len(name) <= 40 else f"{name[:37]}..." for name in names[:8]]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "") if names else "none"


def _widen_propensities(columns: dict[str, Any], header: LogHeader) -> None:
    """Pads propensities of the arms on offer with 0 for the others."""
    propensities, offers = columns.get("base_propensities"), columns.get("offers")
    if propensities is None:
        return
    width = propensities.shape[1]
    sizes = [0 if offers is None else offers.shape[1], 0 if header.arms is None else len(header.arms)]
    most = max(width, *sizes, len(header.labels or ()), header.arms_count or 0)
    if most == width > 0:
        return
    wide = np.zeros((len(propensities), most))
    wide[:, :width] = propensities
    wide[np.isnan(propensities).any(axis=1) | (width == 0)] = np.nan
    columns["base_propensities"] = wide


def numbers(column: Any, name: str, rounds: Integers | ItemRounds) -> Floats:
    """A column of numbers; nulls become NaN, and NaN in a file is refused."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number and not pa.types.is_boolean(kind):
        raise InvalidLog(f"{name} must hold numbers, and holds {_kind(kind)}")
    column = column if is_number else column.cast(pa.int8())
    floats = column.cast(pa.float64(), safe=False)
    values = array_of(floats.fill_null(np.nan) if column.null_count else floats)
    bad = np.isnan(values)
    if column.null_count:
        bad &= ~array_of(column.is_null())
    refuse(name, bad, rounds, "must be a number or null")
    return values


def _whole_numbers(column: Any, name: str, rounds: Integers) -> Integers:
    import pyarrow as pa

    if pa.types.is_signed_integer(column.type) and not column.null_count:
        values = array_of(column.cast(pa.int64()))
    else:
        values = numbers(column, name, rounds)
        refuse(name, np.isnan(values), rounds, "must be there in every row")
        refuse(name, values != np.floor(values), rounds, "must be a whole number")
    refuse(name, (values > 2**53) | (values < -(2**53)), rounds, "must be a whole number")
    return values.astype(np.int64, copy=False)


def _arm_or_minus_one(column: Any, name: str, rounds: Integers) -> Integers:
    return _whole_numbers(column.fill_null(-1) if column.null_count else column, name, rounds)


def _truths(column: Any, name: str, rounds: Integers) -> Bools:
    values = numbers(column, name, rounds)
    refuse(name, ~((values == 0.0) | (values == 1.0)), rounds, "must be true or false")
    return np.equal(values, 1.0)


def _kind(kind: object) -> str:
    return str(kind).split("<", maxsplit=1)[0][:40]


def _number_lists(column: Any, name: str, rounds: Integers) -> Floats:
    """A column of lists as an array (n, K), short lists padded with 0; NaN in a row that is null."""
    import pyarrow as pa

    values, sizes, known = _flattened(column, name)
    if pa.types.is_list(values.type):
        raise InvalidLog(f"{name} must be lists of numbers, and holds lists of lists")
    width = int(sizes[known].max()) if known.any() else 0
    if name == "context":
        refuse(name, ~known, rounds, "must be there in every row")
        refuse(name, sizes != width, rounds, f"must have {width} numbers in each row")
    items = ItemRounds(rounds, np.cumsum(sizes))
    inside = numbers(values, name, items)
    if values.null_count:
        refuse(name, np.isnan(inside), items, "must have no null inside")
    if width and (sizes == width).all():
        return inside.reshape(-1, width)
    rows = np.zeros((len(known), width))
    rows[~known] = np.nan
    rows[_item_places(sizes)] = inside
    return rows


def _truth_lists(column: Any, name: str, rounds: Integers) -> Bools:
    rows = _number_lists(column, name, rounds)
    refuse(name, ~((rows == 0.0) | (rows == 1.0)).all(axis=1), rounds, "must be true or false")
    return np.equal(rows, 1.0)


def _item_places(sizes: Integers) -> tuple[Integers, Integers]:
    """The row of each item of lists of these sizes, and its place in the list."""
    owner = np.repeat(np.arange(sizes.size), sizes)
    return owner, np.arange(owner.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _flattened(column: Any, name: str) -> tuple[Any, Integers, Bools]:
    """All items of the lists of a column, the size of each list, and which rows are not null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], column.type)
    kind = array.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise InvalidLog(f"{name} must hold lists, and holds {_kind(kind)}")
    sizes, known = pc.list_value_length(array), np.ones(len(array), dtype=bool)
    if array.null_count:
        sizes, known = sizes.fill_null(0), ~array_of(array.is_null())
    return array.flatten(), array_of(sizes).astype(np.int64), known


def array_of(column: Any) -> NDArray[Any]:
    """A column of Arrow as an array of NumPy, copied only if it must be.

    Numbers and truth values go by DLPack: `to_numpy` would import pandas, which takes longer than reading.
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


def _offers(column: Any, rounds: Integers) -> dict[str, Any]:
    """Features of arms in each round: K lists of d numbers, null where an arm was not on offer."""
    inner, sizes, known = _flattened(column, "arms")
    if not known.any():
        return {}
    refuse("arms", ~known | (sizes == 0), rounds, "must be there in every row, or in none")
    values, widths, offered = _flattened(inner, "arms")
    dim = int(widths[offered].max()) if offered.any() else 0
    if not dim:
        raise InvalidLog("arms must have at least one feature")
    ends = np.cumsum(sizes)
    refuse("arms", offered & (widths != dim), ItemRounds(rounds, ends), f"must have {dim} features each")
    items = ItemRounds(rounds, np.cumsum(widths)[ends - 1])
    flat = numbers(values, "arms", items)
    refuse("arms", ~np.isfinite(flat), items, "must be finite")
    rows, n, count = flat.reshape(-1, dim), sizes.size, int(sizes.max())
    if offered.all() and (sizes == count).all():
        return {"offers": rows.reshape(n, count, -1)}
    owner, place = _item_places(sizes)
    mask, offers = np.zeros((n, count), dtype=bool), np.zeros((n, count, dim))
    mask[owner[offered], place[offered]] = True
    offers[owner[offered], place[offered]] = rows
    return {"offers": offers, "offered": mask}


def _untyped(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return array_of(column).astype(str) if texts and not column.null_count else array_of(column)
