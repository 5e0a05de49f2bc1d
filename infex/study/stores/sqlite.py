"""Journals in one SQLite file: on disk before anything is acknowledged, by one process at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import secrets
import socket
import threading
import weakref
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, final

import apsw

from infex.errors import DamagedJournal, ForeignStore, InvalidSetting, JournalMoved, StoreFailed, StoreInUse
from infex.files import OWNER_ALONE, make_private
from infex.study.journal import (
    BEGINNING,
    RESERVED,
    Entry,
    Mark,
    check_append,
    entries_from_rows,
    read_pages,
)
from infex.study.stores import segments
from infex.study.stores.base import NO_RUNS, Place
from infex.study.stores.segments import Segment, SegmentFiles, make_folder

APPLICATION = 0x696E6678  # "infx", in the header of the file
SCHEMA_VERSION = 1
OLDEST_SQLITE = (3, 51, 3)  # before, a log that was reset by two connections at once could damage the file
TABLES = """
create table studies (id integer primary key, name text not null unique) strict;
create table entries (
  study integer not null references studies, number integer not null, kind text not null, key text not null,
  unit text, at integer not null, content blob, salt blob, seal blob not null, link blob not null,
  primary key (study, number)
) strict, without rowid;
create index entries_by_key on entries (study, key) where key <> '';
create index entries_by_unit on entries (study, unit) where unit <> '';
create table snapshots (
  study integer not null references studies, number integer not null, link blob not null,
  erased blob not null, content blob not null, primary key (study, number, erased)
) strict;
create table archives (study integer primary key references studies, folder text not null) strict;
create table segments (
  study integer not null references studies, first integer not null, last integer not null,
  link blob not null, file text not null, written integer not null, primary key (study, first)
) strict;
create table key_runs (
  study integer not null references studies, number integer not null, content blob not null,
  primary key (study, number)
) strict;
"""
PAGES_BETWEEN_CHECKPOINTS = 4000  # of 4 KiB in the log: pages that change often go to the file once
SAFE_SETTINGS = ("synchronous = full", "fullfsync = on", "checkpoint_fullfsync = on", "secure_delete = on")
BUSY_MILLISECONDS = 10_000
COLUMNS = "number, kind, key, unit, at, content, salt, seal, link"
MOST_INSERTED = 128  # rows by one statement
PAGE = "where study = ? and number > ? order by number limit ?"
BY_KEY = (
    "indexed by entries_by_key where study = ? and key in (select value from json_each(?)) and key <> '' "
    "order by number"
)
ARCHIVABLE = f"study = ? and number between ? and ? and number > 1 and key not glob '{RESERVED}*'"
ENTRIES_IN_A_SEGMENT = 1_000_000
BY_UNIT = "indexed by entries_by_unit where study = ? and unit = ? and unit <> '' order by number"


@final
class SQLiteStore:
    """Journals in the file at `path`, which is made if it is missing.

    A writer has it for itself: another process is told which one that is. With `reading` any number of
    processes look at it, beside the writer. Everything is on disk when a call returns (a write-ahead log,
    synchronous in full). `vfs` is for tests: a file system that fails, and which has no shared memory.
    """

    shared = False

    def __init__(self, path: str | Path, *, reading: bool = False, vfs: str | None = None) -> None:
        self.path = Path(path)
        self._reading, self._vfs = reading, vfs
        self._process = os.getpid()
        self._suspect = False  # did a write fail? Then what is on disk is looked at before the next
        self._disconnected = False  # since a failed write, and could not be connected anew?
        self._ids: dict[str, int] = {}
        self._segments, self._archiving = SegmentFiles(), threading.Lock()  # of archiving and erasing
        self._transactions: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        refuse_old_sqlite()
        self._process_lock = None if reading else ProcessLock(self.path)
        self._write_lock = threading.RLock()
        self._read_lock = self._write_lock if reading or vfs is not None else threading.RLock()
        try:
            with _named(self.path):
                self._open()
        except BaseException:
            self._release()
            raise

    def _open(self) -> None:
        """Opens a connection that writes, and one for reads that wait for no commit."""
        self._writer = self._connected()
        self._reader = self._writer
        if self._read_lock is not self._write_lock:
            self._reader = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
            self._reader.set_busy_timeout(BUSY_MILLISECONDS)

    def _connected(self) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        if self._reading:
            flags = apsw.SQLITE_OPEN_READONLY
            if not self.path.exists():
                raise InvalidSetting(f"there is no file {self.path}")
        else:
            make_private(self.path)
        connection = apsw.Connection(str(self.path), flags=flags, vfs=self._vfs)
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            _refuse_foreign(connection, self.path, empty=not self._reading)
            if not self._reading:
                _prepare(connection, exclusive=self._vfs is not None)
        except BaseException:
            connection.close()
            raise
        return connection

    def names(self) -> list[str]:
        with self._reads() as connection:
            return [name for (name,) in connection.execute("select name from studies order by name")]

    def end(self, name: str) -> Mark:
        with self._writes() as connection:
            return _end(connection, self._id(connection, name))

    @contextlib.contextmanager
    def transaction(self, name: str) -> Iterator[None]:
        with self._transactions[name]:  # other processes are kept out for as long as the file is open
            yield

    def append(self, name: str, entries: Sequence[Entry], after: Mark) -> None:
        if not entries:
            return
        with self._changes() as connection:
            study = self._id(connection, name)
            if study is None:
                connection.execute("insert into studies (name) values (?)", (name,))
                study = connection.last_insert_rowid()
            check_append(name, entries, after, _end(connection, study))
            _insert(connection, study, entries)

    def read(self, name: str, after: Mark = BEGINNING, most: int | None = None) -> Iterator[Entry]:
        def page(number: int, count: int) -> list[Entry]:
            kept, last = self._entries(name, PAGE, number, count), number + count
            if [entry.number for entry in kept] == list(range(number + 1, last + 1)):
                return kept
            return self._with_archived(name, kept, segments.PAGE, number, last, within=(number, last))[:count]

        return read_pages(page, after, most)

    def of_keys(self, name: str, keys: Collection[str]) -> list[Entry]:
        kept = self._entries(name, BY_KEY, json.dumps(list(keys)))
        archivable = [key for key in keys if key and not key.startswith(RESERVED)]
        if not archivable:  # so that a study is opened without its archive
            return kept
        return self._with_archived(name, kept, segments.BY_KEY, json.dumps(archivable))

    def of_unit(self, name: str, unit: str) -> list[Entry]:
        return self._with_archived(name, self._entries(name, BY_UNIT, unit), segments.BY_UNIT, unit)

    def _entries(self, name: str, clause: str, *bound: Any) -> list[Entry]:
        with self._reads() as connection:
            study = self._id(connection, name)
            rows = connection.execute(f"select {COLUMNS} from entries {clause}", (study, *bound))
            return entries_from_rows(rows)

    def _with_archived(
        self,
        name: str,
        kept: list[Entry],
        clause: str,
        *bound: Any,
        within: tuple[float, float] = (0, math.inf),
    ) -> list[Entry]:
        """Entries of the database, which were read before, and those of segments, in their order."""
        with self._reads() as connection:
            every = _segments(connection, self._id(connection, name))
            some = [each for each in every if each.last > within[0] and each.first <= within[1]]
            found = {entry.number: entry for entry in self._segments.entries(some, clause, *bound)}
        found |= {entry.number: entry for entry in kept}  # one may be in both, if it was moved meanwhile
        return [found[number] for number in sorted(found)]

    def archive(self, name: str, folder: Path, last: int) -> int:
        place, moved = folder.resolve(), 0
        with self._archiving:
            make_folder(place)
            while (begun := self._begin_segment(name, place, last)) is not None:
                segment, after = begun
                entries = self.read(name, after, segment.last - after.number)
                self._segments.write(segment.path, filter(_is_archivable, entries))
                with self._changes() as connection:
                    study = self._id(connection, name)
                    written = "update segments set written = 1 where study = ? and first = ?"
                    connection.execute(written, (study, segment.first))
                    connection.execute(f"delete from entries where {ARCHIVABLE}", (study, *segment[:2]))
                    moved += connection.changes()
        if moved:
            with self._writes() as connection:
                connection.execute("vacuum")
                with contextlib.suppress(StoreFailed):  # a reader: the log is emptied later
                    _truncate_log(connection)
        return moved

    def _begin_segment(self, name: str, folder: Path, last: int) -> tuple[Segment, Mark] | None:
        """Notes the next segment, before anything is in its file; with the mark before it."""
        with self._changes() as connection:
            study = self._id(connection, name)
            self._discard_unfinished(connection, study)
            there = _segments(connection, study)
            if lost := [each for each in there if not (folder / each.path.name).exists()]:
                raise InvalidSetting(f"{lost[0].path} is part of the archive: move it to {folder} before")
            connection.execute("insert or replace into archives values (?, ?)", (study, str(folder)))
            ended = "select last, link from segments where study = ? order by last desc limit 1"
            row = connection.execute(ended, (study,)).fetchone()
            after = BEGINNING if row is None else Mark(*row)
            upto = min(last, _end(connection, study).number - 1, after.number + ENTRIES_IN_A_SEGMENT)
            if upto <= after.number:
                return None
            link = connection.execute(
                "select link from entries where study = ? and number = ?", (study, upto)
            ).get
            first = after.number + 1
            file = f"{first}-{upto}-{secrets.token_hex(4)}.entries"  # others may have files there, too
            values = (study, first, upto, link, file)
            connection.execute("insert into segments values (?, ?, ?, ?, ?, 0)", values)
            return Segment(first, upto, folder / file), after

    def _discard_unfinished(self, connection: apsw.Connection, study: int | None) -> None:
        """Removes files that were begun before the process ended: what is erased later would stay in them."""
        for each in _segments(connection, study, written=False):
            self._segments.discard(each.path)
        connection.execute("delete from segments where study = ? and not written", (study,))

    def erase(self, name: str, numbers: Sequence[int], learnt: Collection[Place]) -> None:
        with self._archiving, self._changes() as connection:
            study = self._id(connection, name)
            self._discard_unfinished(connection, study)
            connection.executemany(
                "update entries set unit = null, content = null, salt = null where study = ? and number = ?",
                [(study, number) for number in numbers],
            )
            _drop(connection, study, learnt)
            archived = _segments(connection, study)
        for segment in archived:
            if inside := [number for number in numbers if segment.first <= number <= segment.last]:
                self._segments.erase(segment, inside)
        with self._writes() as connection:
            if numbers:
                connection.execute("vacuum")  # pages may hold copies of rows that were moved to others before
            _truncate_log(connection)  # which still holds what was overwritten

    def keep(
        self,
        name: str,
        place: Place,
        content: bytes,
        runs: Mapping[int, bytes] = NO_RUNS,
        replaced: Collection[Place] = (),
    ) -> None:
        with self._changes() as connection:
            study, mark = self._id(connection, name), place.mark
            if study is None or _end(connection, study).number < mark.number:
                raise JournalMoved(
                    f"the journal of {name!r} has no entry {mark.number} to keep a snapshot of"
                )
            _drop(connection, study, replaced)
            snapshot = (study, *mark, place.erased, content)
            connection.execute("insert or replace into snapshots values (?, ?, ?, ?, ?)", snapshot)
            rows = [(study, number, run) for number, run in runs.items()]
            connection.executemany("insert or replace into key_runs values (?, ?, ?)", rows)

    def places(self, name: str) -> list[Place]:
        found = "select number, link, erased from snapshots where study = ? order by number desc"
        with self._reads() as connection:
            rows = connection.execute(found, (self._id(connection, name),))
            return [Place(Mark(number, link), erased) for number, link, erased in rows]

    def snapshot(self, name: str, place: Place) -> bytes | None:
        found = "select content from snapshots where study = ? and number = ? and link = ? and erased = ?"
        with self._reads() as connection:
            bound = (self._id(connection, name), *place.mark, place.erased)
            content: bytes | None = connection.execute(found, bound).get
            return content

    def key_runs(self, name: str) -> list[bytes]:
        found = "select content from key_runs where study = ? order by number"
        with self._reads() as connection:
            return [content for (content,) in connection.execute(found, (self._id(connection, name),))]

    def backup(self, path: Path) -> None:
        if Path(path).exists():
            raise InvalidSetting(f"{path} is there already: a backup goes into a new file")
        make_private(Path(path))
        try:
            with self._writes() as connection:
                connection.execute("vacuum into ?", (str(path),))
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise

    def close(self) -> None:
        with self._write_lock, self._read_lock, _named(self.path):
            try:
                self._segments.close()
                self._reader.close()
                self._writer.close()
            finally:
                self._release()

    def _release(self) -> None:
        if self._process_lock is not None:
            self._process_lock.release()

    def _id(self, connection: apsw.Connection, name: str) -> int | None:
        """The number of a study, None if there is none of that name."""
        if name not in self._ids:
            found = connection.execute("select id from studies where name = ?", (name,)).fetchone()
            if found is None:
                return None
            self._ids[name] = found[0]
        return self._ids[name]

    @contextlib.contextmanager
    def _reads(self) -> Iterator[apsw.Connection]:
        """The connection that reads, for one thread at a time."""
        if self._disconnected:
            with self._writes():
                pass  # connects anew
        with self._read_lock, _named(self.path):
            self._refuse_fork()
            yield self._reader

    @contextlib.contextmanager
    def _writes(self) -> Iterator[apsw.Connection]:
        """The connection that writes, for one thread at a time."""
        with self._write_lock, _named(self.path):
            self._refuse_fork()
            if self._suspect:
                self._recover()
            yield self._writer

    def _refuse_fork(self) -> None:
        if os.getpid() != self._process:
            raise StoreFailed(f"{self.path} was opened before this process was forked: open it anew here")

    @contextlib.contextmanager
    def _changes(self) -> Iterator[apsw.Connection]:
        """The connection in a transaction, which is on disk when it ends, or never was."""
        with self._writes() as connection:
            if self._reading:
                raise StoreFailed(f"{self.path} was opened for reading alone")
            try:
                connection.execute("begin immediate")
                yield connection
                connection.execute("commit")
            except BaseException as error:
                self._ids.clear()  # one of them may not be there after all
                self._suspect = isinstance(error, apsw.Error)
                if connection.in_transaction:
                    with contextlib.suppress(apsw.Error):
                        connection.execute("rollback")
                raise

    def _recover(self) -> None:
        """After a failed write: what is in the log goes to the file, and from there to the disk.

        A disk that has refused to sync may say later that it has: pages are written once more.
        """
        with self._read_lock:
            self._disconnected = True
            with contextlib.suppress(apsw.Error):
                self._reader.close()
                self._writer.close()
            self._open()
            self._disconnected = False
        _truncate_log(self._writer)
        self._suspect = False


@final
class ProcessLock:
    """Holds the file beside `path` whose name ends in .lock, until it is released or the process ends."""

    def __init__(self, path: Path) -> None:
        file = path.with_name(f"{path.name}.lock")
        try:
            self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ALONE)
        except OSError as error:
            raise StoreFailed(f"cannot lock {path}: {error.strerror or error}") from error
        self.release = weakref.finalize(self, os.close, self._file)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            holder = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(holder).encode(), 0)
        except BlockingIOError:
            name = _holder(os.pread(self._file, 4096, 0))
            self.release()
            raise StoreInUse(
                f"{path} is open in {name}: if that is a service, say its http:// address in place of the "
                "file; if not, stop it first, or open the file for reading"
            ) from None
        except OSError as error:
            self.release()
            raise StoreFailed(f"cannot lock {path}: {error.strerror or error}") from error


def _holder(signature: bytes) -> str:
    """The process that has signed a lock."""
    holder: Any = None
    with contextlib.suppress(ValueError):
        holder = json.loads(signature)
    if not isinstance(holder, dict):
        return "another process"
    return f"process {holder.get('process')} on {holder.get('host')} since {holder.get('since')}"


def refuse_old_sqlite(found: str | None = None) -> None:
    """Refuses a SQLite that could damage files."""
    version = apsw.sqlite_lib_version() if found is None else found
    if tuple(int(part) for part in version.split(".")) < OLDEST_SQLITE:
        least = ".".join(map(str, OLDEST_SQLITE))
        raise StoreFailed(f"SQLite {version} can damage a file: install apsw with SQLite {least} or newer")


def _prepare(connection: apsw.Connection, exclusive: bool) -> None:
    """Sets what durability needs, and makes the tables of a new file."""
    if exclusive:
        connection.execute("pragma locking_mode = exclusive")
    for setting in SAFE_SETTINGS:
        connection.execute(f"pragma {setting}")
    connection.execute(f"pragma wal_autocheckpoint = {PAGES_BETWEEN_CHECKPOINTS}")
    mode = connection.execute("pragma journal_mode = wal").get
    if mode != "wal":
        raise StoreFailed(f"this file system cannot keep a write-ahead log (journal mode {mode})")
    if connection.pragma("user_version") == 0:
        with connection:
            connection.execute(TABLES)
            connection.execute(f"pragma application_id = {APPLICATION}")
            connection.execute(f"pragma user_version = {SCHEMA_VERSION}")


def _refuse_foreign(connection: apsw.Connection, path: Path, empty: bool) -> None:
    """Refuses a file that is not ours, or of a newer version; an `empty` one may be let in."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    tables = connection.execute("select count(*) from sqlite_schema").get
    if empty and (application, version, tables) == (0, 0, 0):
        return
    if application != APPLICATION:
        raise ForeignStore(f"{path} is a database of another application")
    if version > SCHEMA_VERSION:
        raise ForeignStore(
            f"{path} was written by a newer infex: its schema is {version}, known here is {SCHEMA_VERSION}"
        )


