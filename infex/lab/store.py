"""A folder that keeps finished runs as they come, so that an interruption loses none of them."""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self, final

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from infex.errors import DamagedFile, ForeignFolder, InvalidSetting
from infex.files import replace, replacing
from infex.lab.results import Results
from infex.lab.table import RUN_COLUMNS, RUN_LISTS, by_run, in_order, once, runs_of
from infex.lab.tasks import TaskOutcome

SWEEP_FILE = "sweep.json"
RESULTS_FILE = "results.parquet"
RUNS_FOLDER = "runs"
LOCK_FILE = ".lock"
PART_NAME = re.compile(r"[0-9a-f]{32}\.arrow")
READING_TRIES = 5  # without locks, another process may join files while they are read


@final
class Folder:
    """Finished runs in `runs/`, one file for each chunk; at the end the table, the summary and what failed.

    Without a path it keeps them in memory alone. One process writes to a folder at a time. With
    `force`, a folder with other contents is written to, and runs that are there are not read; they
    are removed as soon as there is a new one.
    """

    def __init__(self, path: str | Path | None, *, force: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self._lock: IO[bytes] | None = None
        self._parts: list[Path] = []  # files read or written here, removed when they are joined
        self._old: list[Path] = []  # files to be removed as soon as there is a new run
        self._tables: list[pa.Table] = []  # one row for each run
        if self.path is None:
            return
        try:
            self._lock = _claimed(self.path, force)
            self._open(self.path, force)
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise InvalidSetting(f"cannot write to {path}: {error.strerror or error}") from error
            raise

    def _open(self, path: Path, force: bool) -> None:
        if not (path / SWEEP_FILE).exists():
            replace(path / SWEEP_FILE, b"{}\n")
        (path / RUNS_FOLDER).mkdir(exist_ok=True)
        if force:
            self._old = _parts(path)
        else:
            self._parts, tables = _read_parts(path)
            self._tables += tables

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def keys(self) -> set[str]:
        """The names of the runs that are there."""
        return {key for table in self._tables for key in table["key"].to_pylist()}

    def begin(self, about: dict[str, Any]) -> None:
        """Writes what the sweep is into a folder without results, so that it can be gone on with."""
        if self.path is not None and not (self.path / RESULTS_FILE).exists():
            replace(self.path / SWEEP_FILE, _written(about))

    def append(self, outcomes: list[TaskOutcome]) -> None:
        """Keeps the runs of one chunk: after it returns they are on disk."""
        runs = runs_of(outcomes)
        if runs.num_rows == 0:
            return
        self._tables.append(runs)
        if self.path is not None:
            self._parts.append(_write_part(self.path, runs))
            self._forget()

    def table(self, keys: Sequence[str]) -> pa.Table:
        """These runs, in the order of the keys, each once."""
        return in_order(self._joined(), pa.array(keys, pa.string()))

    def _joined(self) -> pa.Table:
        """All runs, from now on in one table."""
        self._tables = [once(pa.concat_tables(self._tables or [RUN_LISTS.empty_table()]))]
        return self._tables[0]

    def finish(self, results: Results) -> None:
        """Writes the table, the summary, what the sweep was, and what failed; runs go into one file."""
        if self.path is None:
            return
        write_results(self.path, results)
        self._forget()
        if len(self._parts) > 1:
            joined = _write_part(self.path, self._joined())
            for part in self._parts:
                part.unlink(missing_ok=True)
            self._parts = [joined]

    def _forget(self) -> None:
        """Removes the runs of an earlier sweep, now that there are new ones."""
        while self._old:
            self._old.pop().unlink(missing_ok=True)


def write_results(folder: Path, results: Results) -> None:
    """Writes the table, the summary, what the sweep was, and what failed."""
    results.write(folder)
    replace(folder / SWEEP_FILE, _written(results.about))
    _write_failures(folder / "failures.json", results.failures)


def _write_failures(path: Path, failures: Sequence[Mapping[str, str]]) -> None:
    """A file of them, or none where nothing has failed."""
    if failures:
        replace(path, _written(failures))
    else:
        path.unlink(missing_ok=True)


def write_tables(folder: Path, write_runs: Callable[[IO[bytes]], None], summary: pa.Table) -> None:
    """Writes the table of runs, a Parquet file, and the summary for people."""
    with replacing(folder / RESULTS_FILE) as table, replacing(folder / "summary.csv") as overview:
        write_runs(table)
        pyarrow.csv.write_csv(summary, overview)


def save(results: Results, path: str | Path, force: bool) -> None:
    """Writes results into a folder of our own, or a new one, as a sweep would."""
    folder = Path(path)
    try:
        lock = _claimed(folder, force)
        with lock or contextlib.nullcontext():
            write_results(folder, results)
    except OSError as error:
        raise InvalidSetting(f"cannot write to {folder}: {error.strerror or error}") from error


def read(path: str | Path) -> Results:
    """The results that a folder holds."""
    folder = Path(path)
    table, mark = folder / RESULTS_FILE, folder / SWEEP_FILE
    if mark.exists() and not table.exists():
        raise InvalidSetting(
            f"the sweep in {folder} is unfinished: run the same command again to go on, "
            f"or infex lab run {folder}"
        )
    if not (table.exists() and mark.exists()):
        raise InvalidSetting(f"{folder} holds no results of a sweep (results.parquet and {SWEEP_FILE})")
    about: dict[str, Any] = _json(mark, dict)
    failures = folder / "failures.json"
    failed = tuple(_json(failures, list)) if failures.exists() else ()
    runs = once(_runs(table, _read_parquet))
    return Results(runs, bases=about.get("bases", {}), failures=failed, about=about)


def held(path: str | Path) -> dict[str, Any]:
    """What a folder says of the sweep whose table it holds; nothing if that cannot be read."""
    try:
        about: dict[str, Any] = _json(Path(path) / SWEEP_FILE, dict)
    except (OSError, DamagedFile):
        return {}
    return about


def _claimed(path: Path, force: bool) -> IO[bytes] | None:
    """A lock on a folder of ours, which is made if it is missing; None on systems without locks."""
    if path.exists() and not path.is_dir():
        raise InvalidSetting(f"{path} is not a folder")
    strange = path.exists() and any(each.name != LOCK_FILE for each in path.iterdir())
    if strange and not (path / SWEEP_FILE).exists() and not force:
        raise ForeignFolder(
            f"the folder {path} has other contents; name another, or force=True to write there"
        )
    path.mkdir(parents=True, exist_ok=True)
    return _locked(path)


def _locked(path: Path) -> IO[bytes] | None:
    """A file that this process has locked, until it ends; None on systems without locks."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        return None
    file = open(path / LOCK_FILE, "ab")  # noqa: SIM115 - closed with the folder
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise InvalidSetting(f"another process is writing to {path}; wait for it, or name another") from None
    except OSError:  # pragma: no cover - a file system without locks
        pass
    return file


def _parts(path: Path) -> list[Path]:
    """The files of runs in a folder."""
    return sorted(each for each in (path / RUNS_FOLDER).iterdir() if PART_NAME.fullmatch(each.name))


def _read_parts(path: Path) -> tuple[list[Path], list[pa.Table]]:
    for _ in range(READING_TRIES):
        parts = _parts(path)
        try:
            return parts, [_runs(part, pyarrow.feather.read_table) for part in parts]
        except FileNotFoundError:  # its runs are in another file now
            continue
    raise InvalidSetting(f"another process is writing to {path}; wait for it, or name another")


def _write_part(path: Path, runs: pa.Table) -> Path:
    part = path / RUNS_FOLDER / f"{uuid.uuid4().hex}.arrow"
    packed = pa.ipc.IpcWriteOptions(compression="lz4")
    with replacing(part) as file, pa.ipc.new_file(file, runs.schema, options=packed) as writer:
        writer.write_table(runs)
    return part


def _read_parquet(path: Path) -> pa.Table:
    """The runs of a table with one row for each recorded round, some rows at a time."""
    with pyarrow.parquet.ParquetFile(path) as file:
        names = [name for name in RUN_COLUMNS.names if name in file.schema_arrow.names]
        if len(names) < len(RUN_COLUMNS):
            return file.schema_arrow.empty_table()
        groups = range(file.num_row_groups)
        return pa.concat_tables(
            [RUN_LISTS.empty_table(), *(by_run(file.read_row_group(group, names)) for group in groups)]
        )


def _runs(path: Path, reader: Callable[[Path], pa.Table]) -> pa.Table:
    """The runs of a file, if it has their columns; a file of earlier days has a row for each round."""
    try:
        rows = reader(path)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFile(f"{path} is damaged: {error}; {REMEDIES[path.suffix]}") from error
    if not set(RUN_COLUMNS.names) <= set(rows.schema.names):
        raise DamagedFile(f"{path} has other columns than a table of runs; {REMEDIES[path.suffix]}")
    return by_run(rows)  # settings are read from what the sweep says of itself


REMEDIES = {
    ".arrow": "take it away, and its runs are played again",
    ".parquet": "the command that played the sweep writes it anew",
    ".json": "the command that played the sweep writes it anew",
}


def _written(content: object) -> bytes:
    return json.dumps(content, indent=2).encode() + b"\n"


def _json(path: Path, kind: type) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # the errors of JSON and UTF-8 are ValueErrors
        raise DamagedFile(f"{path} is damaged: {error}; {REMEDIES[path.suffix]}") from error
    if not isinstance(content, kind):
        raise DamagedFile(f"{path} is damaged: it holds no {kind.__name__}; {REMEDIES[path.suffix]}")
    return content
