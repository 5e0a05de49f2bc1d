"""Segments: files of old entries, which a store in SQLite has moved out of its database."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import apsw

from infex.errors import DamagedJournal, StoreFailed
from infex.files import make_private
from infex.study.journal import Entry, entries_from_rows

TABLES = """
create table entries (
  number integer primary key, kind text not null, key text not null, unit text, at integer not null,
  content blob, salt blob, seal blob not null, link blob not null
) strict;
create index entries_by_key on entries (key) where key <> '';
create index entries_by_unit on entries (unit) where unit <> '';
"""
PAGE = "where number > ? and number <= ?"
BY_KEY = "where key in (select value from json_each(?)) and key <> ''"
BY_UNIT = "where unit = ? and unit <> ''"


def make_folder(folder: Path) -> None:
    """Makes a folder for segments, which its owner alone may read; one that is there stays as it is."""
    with _named(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


class Segment(NamedTuple):
    """The entries from a first to a last one, but for those that stayed in the database, and their file."""

    first: int
    last: int
    path: Path


@final
class SegmentFiles:
    """The files of segments, each open as soon as it was read; contents in them are compressed.

    A file is written once, and changes only when entries are erased. What is read of it is checked by the
    chain of hashes, as all of a journal is.
    """

    def __init__(self) -> None:
        self._open: dict[Path, apsw.Connection] = {}

    def write(self, path: Path, entries: Iterable[Entry]) -> None:
        """Writes a new file, which is on disk when this returns."""
        make_private(path)
        with _named(path), contextlib.closing(_connected(path)) as connection, connection:
            connection.execute(TABLES)
            rows = (each._replace(content=_packed(each.content)) for each in entries)
            connection.executemany("insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def entries(self, segments: Iterable[Segment], clause: str, *bound: Any) -> Iterator[Entry]:
        """The entries of segments that a clause selects."""
        for segment in segments:
            _refuse_missing(segment)
            with _named(segment.path):
                rows = self._reader(segment.path).execute(f"select * from entries {clause}", bound).fetchall()
            for entry in entries_from_rows(rows):
                yield entry._replace(content=_unpacked(entry))

    def _reader(self, path: Path) -> apsw.Connection:
        if path not in self._open:
            self._open[path] = _connected(path, apsw.SQLITE_OPEN_READONLY)
        return self._open[path]

    def erase(self, segment: Segment, numbers: Sequence[int]) -> None:
        """Takes unit, content and salt out of entries, on disk too."""
        _refuse_missing(segment)
        with _named(segment.path), contextlib.closing(_connected(segment.path)) as connection:
            with connection:
                connection.executemany(
                    "update entries set unit = null, content = null, salt = null where number = ?",
                    [(number,) for number in numbers],
                )
            connection.execute("vacuum")  # pages may hold copies of rows that were moved to others before

    def discard(self, path: Path) -> None:
        """Removes a file, if there is one."""
        with _named(path):
            for each in (path, path.with_name(f"{path.name}-journal")):
                each.unlink(missing_ok=True)

    def close(self) -> None:
        """Lets go of all files."""
        while self._open:
            self._open.popitem()[1].close()


def _refuse_missing(segment: Segment) -> None:
    if not segment.path.exists():
        raise StoreFailed(
            f"entries {segment.first} to {segment.last} are archived in {segment.path}, which is not there: "
            "bring it back, or archive to the folder it is in now"
        )


def _connected(path: Path, flags: int = apsw.SQLITE_OPEN_READWRITE) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(10_000)
    for setting in ("synchronous = full", "fullfsync = on", "secure_delete = on"):
        connection.execute(f"pragma {setting}")
    return connection


def _packed(content: bytes | None) -> bytes | None:
    return None if content is None else zlib.compress(content)


def _unpacked(entry: Entry) -> bytes | None:
    try:
        return None if entry.content is None else zlib.decompress(entry.content)
    except zlib.error as error:
        raise DamagedJournal(
            f"the content of entry {entry.number} of the journal is damaged: {error}"
        ) from None


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of a file by names of ours."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError) as error:
        raise DamagedJournal(f"{path} is damaged: {error}") from error
    except (apsw.Error, OSError) as error:
        raise StoreFailed(f"{path} cannot be read or written: {error}") from error