def _end(connection: apsw.Connection, study: int | None) -> Mark:
    last = "select number, link from entries where study = ? order by number desc limit 1"
    found = connection.execute(last, (study,)).fetchone()
    return BEGINNING if found is None else Mark(*found)


def _is_archivable(entry: Entry) -> bool:
    """May an entry be archived? Others are looked for whenever a study is opened."""
    return entry.number > 1 and not entry.key.startswith(RESERVED)


def _segments(connection: apsw.Connection, study: int | None, written: bool = True) -> list[Segment]:
    """The segments of a study, in their order."""
    found = (
        "select first, last, folder, file from segments join archives using (study) "
        "where study = ? and written = ? order by first"
    )
    rows = connection.execute(found, (study, written))
    return [Segment(first, last, Path(folder, file)) for first, last, folder, file in rows]


def _drop(connection: apsw.Connection, study: int | None, places: Collection[Place]) -> None:
    """Deletes snapshots."""
    rows = [(study, place.mark.number, place.erased) for place in places]
    connection.executemany("delete from snapshots where study = ? and number = ? and erased = ?", rows)


def _insert(connection: apsw.Connection, study: int, entries: Sequence[Entry]) -> None:
    """Inserts entries by few statements: during each, other threads may take the interpreter's lock."""
    while entries:
        count = min(1 << len(entries).bit_length() - 1, MOST_INSERTED)  # a power of 2: statements are cached
        rows = ",".join([f"({study},?,?,?,?,?,?,?,?,?)"] * count)
        bound = tuple(chain.from_iterable(entries[:count]))
        connection.execute(f"insert into entries (study, {COLUMNS}) values {rows}", bound)
        entries = entries[count:]


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors of SQLite by names of ours."""
    try:
        yield
    except apsw.NotADBError as error:
        raise ForeignStore(f"{path} is no database of SQLite: {error}") from error
    except (apsw.CorruptError, UnicodeDecodeError) as error:
        raise DamagedJournal(f"{path} is damaged: {error}") from error
    except apsw.FullError as error:
        raise StoreFailed(f"no room is left for {path}: {error}") from error
    except apsw.ConnectionClosedError as error:
        raise StoreFailed(f"{path} was closed") from error
    except apsw.Error as error:
        raise StoreFailed(f"{path} cannot be read or written: {error}") from error


def _truncate_log(connection: apsw.Connection) -> None:
    """Brings SQLite's write-ahead log into the file, all of it, and empties it."""
    busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").get or (1, 0, 0)
    if busy:
        raise StoreFailed("a reader keeps the log from being emptied: try again when it is done")
