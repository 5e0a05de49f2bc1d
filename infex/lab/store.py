"""A folder that keeps finished runs as they come, so that an interruption loses none of them."""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from infex.errors import DamagedFile, ForeignFolder, InvalidSetting
from infex.files import replace, replacing
from infex.lab.results import Results
from infex.lab.runner import Outcome
from infex.lab.table import (
    ROWS_AT_A_TIME,
    RUN_COLUMNS,
    RUN_LISTS,
    by_round,
    by_run,
    codes_of,
    ends_of,
    runs_of,
)

SWEEP_FILE = "sweep.json"
RESULTS_FILE = "results.parquet"
FAILURES_FILE = "failures.json"
RUNS_FOLDER = "runs"
LOCK_FILE = ".lock"
PART_NAME = re.compile(r"[0-9a-f]{32}\.arrow")
READING_TRIES = 5  # without locks, another process may join files while they are read
REMEDIES = {
    ".arrow": "take it away, and its runs are played again",
    ".parquet": "the command that played the sweep writes it anew",
    ".json": "the command that played the sweep writes it anew",
}


@final
class Folder:
    """Finished runs in `runs/`, one file for each chunk; at the end the table, the summary and what failed.

    Without a path it keeps them in memory alone. One process writes to a folder at a time. With `force`, a
    folder with other contents is written to, and runs that are there are not read; they are removed as soon
    as there is a new one.
    """

    def __init__(self, path: str | Path | None, *, force: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self._lock = contextlib.ExitStack()
        self._parts: list[Path] = []  # files read or written here, removed when they are joined
        self._old: list[Path] = []  # files to be removed as soon as there is a new run
        self._tables: list[pa.Table] = []  # one row for each run
        if self.path is None:
            return
        with contextlib.ExitStack() as stack:
            stack.enter_context(_claimed(self.path, force))
            if not (self.path / SWEEP_FILE).exists():
                replace(self.path / SWEEP_FILE, b"{}\n")
            (self.path / RUNS_FOLDER).mkdir(exist_ok=True)
            if force:
                self._old = self._files()
            else:
                self._parts, self._tables = self._read()
            self._lock = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.close()

    def _files(self) -> list[Path]:
        """The files of runs that are there; others are a user's."""
        assert self.path is not None
        return sorted(each for each in (self.path / RUNS_FOLDER).iterdir() if PART_NAME.fullmatch(each.name))

    def _read(self) -> tuple[list[Path], list[pa.Table]]:
        for _ in range(READING_TRIES):
            files = self._files()
            try:
                return files, [_checked(each, pyarrow.feather.read_table) for each in files]
            except FileNotFoundError:  # its runs are in another file now
                continue
        raise InvalidSetting(f"another process is writing to {self.path}; wait for it, or name another")

    def keys(self) -> set[str]:
        """The names of the runs that are there."""
        return {key for table in self._tables for key in table["key"].to_pylist()}

    def begin(self, about: dict[str, Any]) -> None:
        """Writes what the sweep is into a folder without results, so that it can be gone on with."""
        if self.path is not None and not (self.path / RESULTS_FILE).exists():
            _write_json(self.path / SWEEP_FILE, about)

    def append(self, outcomes: list[Outcome]) -> None:
        """Keeps the runs of one chunk: after it returns they are on disk."""
        runs = runs_of(outcomes)
        if runs.num_rows:
            self._tables.append(runs)
            self._write(runs)

    def _write(self, runs: pa.Table) -> None:
        if self.path is not None:
            part = self.path / RUNS_FOLDER / f"{uuid.uuid4().hex}.arrow"
            with replacing(part) as file:
                pyarrow.feather.write_feather(runs, file, compression="lz4")
            self._parts.append(part)
            self._forget()

    def _forget(self) -> None:
        """Removes the runs of an earlier sweep, now that there are new ones."""
        while self._old:
            self._old.pop().unlink(missing_ok=True)

    def table(self, keys: Sequence[str]) -> pa.Table:
        """These runs, as far as they are there, in the order of the keys."""
        runs = pa.concat_tables(self._tables or [RUN_LISTS.empty_table()])
        self._tables = [runs]
        places = pc.index_in(pa.array(keys, pa.string()), value_set=runs["key"])  # of two, the first
        return runs.take(places.drop_null()).combine_chunks()

    def finish(self, results: Results) -> None:
        """Writes the table, the summary, what the sweep was, and what failed; runs go into one file."""
        if self.path is None:
            return
        write_results(self.path, results)
        self._forget()
        if len(self._parts) > 1:
            joined, self._parts = self._parts, []
            (runs,) = self._tables
            firsts = np.unique(codes_of(runs["key"])[0], return_index=True)[1]
            self._write(runs.take(pa.array(np.sort(firsts))))
            for part in joined:
                part.unlink(missing_ok=True)


def write_results(folder: Path, results: Results) -> None:
    """Writes the table as Parquet, the summary as CSV, what the sweep was, and what failed, if any did."""
    wide = results.wide()
    step = max(1, ROWS_AT_A_TIME * wide.num_rows // max(int(ends_of(wide)[-1]), 1))
    with replacing(folder / RESULTS_FILE) as table, replacing(folder / "summary.csv") as overview:
        with pyarrow.parquet.ParquetWriter(table, by_round(wide.slice(0, 1)).schema) as writer:
            for first in range(0, max(wide.num_rows, 1), step):
                writer.write_table(by_round(wide.slice(first, step)))
                pa.default_memory_pool().release_unused()
        pyarrow.csv.write_csv(results.summary().arrow, overview)
    _write_json(folder / SWEEP_FILE, results.about)
    if results.failures:
        _write_json(folder / FAILURES_FILE, results.failures)
    else:
        (folder / FAILURES_FILE).unlink(missing_ok=True)


def save(results: Results, path: str | Path, force: bool) -> None:
    """Writes results into a folder of our own, or a new one, as a sweep would."""
    with _claimed(Path(path), force):
        write_results(Path(path), results)


def read(path: str | Path) -> Results:
    """The results that a folder holds."""
    folder = Path(path)
    table, mark, failures = folder / RESULTS_FILE, folder / SWEEP_FILE, folder / FAILURES_FILE
    if mark.exists() and not table.exists():
        raise InvalidSetting(
            f"the sweep in {folder} is unfinished: run the same command again to go on, "
            f"or infex lab run {folder}"
        )
    if not (table.exists() and mark.exists()):
        raise InvalidSetting(f"{folder} holds no results of a sweep (results.parquet and {SWEEP_FILE})")
    about: dict[str, Any] = _json(mark, dict)
    failed = tuple(_json(failures, list)) if failures.exists() else ()
    return Results(_checked(table, _read_parquet), failures=failed, about=about)


def held(path: str | Path) -> dict[str, Any]:
    """What a folder says of the sweep whose table it holds; nothing if that cannot be read."""
    try:
        about: dict[str, Any] = _json(Path(path) / SWEEP_FILE, dict)
    except (OSError, DamagedFile):
        return {}
    return about


@contextlib.contextmanager
def _claimed(path: Path, force: bool) -> Iterator[None]:
    """A folder of ours, made if it is missing, and locked meanwhile on systems that have locks.

    What the system refuses inside, such as a full disk, is an InvalidSetting that names the folder.
    """
    if path.exists() and not path.is_dir():
        raise InvalidSetting(f"{path} is not a folder")
    try:
        strange = path.exists() and any(each.name != LOCK_FILE for each in path.iterdir())
        if strange and not (path / SWEEP_FILE).exists() and not force:
            raise ForeignFolder(
                f"the folder {path} has other contents; name another, or force=True to write there"
            )
        path.mkdir(parents=True, exist_ok=True)
        with open(path / LOCK_FILE, "ab") as file:
            _lock(file, path)
            yield
    except OSError as error:
        raise InvalidSetting(f"cannot write to {path}: {error.strerror or error}") from error


def _lock(file: IO[bytes], path: Path) -> None:
    """Locks a file until it is closed; does nothing on systems without locks."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InvalidSetting(f"another process is writing to {path}; wait for it, or name another") from None
    except OSError:  # pragma: no cover - a file system without locks
        pass


def _read_parquet(path: Path) -> pa.Table:
    """The columns of runs; texts that stand in many rows are kept once."""
    names = [name for name in RUN_COLUMNS.names if name in pyarrow.parquet.read_schema(path).names]
    texts = [name for name in ("key", "environment", "policy") if name in names]
    return pyarrow.parquet.read_table(path, columns=names, read_dictionary=texts)


def _checked(path: Path, reader: Any) -> pa.Table:
    """The runs of a file, if it has their columns."""
    try:
        rows = reader(path)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise DamagedFile(f"{path} is damaged: {error}; {REMEDIES[path.suffix]}") from error
    if not set(RUN_COLUMNS.names) <= set(rows.schema.names):
        raise DamagedFile(f"{path} has other columns than a table of runs; {REMEDIES[path.suffix]}")
    return by_run(rows)  # settings are read from what the sweep says of itself


def _write_json(path: Path, content: object) -> None:
    replace(path, json.dumps(content, indent=2).encode() + b"\n")


def _json(path: Path, kind: type) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # the errors of JSON and UTF-8 are ValueErrors
        raise DamagedFile(f"{path} is damaged: {error}; {REMEDIES[path.suffix]}") from error
    if not isinstance(content, kind):
        raise DamagedFile(f"{path} is damaged: it holds no {kind.__name__}; {REMEDIES[path.suffix]}")
    return content
