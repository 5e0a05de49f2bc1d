"""What a log is kept in: found out by looking, and opened as tables in the schema of logs."""

from __future__ import annotations

import csv
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from infex.errors import InfexError, InvalidLog
from infex.logs.adf_text import SHARED, adf_events
from infex.logs.dsjson import dsjson_events
from infex.logs.eppo_events import eppo_events
from infex.logs.event_rows import LogEvent, event_tables
from infex.logs.frames import FRAMES_BEGIN
from infex.logs.log import Log
from infex.logs.log_schema import METADATA_KEY, LogHeader, header_of
from infex.logs.naming_columns import ColumnNames, named_columns
from infex.logs.obp_form import obp_log
from infex.logs.recorded import read_recorded

if TYPE_CHECKING:
    import pyarrow as pa

LogForm = Literal["infex", "table", "csv", "dsjson", "cb_adf", "obp", "eppo"]
LOG_FORMS = ("infex", "table", "csv", "dsjson", "cb_adf", "obp", "eppo")
EVENT_FORMS = ("dsjson", "cb_adf", "eppo")
LOG_ROWS_AT_ONCE, MOST_ROWS_AT_ONCE = 131_072, 1 << 20  # of a log by parts, and of one that is read whole
HEAD_BYTES = 65_536
NULLS_OF_CSV = ["", "#N/A", "#N/A N/A", "#NA", "N/A", "NA", "NULL", "n/a", "null"]  # NaN is refused
UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    RuntimeError,  # an archive that is locked, or nested too deep
    SyntaxError,  # the head of an array of NumPy
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
PARQUET_BEGINS, ZIP_BEGINS = b"PAR1", b"PK\x03\x04"


@runtime_checkable
class ArrowTable(Protocol):
    """A table of pyarrow, pandas or polars."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table in Arrow's own form."""


class OpenLog(NamedTuple):
    """A log that can be read: as it is, or as tables in the schema, from the start each time."""

    called: str
    log: Log | None = None
    header: LogHeader | None = None
    tables: Callable[[], Iterator[pa.Table]] = lambda: iter(())


def is_own_log(path: str | os.PathLike[str]) -> bool:
    """Is a file a log in infex's own form: what a bandit wrote, or Parquet with the schema's header?"""
    place = Path(path)
    with guarded_reading(str(place)):
        with place.open("rb") as file:
            head = file.read(len(FRAMES_BEGIN))
        if head.startswith(PARQUET_BEGINS):
            import pyarrow.parquet as pq

            return METADATA_KEY in (pq.read_schema(place).metadata or {})
        return head == FRAMES_BEGIN


def open_log(source: object, form: object, names: ColumnNames, rows: int = LOG_ROWS_AT_ONCE) -> OpenLog:
    """Finds out what a log is kept in."""
    if form is not None and form not in LOG_FORMS:
        raise InvalidLog(f"form must be one of {', '.join(LOG_FORMS)}, got {form!r}")
    if isinstance(source, Log):
        return OpenLog("log", source)
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        with guarded_reading(str(path)):
            return _file(path, form, names, rows)
    with guarded_reading("log"):
        return _object(source, form, names, rows)


@contextmanager
def guarded_reading(called: str) -> Iterator[None]:
    """Names the file in what is wrong with it; never what it holds, which is somebody's data."""
    import pyarrow as pa

    try:
        yield
    except InvalidLog as error:
        words = str(error)
        raise InvalidLog(words if words.startswith(f"{called}: ") else f"{called}: {words}") from None
    except InfexError as error:
        raise InvalidLog(f"{called}: {error}") from None
    except OSError as error:
        raise InvalidLog(f"{called}: {error.strerror or 'cannot be read'}") from None
    except (pa.ArrowException, *UNREADABLE) as error:
        raise InvalidLog(f"{called}: this is no log that can be read ({type(error).__name__})") from None


def _object(source: object, form: object, names: ColumnNames, rows: int) -> OpenLog:
    import pyarrow as pa

    if isinstance(source, Mapping) and (form == "obp" or (form is None and "action" in source)):
        return OpenLog("log", obp_log(source))
    if isinstance(source, list | tuple) and form in (None, "eppo"):
        return OpenLog("log", None, None, lambda: _tables_of(eppo_events(source, names.reward), names, rows))
    if not isinstance(source, Mapping | ArrowTable) or form not in (None, "table", "infex"):
        raise InvalidLog(f"a log is read from a file, a table or obp's dict, got a {type(source).__name__}")
    table = pa.table(source)
    return OpenLog("log", None, header_of(table.schema.metadata), lambda: _sliced(table, names, rows))


def _tables_of(events: Iterable[LogEvent], names: ColumnNames, rows: int) -> Iterator[pa.Table]:
    return event_tables(events, names.of_events, min(rows, LOG_ROWS_AT_ONCE))  # events are large


def _sliced(table: pa.Table, names: ColumnNames, rows: int) -> Iterator[pa.Table]:
    named = named_columns(table, names)
    return (named.slice(first, rows) for first in range(0, named.num_rows, rows))


