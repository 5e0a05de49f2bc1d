"""Runs as rows: one for each run, with its curve in two lists, or one for each recorded round.

The first form is kept, in memory and in the files of chunks: it takes a tenth of the room. The second, that
of `results.parquet`, is made of it where somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from infex.arrays import Floats, Integers
from infex.errors import InvalidSetting
from infex.experiments.runs_table import RUN_COLUMNS
from infex.experiments.tasks import TaskOutcome

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
