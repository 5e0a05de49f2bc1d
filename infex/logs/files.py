"""Logs from wherever they are kept, whole or some rows at a time, and to files."""

from __future__ import annotations

import csv
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from infex.arrays import Floats, Label
from infex.errors import InfexError, InvalidLog
from infex.features import FeatureMap
from infex.files import replacing
from infex.logs.columns import (
    ENCODED_KEY,
    ColumnNames,
    MappedLog,
    arms_by_index,
    imported_map,
    labels_in,
    map_named,
    named_columns,
    with_map,
)
from infex.logs.formats import dsjson_lines, dsjson_tables, obp_feedback, obp_log
from infex.logs.log import Log
from infex.logs.parquet import log_of, refuse_repeated_columns, write_parquet
from infex.logs.recorded import FILE_START, read_recorded
from infex.logs.schema import METADATA_KEY, LogHeader, header_of

if TYPE_CHECKING:
    import pyarrow as pa

LogForm = Literal["infex", "table", "csv", "dsjson", "obp"]
LOG_FORMS = ("infex", "table", "csv", "dsjson", "obp")
WrittenForm = Literal["infex", "obp", "dsjson"]
WRITTEN_FORMS = ("infex", "obp", "dsjson")
ROWS_PER_PART, MOST_ROWS_AT_ONCE = 131_072, 1 << 20  # of a log read in parts, and of one read whole
HEAD_BYTES = 65_536
CSV_NULLS = ["", "#N/A", "#N/A N/A", "#NA", "N/A", "NA", "NULL", "n/a", "null"]  # NaN is refused
UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    RuntimeError,  # an archive that is encrypted, or nested too deep
    SyntaxError,  # the head of an array of NumPy
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)
PARQUET_START, ZIP_START = b"PAR1", b"PK\x03\x04"


@runtime_checkable
class ArrowTable(Protocol):
    """A table of pyarrow, pandas or polars."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table in Arrow's own form."""


class LogSource(NamedTuple):
    """A log that can be read: as it is or, if `log` is None, as tables, which start anew with each call."""

    name: str
    log: Log | None = None
    header: LogHeader | None = None
    tables: Callable[[], Iterator[pa.Table]] = lambda: iter(())


def read(
    source: object,
    form: LogForm | None = None,
    *,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str = "propensity",
    round: str = "round",  # noqa: A002 - what the schema calls it
    explored: str = "explored",
    greedy: str = "greedy",
    explore_probability: str = "explore_probability",
    base_propensity: str = "base_propensity",
    unit: str = "unit",
    stream: str = "stream",
    time: str = "time",
    context: str | Iterable[str] = (),
    arms: str | Iterable[str] = (),
    labels: Iterable[Label] | None = None,
    features: FeatureMap | None = None,
    rewards: tuple[float, float] | None = None,
    sort: bool = False,
) -> Log:
    """The log in a file or a table, checked; an invalid one is refused with the column and the rounds.

    `source` is a path, a table of pyarrow, pandas or polars, obp's dict, or a log. `form` is "infex" (Parquet
    in the schema of logs, or what `Bandit(log=...)` writes), "table" (any Parquet), "csv", "dsjson" or "obp";
    None detects it.

    The other arguments name columns that are not called so. `context` names columns of numbers; in dsjson it
    names features that all arms of an event share, and `arms` the features of each arm. `labels` are those of
    the arms, in their order; `features` is the map that joins contexts with arms. A map over
    `infex.features.table` reads columns by their names, also those of texts: those of `context`, or otherwise
    all that the table names. The context of the log then has the table's features, divided by its `longest`.
    `rewards` are the smallest and the largest possible reward. With `sort` rows are sorted by round, which
    must increase otherwise.

    `round`, `explored`, `greedy`, `explore_probability`, `base_propensity`, `unit`, `stream` and `time`
    name further columns, as a `Log` has them.

    >>> import pyarrow as pa
    >>> table = pa.table({"shown": ["b", "a", "b"], "click": [1, 0, None], "p": [0.5, 0.25, 0.5]})
    >>> log = read(table, arm="shown", reward="click", propensity="p")
    >>> log.labels, log.arm.tolist(), log.rewarded.tolist()
    (('a', 'b'), [1, 0, 1], [True, True, False])
    """
    names = ColumnNames(
        arm=arm, reward=reward, propensity=propensity, round=round, explored=explored, greedy=greedy,
        explore_probability=explore_probability, base_propensity=base_propensity,
        unit=unit, stream=stream, time=time,
        context=(context,) if isinstance(context, str) else tuple(context),
        arms=(arms,) if isinstance(arms, str) else tuple(arms),
        labels=None if labels is None else tuple(labels), features=features,
    )  # fmt: skip
    found = _whole_log(_open(source, form, names, MOST_ROWS_AT_ONCE), names, sort)
    return found if rewards is None else replace(found, facts=replace(found.facts, rewards=rewards))


