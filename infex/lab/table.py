"""Runs as an Arrow table, and their settings as columns of it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from infex.arrays import Floats, Integers
from infex.checks import settings_by_name
from infex.errors import InvalidSetting
from infex.lab import environments
from infex.lab.specs import LabelledPolicy, Recipe
from infex.lab.tasks import TaskOutcome
from infex.policies import Policy
from infex.registry import described, label_of, setting_text
from infex.schedules.base import has

ROWS_SHOWN = 60  # all rows of a table that has no more
ROWS_OF_A_LONG_ONE = 10


def aligned(table: pa.Table) -> str:
    """The table with its names above its columns: all rows if they are few, else the first and their number.

    >>> print(aligned(pa.table({"policy": ["A", "B"], "regret": [1234.5678, None]})))
    policy  regret
    A        1,235
    B            \N{EN DASH}
    """
    many = table.num_rows > ROWS_SHOWN
    rows = table.slice(0, ROWS_OF_A_LONG_ONE if many else ROWS_SHOWN)
    columns = [
        [name, *map(_written, rows[place].to_pylist())] for place, name in enumerate(rows.column_names)
    ]
    widths = [max(map(len, column)) for column in columns]
    texts = [pa.types.is_string(field.type) for field in rows.schema]
    lines = [
        "  ".join(
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, texts, strict=True)
        ).rstrip()
        for line in zip(*columns, strict=True)
    ]
    return "\n".join([*lines, f"... {table.num_rows:,} rows in all"] if many else lines)


def _written(value: object) -> str:
    """A value as a reader wants it: four digits, or all before the point."""
    if value is None:
        return "\N{EN DASH}"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.4g}"


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
        ("optimal", pa.int64()),
        ("regret_exploring", pa.float64()),
        ("regret_greedy", pa.float64()),
        ("log_det_ratio", pa.float64()),
    ]
)


@final
class Table:
    """An Arrow table that prints as one, with ways to Polars and pandas."""

    def __init__(self, arrow: pa.Table) -> None:
        self.arrow = arrow

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
        return aligned(self.arrow)

    def to_polars(self) -> Any:
        """The table as a Polars data frame."""
        import polars

        return polars.from_arrow(self.arrow)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        return self.arrow.to_pandas()


RUNS_OF_A_SLICE = 8  # fewer are put in order one by one
CURVE = ("t", "regret")  # the columns that have a number for each recorded round
RUN_FACTS = [name for name in RUN_COLUMNS.names if name not in CURVE]
RUN_LISTS = pa.schema(
    [(each.name, pa.list_(each.type) if each.name in CURVE else each.type) for each in RUN_COLUMNS]
)


def runs_of(outcomes: Iterable[TaskOutcome]) -> pa.Table:
    """One row for each run that went well."""
    good = [outcome for outcome in outcomes if outcome.error is None]
    columns: dict[str, Any] = {name: [outcome.facts[name] for outcome in good] for name in RUN_FACTS[1:]}
    columns["key"] = [outcome.key for outcome in good]
    ends = np.cumsum([0, *(len(outcome.rounds) for outcome in good)])
    columns["t"] = _lists(ends, np.concatenate([np.zeros(0, np.int64), *(each.rounds for each in good)]))
    columns["regret"] = _lists(ends, np.concatenate([np.zeros(0), *(each.regret for each in good)]))
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
    codes, t = _codes(rows), rows["t"].to_numpy()
    order = np.lexsort((t, codes))
    again = (np.diff(codes[order], prepend=-1) == 0) & (np.diff(t[order], prepend=-1) == 0)
    order = order[~again]
    ends = np.append(np.flatnonzero(np.diff(codes[order], prepend=-1)), len(order))
    facts = rows.select(RUN_FACTS).take(pa.array(order[ends[1:] - 1]))
    columns = {name: facts[name] for name in RUN_FACTS}
    columns |= {name: _lists(ends, rows[name].to_numpy()[order]) for name in CURVE}
    return pa.table({name: columns[name].cast(RUN_LISTS.field(name).type) for name in RUN_LISTS.names})


def by_round(runs: pa.Table) -> pa.Table:
    """One row for each run and recorded round."""
    counts = pc.list_value_length(runs["t"]).to_numpy()
    facts = runs.select(RUN_FACTS).take(pa.array(np.repeat(np.arange(len(counts)), counts)))
    columns = {name: facts[name] for name in RUN_FACTS}
    columns |= {name: pc.list_flatten(runs[name]) for name in CURVE}
    return pa.table({name: columns[name] for name in RUN_COLUMNS.names}, schema=RUN_COLUMNS)


def once(runs: pa.Table) -> pa.Table:
    """Each run once, in the given order; a crash while files were joined may have left some twice."""
    codes = _codes(runs)
    if not codes.size or codes.max() + 1 == codes.size:
        return runs
    return _joined(runs, np.bincount(codes)[codes] > 1)


def _joined(runs: pa.Table, twice: NDArray[np.bool_]) -> pa.Table:
    """One row for each run, of which some have two or more."""
    joined = by_run(by_round(runs.filter(pa.array(twice))))
    all_runs = pa.concat_tables([runs.filter(pa.array(~twice)), joined])
    return in_order(all_runs, pc.unique(runs["key"]))


def in_order(runs: pa.Table, keys: pa.Array) -> pa.Table:
    """The runs of these keys, as far as they are there, in their order.

    Chunks hold runs that follow each other, so that slices of them are put in order, and nothing is copied.
    """
    found = pc.fill_null(pc.index_in(runs["key"], value_set=keys), -1).to_numpy()
    order = np.argsort(found, kind="stable")[np.count_nonzero(found < 0) :]
    firsts = np.append(0, np.flatnonzero(np.diff(order) != 1) + 1)
    if len(order) < RUNS_OF_A_SLICE * len(firsts):
        return runs.take(pa.array(order))
    sizes = np.diff(np.append(firsts, len(order)))
    slices = zip(order[firsts].tolist(), sizes.tolist(), strict=True)
    return pa.concat_tables([runs.slice(first, size) for first, size in slices])


def ends_of(runs: pa.Table) -> Integers:
    """Where the curve of each run begins among all rounds of all runs, and where the last one ends."""
    return np.append(0, np.cumsum(pc.list_value_length(runs["t"]).to_numpy()))


def lasts_of(column: pa.ChunkedArray) -> Floats | Integers:
    """The last number of each list; to flatten the column would copy all of them."""
    found = [np.zeros(0, column.type.value_type.to_pandas_dtype())]
    for chunk in column.chunks:
        found.append(chunk.values.to_numpy()[chunk.offsets.to_numpy()[1:] - 1])
    return np.concatenate(found)


def _codes(rows: pa.Table) -> Integers:
    """A number for each key, in the order in which they first stand there."""
    codes: Integers = rows["key"].combine_chunks().dictionary_encode().indices.to_numpy()
    return codes


def _lists(ends: Integers, values: Any) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(values))


Facts = dict[str, Any]
POLICY_KEYS, PROBLEM_KEYS = ("policy", "horizon"), ("environment",)
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
ROWS_AT_A_TIME = 1 << 14  # which take some 10 MB with all their settings
TAKEN = {*RUN_COLUMNS.names, *SETTING_COLUMNS} - {"period", "data", "delta", "scale"}


def settings_of(players: Iterable[LabelledPolicy], problems: Iterable[Recipe]) -> dict[str, list[Facts]]:
    """The settings of all policies and problems of a sweep, as plain data."""
    told = [{"environment": problem.label} | of_problem(problem) for problem in problems]
    return {"policies": [_of_player(player) for player in players], "environments": told}


def _of_player(player: LabelledPolicy) -> Facts:
    facts: Facts = {"policy": player.label, "horizon": player.horizon, "penalty": player.penalty}
    estimator = player.estimator
    facts |= of_policy(player.policy) | {"estimator": "Ridge" if estimator is None else estimator.label}
    if estimator is not None:
        kind, settings, _ = described(estimator.thing)
        facts |= {"estimator_kind": kind} | {
            f"estimator_{name}": _plain(each) for name, each in settings.items()
        }
    names = {"base": player.base, "schedule": player.schedule}
    return facts | {name: label for name, label in names.items() if label is not None}


def of_policy(policy: Policy) -> Facts:
    """The settings of a policy by the names of their columns.

    >>> from infex import Infex, LinUCB, every
    >>> facts = of_policy(Infex(LinUCB(delta=0.1), every(20)))
    >>> [facts[name] for name in ("kind", "base", "base_kind", "schedule", "period", "delta")]
    ['Infex', 'LinUCB(delta=0.1)', 'LinUCB', 'every(20)', 20, 0.1]
    """
    kind, settings, _ = described(policy)
    facts: Facts = {"kind": kind}
    for name, value in settings.items():
        if name == "schedule" and has(value, "explores"):
            facts |= {"schedule": label_of(value)} | dict(_of_schedule(value))
        elif name != "base" or value is None:
            facts[f"policy_{name}" if name in TAKEN else name] = _plain(value)
    return facts | _of_base(settings["base"], facts) if settings.get("base") is not None else facts


def _of_base(base: Policy, around: Facts) -> Facts:
    """The settings of a base; those that the policy around it has too are its own columns."""
    inner = of_policy(base)
    facts: Facts = {"base": label_of(base), "base_kind": inner.pop("kind")}
    taken = {*around, *facts}
    return facts | {word if word not in taken else f"base_{word}": each for word, each in inner.items()}


def _of_schedule(schedule: object) -> Iterator[tuple[str, Any]]:
    """Its kind and settings, and those of a schedule inside it."""
    kind, settings, _ = described(schedule)
    yield "schedule_kind", kind
    for name, value in settings.items():
        if name == "schedule" and has(value, "explores"):
            yield from ((word, each) for word, each in _of_schedule(value) if word != "schedule_kind")
        elif name in ("m", "period"):
            yield "period", _plain(value)
        elif not isinstance(value, list | tuple):
            yield f"schedule_{name}", _plain(value)


def of_problem(problem: Recipe) -> Facts:
    """The settings of a problem, those that have their defaults too; but for dimension and arms."""
    kind, settings = problem.source, dict(problem.settings)
    if problem.is_of_a_kind:
        settings = _all_of(problem)
    elif not isinstance(kind, str):
        kind, settings, _ = described(kind)
    plain = {name: _plain(value) for name, value in settings.items() if not isinstance(value, np.ndarray)}
    facts = {f"environment_{name}": value for name, value in plain.items() if name not in ("dim", "arms")}
    return {"environment_kind": kind} | facts


def _all_of(problem: Recipe) -> Facts:
    """What was said, defaults, and what an instance has where there is no default by that name."""
    asked = environments.settings_of(environments.PROBLEMS[problem.source])
    settings = {name: each for name, each in asked.items() if each is not inspect.Parameter.empty}
    made = settings_by_name(problem.make(seed=0))
    settings |= {name: made.get(name) for name, each in settings.items() if each is None}
    return settings | dict(problem.settings)


def _plain(value: object) -> Any:
    """A setting as JSON has it: a number, a text, or nothing."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    return value.item() if isinstance(value, np.generic) else setting_text(value)