def _file(path: Path, form: object, names: ColumnNames, rows: int) -> OpenLog:
    called = str(path)
    if path.is_dir():
        files = sorted(path.glob("*.parquet"))
        if not files:
            raise InvalidLog("there are no files of Parquet in this folder")
        return _parquet(called, files, names, rows)
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise InvalidLog("this file is empty")
    if head.startswith(FRAMES_BEGIN) and form in (None, "infex"):
        return OpenLog(called, read_recorded(path))
    if head.startswith(PARQUET_BEGINS) and form in (None, "infex", "table"):
        return _parquet(called, [path], names, rows)
    if head.startswith(ZIP_BEGINS) and form in (None, "obp"):
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return OpenLog(called, obp_log(dict(arrays)))
    kind = form or _text_form(head)
    if kind == "csv":
        return OpenLog(called, None, None, lambda: _csv(path, names, rows))
    if kind in EVENT_FORMS:
        return OpenLog(called, None, None, lambda: _tables_of(_events(path, kind, names), names, rows))
    raise InvalidLog(f"this file is not of the form {kind}")


def _text_form(head: bytes) -> str:
    """Which kind of text a file holds."""
    first = next(
        (line for line in head.decode("utf-8-sig", errors="replace").splitlines() if line.strip()), ""
    ).strip()
    if first.startswith(("{", "[")):
        return "eppo" if '"actionProbability"' in first else "dsjson"
    before, bar, _ = first.partition("|")
    words = before.split()
    if bar and (not words or words[0] == SHARED or ":" in words[0]):
        return "cb_adf"
    return "csv"


def _events(path: Path, kind: str, names: ColumnNames) -> Iterator[LogEvent]:
    with path.open(encoding="utf-8-sig") as lines:
        if kind == "dsjson":
            yield from dsjson_events(lines)
        elif kind == "cb_adf":
            yield from adf_events(lines)
        else:
            yield from eppo_events(lines, names.reward)


def _parquet(called: str, files: Iterable[Path], names: ColumnNames, rows: int) -> OpenLog:
    import pyarrow.parquet as pq

    files = list(files)
    header = header_of(pq.read_schema(files[0]).metadata)

    def tables() -> Iterator[pa.Table]:
        for file in files:
            yield from _row_groups(file, names, rows)

    return OpenLog(called, None, header, tables)


def _row_groups(path: Path, names: ColumnNames, rows: int) -> Iterator[pa.Table]:
    """So many rows of a file at a time; only these are in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False) as file:  # else it keeps all groups that were read
        if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
            raise InvalidLog("two columns of a log have the same name")
        for batch in file.iter_batches(batch_size=rows, use_threads=False):
            if batch.num_rows:
                yield named_columns(pa.Table.from_batches([batch]), names)


def _csv(path: Path, names: ColumnNames, rows: int) -> Iterator[pa.Table]:
    """The tables of a CSV: one if it is read whole, which settles types of columns by all of their rows."""
    import pyarrow as pa
    import pyarrow.csv

    options = {
        "read_options": pyarrow.csv.ReadOptions(use_threads=False),  # whose errors name rows
        "convert_options": pyarrow.csv.ConvertOptions(null_values=NULLS_OF_CSV),
    }
    try:
        if rows >= MOST_ROWS_AT_ONCE:
            tables = iter([pyarrow.csv.read_csv(path, **options)])
        else:
            with pyarrow.csv.open_csv(path, **options) as reader:
                options["convert_options"].column_types = _number_types(reader.schema, names)
            tables = map(pa.Table.from_batches, ([batch] for batch in pyarrow.csv.open_csv(path, **options)))
        for table in tables:
            if table.num_rows:
                yield _without_empty_arms(named_columns(table, names))
    except pa.ArrowInvalid as error:
        raise InvalidLog(_csv_fault(str(error), path)) from None


def _number_types(schema: pa.Schema, names: ColumnNames) -> dict[str, pa.DataType]:
    """Columns that seem to hold whole numbers, or nothing, may hold any numbers further down."""
    import pyarrow as pa

    seem = (pa.types.is_integer, pa.types.is_null)
    return {
        each.name: pa.float64()
        for each in schema
        if each.name in names.number_columns and any(kind(each.type) for kind in seem)
    }


def _csv_fault(words: str, path: Path) -> str:
    """What is wrong in which row and column of a CSV, by Arrow's message, which quotes the row."""
    row = re.search(r"Row #(\d+)", words)
    where = "a row" if row is None else f"row {int(row[1]) - 1}"  # Arrow counts the header
    if sizes := re.search(r"Expected (\d+) columns, got (\d+)", words):
        return (
            f"{where} has {sizes[2]} columns, and the header has {sizes[1]}; decimals need a point, "
            "and a text with a comma needs quotes"
        )
    if column := re.search(r"In CSV column #(\d+)", words):
        with path.open(newline="", encoding="utf-8-sig") as file:
            name = next(csv.reader(file))[int(column[1])]
        return f"column {name!r} must hold numbers, and {where} holds a text"
    return "this is no log that can be read"


def _without_empty_arms(table: pa.Table) -> pa.Table:
    """The table with null for each empty arm of text: Arrow reads these as '', and empty numbers as null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = table.schema.get_field_index("arm")
    if place < 0 or not pa.types.is_string(table.schema.field(place).type):
        return table
    arms = table.column(place)
    named = pc.if_else(pc.not_equal(arms, ""), arms, pa.scalar(None, arms.type))
    return table.set_column(place, "arm", named)


def arrays_of(form: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays in obp's dict, as a file of NumPy takes them."""
    return {name: np.asarray(value) for name, value in form.items() if value is not None}
