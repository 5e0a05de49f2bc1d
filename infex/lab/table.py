"""Runs as an Arrow table, and their settings as columns of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from infex.arrays import Integers
from infex.errors import InvalidSetting
from infex.lab.runner import Outcome
from infex.lab.specs import Facts
from infex.registry import setting_text

ROWS_SHOWN = 60  # all rows of a table that has no more
ROWS_OF_A_LONG_ONE = 10
ROWS_AT_A_TIME = 1 << 14  # which take some 10 MB with all their settings
RUN_COLUMNS = pa.schema(
    [
        ("key", pa.string()),
        ("environment", pa.string()),
        ("dim", pa.int32()),
        ("arms", pa.int32()),
        ("policy", pa.string()),
        ("seed", pa.int64()),
        ("horizon", pa.int64()),
        ("t", pa.int64()),
        ("regret", pa.float64()),
        ("seconds", pa.float64()),
        ("explored", pa.int64()),
        ("different", pa.int64()),
        ("optimal", pa.int64()),
        ("regret_exploring", pa.float64()),
        ("regret_greedy", pa.float64()),
        ("log_det_ratio", pa.float64()),
    ]
)
CURVE = ("t", "regret")  # the columns that have a number for each recorded round
RUN_LISTS = pa.schema(  # one row for each run
    [(each.name, pa.list_(each.type) if each.name in CURVE else each.type) for each in RUN_COLUMNS]
)
SETTING_COLUMNS: Mapping[str, pa.DataType] = {  # those that every table has
    "kind": pa.string(),
    "base": pa.string(),
    "schedule": pa.string(),
    "period": pa.int64(),
    "data": pa.string(),
    "delta": pa.float64(),
    "scale": pa.float64(),
    "penalty": pa.float64(),
    "estimator": pa.string(),
}
COLUMN_TYPES = {  # of tables that are made of results; all others are float64
    **dict.fromkeys(("environment", "policy", "against", "line"), pa.string()),
    **dict.fromkeys(("dim", "arms", "horizon", "instances", "runs", "pairs", "below"), pa.int64()),
    **dict.fromkeys(("problems", "seed_of_most"), pa.int64()),
}
NO_COLUMNS = ("policy", "horizon", "environment", "content")  # of settings: which runs they are of


@final
class Table:
    """An Arrow table that prints as one, with ways to Polars and pandas."""

    def __init__(self, arrow: pa.Table) -> None:
        self.arrow = arrow

    @staticmethod
    def of(names: Sequence[str], rows: Sequence[Sequence[Any]], **types: pa.DataType) -> Table:
        """Rows under the names of their columns, whose types are those of `COLUMN_TYPES`; NaN is null."""
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        kinds = [(COLUMN_TYPES | types).get(name, pa.float64()) for name in names]
        arrays = [pa.array(*each, from_pandas=True) for each in zip(columns, kinds, strict=True)]
        return Table(pa.table(arrays, names=list(names)))

    def __getattr__(self, name: str) -> Any:
        """All that an Arrow table has."""
        return getattr(self.arrow, name)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For every library that reads Arrow."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __getitem__(self, name: str) -> Any:
        """A column."""
        return self.arrow[name]

    def __repr__(self) -> str:
        """Names above columns: all rows if they are few, else the first and their number.

        >>> Table(pa.table({"policy": ["A", "B"], "regret": [1234.5678, None]}))
        policy  regret
        A        1,235
        B            \N{EN DASH}
        """
        many = len(self) > ROWS_SHOWN
        rows = self.arrow.slice(0, ROWS_OF_A_LONG_ONE if many else ROWS_SHOWN)
        columns = []
        for column in rows.schema:
            cells = [column.name, *map(_written, rows[column.name].to_pylist())]
            width, text = max(map(len, cells)), pa.types.is_string(column.type)
            columns.append([cell.ljust(width) if text else cell.rjust(width) for cell in cells])
        lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
        return "\n".join([*lines, f"... {len(self):,} rows in all"] if many else lines)

    def to_polars(self) -> Any:
        """The table as a Polars data frame."""
        import polars

        return polars.from_arrow(self.arrow)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        return self.arrow.to_pandas()


def _written(value: object) -> str:
    """A value as a reader wants it: four digits, or all before the point."""
    if value is None:
        return "\N{EN DASH}"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.4g}"


def runs_of(outcomes: Iterable[Outcome]) -> pa.Table:
    """One row for each run that went well."""
    good = [(each.facts, each.curve) for each in outcomes if each.curve is not None]
    columns: dict[str, Any] = {
        name: [facts[name] for facts, _ in good] for name in RUN_LISTS.names if name not in CURVE
    }
    ends = np.cumsum([0, *(len(rounds) for _, (rounds, _) in good)])
    columns["t"] = _lists(ends, np.concatenate([np.zeros(0, np.int64), *(rounds for _, (rounds, _) in good)]))
    columns["regret"] = _lists(ends, np.concatenate([np.zeros(0), *(regret for _, (_, regret) in good)]))
    return pa.table({name: columns[name] for name in RUN_LISTS.names}, schema=RUN_LISTS)


def by_run(rows: pa.Table) -> pa.Table:
    """One row for each run, in the order in which they begin; of a round that stands twice, the first row.

    What a run has beside its curve is that of its last round.
    """
    missing = [name for name in RUN_COLUMNS.names if name not in rows.column_names]
    if missing:
        raise InvalidSetting(f"a table of runs needs the columns {', '.join(missing)}")
    if pa.types.is_list(rows.schema.field("t").type):
        return rows.select(RUN_LISTS.names)
    rows = rows.select(RUN_COLUMNS.names).unify_dictionaries().combine_chunks()
    codes, t = codes_of(rows["key"])[0], rows["t"].to_numpy()
    order = np.lexsort((t, codes))
    again = (np.diff(codes[order], prepend=-1) == 0) & (np.diff(t[order], prepend=-1) == 0)
    order = order[~again]
    ends = np.append(np.flatnonzero(np.diff(codes[order], prepend=-1)), len(order))
    facts = rows.drop_columns(list(CURVE)).take(pa.array(order[ends[1:] - 1]))
    columns = {name: facts[name] for name in facts.column_names}
    columns |= {name: _lists(ends, rows[name].to_numpy()[order]) for name in CURVE}
    return pa.table({name: columns[name].cast(RUN_LISTS.field(name).type) for name in RUN_LISTS.names})


def by_round(runs: pa.Table) -> pa.Table:
    """One row for each run and recorded round, with all columns of the runs."""
    counts = pc.list_value_length(runs["t"]).to_numpy()
    facts = runs.drop_columns(list(CURVE)).take(pa.array(np.repeat(np.arange(len(counts)), counts)))
    columns = [pc.list_flatten(runs[name]) if name in CURVE else facts[name] for name in runs.column_names]
    return pa.table(columns, names=runs.column_names)


def last_rounds(runs: pa.Table) -> pa.Table:
    """One row for each run, as of its last recorded round."""
    ends = ends_of(runs)[1:] - 1
    for name in CURVE:
        lasts = pa.array(pc.list_flatten(runs[name]).to_numpy()[ends])
        runs = runs.set_column(runs.column_names.index(name), name, lasts)
    return runs


def ends_of(runs: pa.Table) -> Integers:
    """Where the curve of each run begins among all rounds of all runs, and where the last one ends."""
    return np.append(0, np.cumsum(pc.list_value_length(runs["t"]).to_numpy()))


def codes_of(column: pa.ChunkedArray) -> tuple[Integers, list[Any]]:
    """A number for each text, in the order in which they first stand there, and the texts."""
    codes = column.combine_chunks().dictionary_encode()
    return codes.indices.to_numpy(), codes.dictionary.to_pylist()


def _lists(ends: Integers, values: Any) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values))


def with_settings(runs: pa.Table, settings: Mapping[str, Sequence[Facts]]) -> pa.Table:
    """Runs with a column for every setting; those of a run that has none are null.

    `settings` are records of the "policies", each with its horizon, and of the "environments".
    """
    columns = {name: pa.nulls(runs.num_rows, kind) for name, kind in SETTING_COLUMNS.items()}
    for keys, records in (
        (("policy", "horizon"), settings["policies"]),
        (("environment",), settings["environments"]),
    ):
        places = {tuple(record[key] for key in keys): place for place, record in enumerate(records)}
        rows = zip(*(runs[key].to_pylist() for key in keys), strict=True)
        taken = pa.array([places.get(row) for row in rows], pa.int64())
        for name in dict.fromkeys(name for record in records for name in record if name not in NO_COLUMNS):
            values = [record.get(name) for record in records]
            columns[name] = _column(values, SETTING_COLUMNS.get(name)).take(taken)
    for name, column in columns.items():
        runs = runs.append_column(name, column)
    return runs


def _column(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    """Values of one kind as a column, or as texts where they are of several."""
    if all(each is None for each in values):
        return pa.nulls(len(values), kind or pa.string())
    try:
        column = pa.array(values)
    except (pa.ArrowException, OverflowError):
        texts = [each if each is None or isinstance(each, str) else setting_text(each) for each in values]
        return pa.array(texts, pa.string())
    return column.cast(kind) if kind == pa.float64() and pa.types.is_integer(column.type) else column
