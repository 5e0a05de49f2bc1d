"""A log to a file: infex's own schema as Parquet, or a form that others read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from infex.errors import InvalidLog, PartsDiffer
from infex.files import replacing
from infex.logs.dsjson import dsjson_lines
from infex.logs.log import Log
from infex.logs.log_tables import table_of
from infex.logs.obp_form import obp_feedback
from infex.logs.opening_logs import arrays_of

if TYPE_CHECKING:
    import pyarrow as pa

WrittenForm = Literal["infex", "obp", "dsjson"]
WRITTEN_FORMS = ("infex", "obp", "dsjson")
ROWS_IN_A_GROUP = 131_072


def write(log: Log | Iterable[Log], path: str | os.PathLike[str], form: WrittenForm = "infex") -> None:
    """Writes a log, or parts of one after the other, to a file that is there whole or not at all.

    `form` is "infex": Parquet in the schema of logs, from which `read` gives the same log to the last bit;
    "obp": obp's dict as an .npz file of NumPy; "dsjson": lines for Vowpal Wabbit.

    >>> import tempfile, pathlib
    >>> from infex.logs import read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.parquet"
    >>> write(Log(arm=[0, 1], reward=[0.5, 0.25], propensity=[0.5, 0.5]), path)
    >>> read(path).reward.tolist()
    [0.5, 0.25]
    """
    if form not in WRITTEN_FORMS:
        raise InvalidLog(f"form must be one of {', '.join(WRITTEN_FORMS)}, got {form!r}")
    parts = iter([log] if isinstance(log, Log) else log)
    first = next(parts, None)
    if first is None:
        raise InvalidLog("a log must have at least one row, got none")
    if form == "infex":
        _write_parquet(first, parts, Path(path))
    elif form == "dsjson":
        with replacing(Path(path)) as file:
            for part in (first, *parts):
                file.writelines(f"{line}\n".encode() for line in dsjson_lines(part))
    else:
        if next(parts, None) is not None:
            raise InvalidLog("obp's dict is written whole: read the log with `read`")
        with replacing(Path(path)) as file:
            np.savez(file, allow_pickle=False, **arrays_of(obp_feedback(first)))


def _write_parquet(first: Log, parts: Iterable[Log], path: Path) -> None:
    import pyarrow.parquet as pq

    table = table_of(first)
    with replacing(path) as file, pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        writer.write_table(table, row_group_size=ROWS_IN_A_GROUP)
        for part in parts:
            writer.write_table(_fitting(table_of(part), table.schema), row_group_size=ROWS_IN_A_GROUP)


def _fitting(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A part in the schema of the first one."""
    import pyarrow as pa

    if set(table.column_names) != set(schema.names):
        raise PartsDiffer("parts of this log differ in their columns: read it whole")
    try:
        return table.select(schema.names).cast(schema)
    except pa.ArrowException:
        raise PartsDiffer("parts of this log differ in the kinds of their columns: read it whole") from None