def _whole_log(opened: LogSource, names: ColumnNames, sort: bool) -> Log:
    import pyarrow as pa

    with guarded_reading(opened.name):
        if opened.log is not None:
            return _with_names(opened.log, names, None)
        tables = list(opened.tables())
        if not tables:
            raise InvalidLog("a log must have at least one row, got none")
        table = pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]
        del tables
        labels = names.labels or tuple(sorted(labels_in(table))) or None
        keys = [(name, "ascending") for name in ("stream", "round") if name in table.column_names]
        table = arms_by_index(table.sort_by(keys) if sort and keys else table, labels)
        return _with_names(log_of(table, opened.header), names, labels, table)


def _with_names(
    log: Log, names: ColumnNames, labels: tuple[Label, ...] | None, table: pa.Table | None = None
) -> Log:
    """The log with the labels and the feature map that the caller named."""
    if labels is not None:
        log = replace(log, labels=labels, count=len(labels))
    if names.features is None:
        return log
    is_encoded = log.facts.encoded or (table is not None and ENCODED_KEY in (table.schema.metadata or {}))
    return replace(log, features=names.features, facts=replace(log.facts, encoded=is_encoded))


def read_parts(
    source: object,
    form: LogForm | None = None,
    *,
    rows: int = ROWS_PER_PART,
    names: ColumnNames | None = None,
) -> Iterator[Log]:
    """The same log, `rows` rows at a time, in their order: a file of any size in little memory.

    `names` holds what `read` takes as arguments. What `Bandit(log=...)` wrote comes in one part.

    `source` and `form` are those of `read`.

    >>> import pyarrow as pa
    >>> table = pa.table({"arm": [0, 1, 1], "reward": [1.0, 0.0, 0.5]})
    >>> [part.round.tolist() for part in read_parts(table, rows=2)]
    [[1, 2], [3]]
    """
    names = names or ColumnNames()
    opened = _open(source, form, names, rows)
    if opened.log is not None:
        yield _with_names(opened.log, names, None)
        return
    with guarded_reading(opened.name):
        labels = names.labels or _all_labels(opened)
        first, last = 1, 0
        for table in opened.tables():
            log = log_of(arms_by_index(table, labels), opened.header, first=first)
            log = _with_names(log, names, labels, table)
            if log.stream is None and int(log.round[0]) <= last:
                raise InvalidLog(f"round must increase from row to row; 1 row is not: round {log.round[0]}")
            first, last = first + len(log), int(log.round[-1])
            yield log


def _all_labels(opened: LogSource) -> tuple[Label, ...] | None:
    """The labels of arms that are texts, found in a first pass over the file; None if arms are indices."""
    found: set[str] = set()
    for table in opened.tables():
        mine = labels_in(table)
        if not mine:
            return None
        found |= mine
    return tuple(sorted(found)) or None


def read_with_map(
    source: object, text: str, columns: Sequence[str], arms: Floats | None, **names: Any
) -> MappedLog:
    """The log in a file or a table with the feature map that a text names, as `map_named` reads it.

    `columns` are those of the contexts, `arms` features of arms (in the order of `labels`, if these are among
    the `names`), and `names` further arguments of `read`.
    """
    if ":" in text:
        features = imported_map(text)
        return with_map(read(source, context=columns, features=features, **names), features, text)
    by_table = "table" in text.replace(",", " ").split()
    return map_named(text, read(source, context=() if by_table else columns, **names), columns, arms)