def widened(table: pa.Table, settings: Mapping[str, Sequence[Facts]]) -> pa.Table:
    """A table of runs with a column for every setting; those of a run that has none are null."""
    found = {name: pa.nulls(table.num_rows, kind) for name, kind in SETTING_COLUMNS.items()}
    for keys, records in (
        (POLICY_KEYS, settings.get("policies", ())),
        (PROBLEM_KEYS, settings.get("environments", ())),
    ):
        if records and set(keys) <= set(table.column_names):
            found |= _columns(table, keys, records)
    for name, column in found.items():
        table = table.append_column(name, column)
    return table


def write_wide(runs: pa.Table, settings: Mapping[str, Sequence[Facts]], sink: IO[bytes]) -> None:
    """Writes runs as a Parquet file with a row for each recorded round, some rows at a time."""
    schema = widened(by_round(runs.slice(0, 1)), settings).schema
    step = max(1, ROWS_AT_A_TIME * runs.num_rows // max(int(ends_of(runs)[-1]), 1))
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        for first in range(0, max(runs.num_rows, 1), step):
            writer.write_table(widened(by_round(runs.slice(first, step)), settings))
            pa.default_memory_pool().release_unused()


def _columns(table: pa.Table, keys: tuple[str, ...], records: Sequence[Facts]) -> dict[str, pa.Array]:
    """What the records say of each row, which is told by its keys."""
    places = pa.array(_places(table, keys, records))
    names = dict.fromkeys(name for record in records for name in record if name not in keys)
    columns = {}
    for name in names:
        values = _array([record.get(name) for record in records], SETTING_COLUMNS.get(name))
        columns[name] = pa.concat_arrays([values, pa.nulls(1, values.type)]).take(places)
    return columns


def _places(table: pa.Table, keys: tuple[str, ...], records: Sequence[Facts]) -> Integers:
    """The number of each row's record; that of none is their count."""
    known = {tuple(record[key] for key in keys): place for place, record in enumerate(records)}
    codes = [table[key].combine_chunks().dictionary_encode() for key in keys]
    parts = [(code.indices.to_numpy(), code.dictionary.to_pylist()) for code in codes]
    mixed = np.zeros(table.num_rows, dtype=np.int64)
    for indices, values in parts:
        mixed = mixed * len(values) + indices
    numbers, inverse = np.unique(mixed, return_inverse=True)
    found = [known.get(_told(int(number), parts), len(records)) for number in numbers]
    return np.array(found, dtype=np.int64)[inverse.reshape(-1)]


def _told(number: int, parts: Sequence[tuple[Any, list[Any]]]) -> tuple[Any, ...]:
    """The values of the keys that a mixed number stands for."""
    told: list[Any] = []
    for _, values in reversed(parts):
        number, place = divmod(number, len(values))
        told.insert(0, values[place])
    return tuple(told)


def _array(values: list[Any], wanted: pa.DataType | None) -> pa.Array:
    """Values as one column: whole numbers, numbers, truths, or text where they are of several kinds."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.nulls(len(values), wanted or pa.string())
    if kinds == {int} and wanted != pa.float64():
        return pa.array(values, pa.int64())
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    texts = [value if value is None or isinstance(value, str) else setting_text(value) for value in values]
    return pa.array(texts, pa.string())
