"""Which columns of a table hold what: names of a user's choice become those of the schema."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np

from infex.arrays import Label
from infex.errors import InvalidLog
from infex.features import ContextTable, FeatureMap, Transformed
from infex.features.base import checked_map, encoder_of
from infex.logs.event_rows import EventNames
from infex.logs.log_tables import arrayed, few, numbers

if TYPE_CHECKING:
    import pyarrow as pa


ENCODED_KEY = b"infex: encoded contexts"  # in the metadata of a table whose contexts are features already


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The names of the columns of a log; `context` and `arms` may be several columns, or features of events.

    `labels` are those of the arms; without them arms of text are labelled in their order. `features` is the
    map that joins contexts with arms. Over a `features.table` it reads the columns of `context`, or all that
    the table names, numbers and texts, by their names.

    `arm`, `reward`, `propensity`, `round`, `explored`, `greedy`, `explore_probability`,
    `base_propensity`, `unit`, `stream` and `time` are those of the columns of a `Log`.
    """

    arm: str = "arm"
    reward: str = "reward"
    propensity: str = "propensity"
    round: str = "round"
    explored: str = "explored"
    greedy: str = "greedy"
    explore_probability: str = "explore_probability"
    base_propensity: str = "base_propensity"
    unit: str = "unit"
    stream: str = "stream"
    time: str = "time"
    context: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    labels: tuple[Label, ...] | None = None
    features: FeatureMap | None = None

    def __post_init__(self) -> None:
        for name in ("context", "arms"):
            given = self.context if name == "context" else self.arms
            if not isinstance(given, tuple) or not all(isinstance(each, str) for each in given):
                raise InvalidLog(f"{name} must be names of columns, got {given!r}")
        for each in fields(self)[:11]:
            if not isinstance(self.single(each.name), str):
                raise InvalidLog(f"{each.name} must be the name of a column")
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        checked_map(self.features)

    def single(self, name: str) -> str:
        """The column that holds what `name` says."""
        column: str = getattr(self, name)
        return column

    @property
    def table(self) -> ContextTable | Transformed | None:
        """What makes features of the columns of a context, if the map has something that reads names."""
        encoder = encoder_of(self.features)
        has_names = isinstance(encoder, ContextTable) or (isinstance(encoder, Transformed) and encoder.inputs)
        return encoder if has_names else None  # type: ignore[return-value]

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Columns that can hold nothing but numbers."""
        shares = tuple(
            self.single(name) for name in ("reward", "propensity", "explore_probability", "base_propensity")
        )
        table = self.table
        if table is None:
            return (*shares, *self.context)
        return (*shares, *dict(table.numbers)) if isinstance(table, ContextTable) else shares

    @property
    def of_events(self) -> EventNames:
        """What is read of events."""
        return EventNames(self.context, self.arms)


PLAIN_NAMES = ColumnNames()


def named_columns(table: pa.Table, names: ColumnNames) -> pa.Table:
    """A table with the names of the schema; columns that nobody named stay beside them."""
    for wanted in ("arm", "reward"):
        if names.single(wanted) not in table.column_names:
            raise InvalidLog(
                f"a log needs a column for {wanted}, and none is called {names.single(wanted)!r}: say "
                f"{wanted}=...; there are {few(table.column_names)}"
            )
    if len(set(table.column_names)) < len(table.column_names):
        raise InvalidLog("two columns of a log have the same name")
    singles = {names.single(each.name): each.name for each in fields(names)[:11]}
    encoder = names.table
    context = names.context
    if encoder is not None and not context and "context" not in table.column_names:
        context = encoder.inputs or ()
    _refuse_unknown(table, names, context)
    _refuse_text(table, names)
    found = {}
    for column in table.column_names:
        if column in singles:
            found[singles[column]] = table[column]
        elif (encoder is not None or column not in context) and column not in singles.values():
            found[column] = table[column]
    if context:
        found["context"] = _context(table, context, encoder)
    import pyarrow as pa

    marks = {ENCODED_KEY: b"yes"} if context and encoder is not None else {}
    return pa.table(found).replace_schema_metadata({**(table.schema.metadata or {}), **marks} or None)


def _refuse_unknown(table: pa.Table, names: ColumnNames, context: tuple[str, ...]) -> None:
    """Refuses a name that was said, and that no column has."""
    said = [names.single(each.name) for each in fields(names)[:11] if names.single(each.name) != each.default]
    missing = next((name for name in (*said, *context) if name not in table.column_names), None)
    if missing is not None:
        raise InvalidLog(f"no column is called {missing!r}; there are {few(table.column_names)}")
    if names.arms:
        raise InvalidLog("arms=... names features of events; in a table the column 'arms' holds lists")


def _refuse_text(table: pa.Table, names: ColumnNames) -> None:
    """Refuses a column of numbers that holds texts; the message names the first row, and not its text."""
    for name in names.number_columns:
        if name not in table.column_names or not _is_text(table[name].type):
            continue
        texts = enumerate(table[name].to_pylist(), 1)
        row = next((row for row, text in texts if text is not None and not _is_number(text)), None)
        more = '; texts are read by --features "table disjoint", or a map over infex.features.table'
        raise InvalidLog(
            f"column {name!r} must hold numbers, and "
            + ("holds texts" if row is None else f"row {row} holds a text")
            + (more if name in names.context and names.table is None else "")
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _context(table: pa.Table, names: tuple[str, ...], encoder: ContextTable | Transformed | None) -> Any:
    """The columns of a context as one column of lists; a column of lists by itself is one already."""
    import pyarrow as pa

    if encoder is None and len(names) == 1 and pa.types.is_nested(table[names[0]].type):
        return table[names[0]]
    if encoder is None:
        rows = np.arange(1, table.num_rows + 1)
        columns = np.column_stack([numbers(table[name], name, rows) for name in names])
    else:
        columns = encoder.encode_many({name: _values(table[name]) for name in names}).rows
    ends = pa.array(np.arange(len(columns) + 1, dtype=np.int32) * np.int32(columns.shape[1]))
    return pa.ListArray.from_arrays(ends, pa.array(columns.ravel(), from_pandas=True))


def _values(column: Any) -> list[Any]:
    """The values of a column, None where there is none; an empty text is none."""
    values = column.to_pylist()
    return [None if value == "" else value for value in values] if _is_text(column.type) else values


def arms_by_place(table: pa.Table, labels: tuple[Label, ...] | None) -> pa.Table:
    """A table whose arms are places among the labels; those that are places already stay."""
    import pyarrow as pa

    column = table["arm"]
    if labels is None and not _is_text(column.type):
        return table
    if column.null_count:
        rows = "1 row has" if column.null_count == 1 else f"{column.null_count:,} rows have"
        raise InvalidLog(f"arm must be there in every row; {rows} none")
    coded = column.combine_chunks().dictionary_encode() if not _is_coded(column) else column.combine_chunks()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    known = {label: place for place, label in enumerate(labels or sorted(set(coded.dictionary.to_pylist())))}
    words = coded.dictionary.to_pylist()
    codes = np.array([known.get(word, known.get(str(word), -1)) for word in words], dtype=np.int64)
    places = codes[arrayed(coded.indices).astype(np.int64)]
    if (places < 0).any():
        raise InvalidLog(f"arm must be one of the {len(known)} labels; {(places < 0).sum():,} rows are not")
    return table.set_column(table.column_names.index("arm"), "arm", pa.array(places))


def labels_in(table: pa.Table) -> set[str]:
    """The labels of arms that are texts; none where they are places."""
    arms = table["arm"]
    words = arms.unique().to_pylist() if _is_text(arms.type) else []
    return {str(word) for word in words if word is not None}


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(
        pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)
    )


def _is_coded(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(column.type))