def write(log: Log | Iterable[Log], path: str | os.PathLike[str], form: WrittenForm = "infex") -> None:
    """Writes a log, or parts of one after the other, to a file that is replaced as a whole.

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
        write_parquet(chain([first], parts), Path(path))
    elif form == "dsjson":
        with replacing(Path(path)) as file:
            for part in (first, *parts):
                file.writelines(f"{line}\n".encode() for line in dsjson_lines(part))
    else:
        if next(parts, None) is not None:
            raise InvalidLog("obp's dict is written whole: read the log with `read`")
        arrays = {name: np.asarray(each) for name, each in obp_feedback(first).items() if each is not None}
        with replacing(Path(path)) as file:
            np.savez(file, allow_pickle=False, **arrays)


def is_own_log(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a log in infex's own form: what a bandit wrote, or Parquet with a log's header."""
    place = Path(path)
    with guarded_reading(str(place)):
        with place.open("rb") as file:
            head = file.read(len(FILE_START))
        if head.startswith(PARQUET_START):
            import pyarrow.parquet as pq

            return METADATA_KEY in (pq.read_schema(place).metadata or {})
        return head == FILE_START


@contextmanager
def guarded_reading(name: str) -> Iterator[None]:
    """Turns any error of reading into InvalidLog with the name of the file, and nothing of its contents."""
    import pyarrow as pa

    try:
        yield
    except InvalidLog as error:
        text = str(error)
        raise InvalidLog(text if text.startswith(f"{name}: ") else f"{name}: {text}") from None
    except InfexError as error:
        raise InvalidLog(f"{name}: {error}") from None
    except OSError as error:
        raise InvalidLog(f"{name}: {error.strerror or 'cannot be read'}") from None
    except (pa.ArrowException, *UNREADABLE) as error:
        raise InvalidLog(f"{name}: this is not a log that can be read ({type(error).__name__})") from None


# Opening


def _open(source: object, form: object, names: ColumnNames, rows: int) -> LogSource:
    import pyarrow as pa

    if form is not None and form not in LOG_FORMS:
        raise InvalidLog(f"form must be one of {', '.join(LOG_FORMS)}, got {form!r}")
    if isinstance(source, Log):
        return LogSource("log", source)
    if isinstance(source, str | os.PathLike):
        with guarded_reading(str(source)):
            return _open_file(Path(source), form, names, rows)
    with guarded_reading("log"):
        if isinstance(source, Mapping) and (form == "obp" or (form is None and "action" in source)):
            return LogSource("log", obp_log(source))
        if not isinstance(source, Mapping | ArrowTable) or form not in (None, "table", "infex"):
            raise InvalidLog(
                f"a log is read from a file, a table or obp's dict, got a {type(source).__name__}"
            )
        table = pa.table(source)
        header = header_of(table.schema.metadata)

    def tables() -> Iterator[pa.Table]:
        named = named_columns(table, names)
        return (named.slice(first, rows) for first in range(0, named.num_rows, rows))

    return LogSource("log", None, header, tables)


def form_of(path: Path) -> LogForm:
    """The form of a file by how it begins: "table" is any Parquet, "infex" what `Bandit(log=...)` writes."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise InvalidLog("this file is empty")
    starts: dict[bytes, LogForm] = {FILE_START: "infex", PARQUET_START: "table", ZIP_START: "obp"}
    for start, form in starts.items():
        if head.startswith(start):
            return form
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    return "dsjson" if text.startswith(("{", "[")) else "csv"


def _open_file(path: Path, form: object, names: ColumnNames, rows: int) -> LogSource:
    name = str(path)
    if path.is_dir():
        files = sorted(path.glob("*.parquet"))
        if not files:
            raise InvalidLog("there are no Parquet files in this folder")
        return _open_parquet(name, files, names, rows)
    found = form_of(path)
    if found == "infex" and form in (None, "infex"):
        return LogSource(name, read_recorded(path))
    if found == "table" and form in (None, "infex", "table"):
        return _open_parquet(name, [path], names, rows)
    if found == "obp" and form in (None, "obp"):
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return LogSource(name, obp_log(dict(arrays)))
    kind = form or found
    if kind == "csv":
        return LogSource(name, None, None, lambda: _csv_tables(path, names, rows))
    if kind == "dsjson":
        return LogSource(name, None, None, lambda: _dsjson_tables(path, names, rows))
    raise InvalidLog(f"this file is not of the form {kind}")


def _open_parquet(name: str, files: list[Path], names: ColumnNames, rows: int) -> LogSource:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def tables() -> Iterator[pa.Table]:
        for path in files:
            with pq.ParquetFile(path, pre_buffer=False) as file:  # it would keep all groups that were read
                refuse_repeated_columns(file.schema_arrow.names)
                for batch in file.iter_batches(batch_size=rows, use_threads=False):
                    if batch.num_rows:
                        yield named_columns(pa.Table.from_batches([batch]), names)

    return LogSource(name, None, header_of(pq.read_schema(files[0]).metadata), tables)


def _dsjson_tables(path: Path, names: ColumnNames, rows: int) -> Iterator[pa.Table]:
    with path.open(encoding="utf-8-sig") as lines:
        yield from dsjson_tables(lines, names.context, names.arms, min(rows, ROWS_PER_PART))


def _csv_tables(path: Path, names: ColumnNames, rows: int) -> Iterator[pa.Table]:
    """The tables of a CSV: one if it is read whole, so that all rows decide the types of columns."""
    import pyarrow as pa
    import pyarrow.csv

    options = {
        "read_options": pyarrow.csv.ReadOptions(use_threads=False),  # so that errors name rows
        "convert_options": pyarrow.csv.ConvertOptions(null_values=CSV_NULLS, column_types=_arm_type(names)),
    }
    try:
        if rows >= MOST_ROWS_AT_ONCE:
            tables = iter([pyarrow.csv.read_csv(path, **options)])
        else:
            with pyarrow.csv.open_csv(path, **options) as reader:
                options["convert_options"].column_types = _arm_type(names) | _number_types(
                    reader.schema, names
                )
            tables = map(pa.Table.from_batches, ([batch] for batch in pyarrow.csv.open_csv(path, **options)))
        for table in tables:
            if table.num_rows:
                yield _without_empty_arms(named_columns(table, names))
    except pa.ArrowInvalid as error:
        raise InvalidLog(_csv_fault(str(error), path)) from None


def _arm_type(names: ColumnNames) -> dict[str, pa.DataType]:
    """Arms that have texts for labels are texts, also where these look like numbers: "9.99", "10"."""
    import pyarrow as pa

    has_texts = any(isinstance(label, str) for label in names.labels or ())
    return {names.arm: pa.string()} if has_texts else {}


def _number_types(schema: pa.Schema, names: ColumnNames) -> dict[str, pa.DataType]:
    """Columns whose first rows are whole numbers, or empty, may hold any numbers further down."""
    import pyarrow as pa

    return {
        each.name: pa.float64()
        for each in schema
        if each.name in names.number_columns
        and (pa.types.is_integer(each.type) or pa.types.is_null(each.type))
    }


def _csv_fault(message: str, path: Path) -> str:
    """The row and column at fault in a CSV, from Arrow's message, which would quote the row."""
    row = re.search(r"Row #(\d+)", message)
    where = "a row" if row is None else f"row {int(row[1]) - 1}"  # Arrow counts the header
    if sizes := re.search(r"Expected (\d+) columns, got (\d+)", message):
        return (
            f"{where} has {sizes[2]} columns, and the header has {sizes[1]}; decimals need a point, "
            "and a text with a comma needs quotes"
        )
    if column := re.search(r"In CSV column #(\d+)", message):
        with path.open(newline="", encoding="utf-8-sig") as file:
            name = next(csv.reader(file))[int(column[1])]
        return f"column {name!r} must hold numbers, and {where} holds a text"
    return "this is not a log that can be read"


def _without_empty_arms(table: pa.Table) -> pa.Table:
    """The table with null for an empty arm of text, which Arrow reads as ''."""
    import pyarrow as pa
    import pyarrow.compute as pc

    place = table.schema.get_field_index("arm")
    if place < 0 or not pa.types.is_string(table.schema.field(place).type):
        return table
    arms = table.column(place)
    named = pc.if_else(pc.not_equal(arms, ""), arms, pa.scalar(None, arms.type))
    return table.set_column(place, "arm", named)
