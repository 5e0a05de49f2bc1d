"""Journals in one SQLite file: on disk before anything is acknowledged, by one process at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, final

import apsw

from infex.errors import DamagedJournal, ForeignStore, InvalidSetting, JournalMoved, StoreFailed
from infex.files import make_private
from infex.study.entries import BEGINNING, Entry, Mark, entries_of, refuse_others
from infex.study.paging import paged
from infex.study.process_lock import ProcessLock
from infex.study.store import Snapshot

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
  content blob not null, primary key (study, number)
) strict;
"""
PAGES_BETWEEN_CHECKPOINTS = 4000  # of 4 KiB in the log: pages that change often go to the file once
SAFE_SETTINGS = ("synchronous = full", "fullfsync = on", "checkpoint_fullfsync = on", "secure_delete = on")
ROWS_INSERTED = 128  # by one statement
BUSY_MILLISECONDS = 10_000
BY_KEY = "where study = ? and key = ? and key <> '' order by number"
BY_UNIT = "where study = ? and unit = ? and unit <> '' order by number"
COLUMNS = "number, kind, key, unit, at, content, salt, seal, link"


class LockedConnection(NamedTuple):
    """A connection, and the lock of those who use it."""

    connection: apsw.Connection
    lock: threading.RLock


@final
class SQLiteStore:
    """Journals in the file at `path`, which is made if it is missing.

    A writer has it for itself: another process is told which one that is. With `reading` any number of
    processes look at it, beside the writer. Everything is on disk when a call returns (a write-ahead log,
    synchronous in full). `vfs` and `exclusive` are for tests: a file system that fails, and no shared memory.
    """

    def __init__(
        self, path: str | Path, *, reading: bool = False, vfs: str | None = None, exclusive: bool = False
    ) -> None:
        self.path = Path(path)
        self._reading, self._vfs, self._exclusive = reading, vfs, exclusive
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._suspect = False  # did a write fail? Then what is on disk is looked at before the next
        self._ids: dict[str, int] = {}
        refuse_old_sqlite()
        self._claim = None if reading else ProcessLock(self.path)
        try:
            with _named(self.path):
                self._connection = self._opened()
                self._looking = self._reader()
        except BaseException:
            self._unclaim()
            raise

    def _reader(self) -> LockedConnection:
        """A second connection, for reads that wait for no commit; where there is but one, that."""
        if self._reading or self._exclusive:
            return LockedConnection(self._connection, self._lock)
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY, vfs=self._vfs)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        return LockedConnection(connection, threading.RLock())

    def _opened(self) -> apsw.Connection:
        if self._reading and not self.path.exists():
            raise InvalidSetting(f"there is no file {self.path}")
        flags = (
            apsw.SQLITE_OPEN_READONLY
            if self._reading
            else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        )
        if not self._reading:
            make_private(self.path)
        connection = apsw.Connection(str(self.path), flags=flags, vfs=self._vfs)
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            _refuse_foreign(connection, self.path, empty=not self._reading)
            if not self._reading:
                _prepare(connection, self._exclusive)
        except BaseException:
            connection.close()
            raise
        return connection

    def names(self) -> list[str]:
        with self._looking_at() as connection:
            return [name for (name,) in connection.execute("select name from studies order by name")]

    def end(self, name: str) -> Mark:
        with self._using(recover=True) as connection:
            return _end(connection, self._id(connection, name))

    def append(self, name: str, entries: Sequence[Entry]) -> None:
        with self._changing() as connection:
            study = self._id(connection, name)
            if study is None:
                connection.execute("insert into studies (name) values (?)", (name,))
                study = connection.last_insert_rowid()
            end = _end(connection, study)
            refuse_others(name, entries, end)
            _insert(connection, study, entries)

    def read(self, name: str, after: Mark = BEGINNING, most: int | None = None) -> Iterator[Entry]:
        return paged(lambda mark, count: self._page(name, mark, count), after, most)

    def _page(self, name: str, after: Mark, most: int) -> list[Entry]:
        clause = "where study = ? and number > ? order by number limit ?"
        return self._entries(name, clause, after.number, most)

    def of_key(self, name: str, key: str) -> list[Entry]:
        return self._entries(name, f"indexed by entries_by_key {BY_KEY}", key)

    def of_unit(self, name: str, unit: str) -> list[Entry]:
        return self._entries(name, f"indexed by entries_by_unit {BY_UNIT}", unit)

    def _entries(self, name: str, clause: str, *bound: Any) -> list[Entry]:
        with self._looking_at() as connection:
            rows = connection.execute(
                f"select {COLUMNS} from entries {clause}", (self._id(connection, name), *bound)
            )
            return entries_of(rows.fetchall())

    def erase(self, name: str, numbers: Sequence[int]) -> None:
        with self._looking_at() as connection:
            rows = [(self._id(connection, name), number) for number in numbers]
        with self._changing() as connection:
            connection.executemany(
                "update entries set unit = null, content = null, salt = null where study = ? and number = ?",
                rows,
            )
        with self._using() as connection:  # the log still holds what was overwritten
            _truncate_log(connection)

    def keep(self, name: str, snapshot: Snapshot) -> None:
        with self._changing() as connection:
            study, mark = self._id(connection, name), snapshot.mark
            if study is None or _end(connection, study).number < mark.number:
                raise JournalMoved(
                    f"the journal of {name!r} has no entry {mark.number} to keep a snapshot of"
                )
            connection.execute("delete from snapshots where study = ?", (study,))
            connection.execute("insert into snapshots values (?, ?, ?, ?)", (study, *mark, snapshot.content))

    def snapshots(self, name: str) -> list[Snapshot]:
        with self._looking_at() as connection:
            rows = connection.execute(
                "select number, link, content from snapshots where study = ? order by number desc",
                (self._id(connection, name),),
            )
            return [Snapshot(Mark(number, link), content) for number, link, content in rows]

    def turn(self, name: str) -> contextlib.AbstractContextManager[None]:
        return _held(self._lock)

    def backup(self, path: Path) -> None:
        if Path(path).exists():
            raise InvalidSetting(f"{path} is there already: a backup goes into a new file")
        make_private(Path(path))
        try:
            with self._using() as connection:
                connection.execute("vacuum into ?", (str(path),))
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise

    def close(self) -> None:
        with self._lock, _named(self.path):
            try:
                self._looking.connection.close()
                self._connection.close()
            finally:
                self._unclaim()

    def _unclaim(self) -> None:
        if self._claim is not None:
            self._claim.release()

    def _id(self, connection: apsw.Connection, name: str) -> int | None:
        """The number of a study, None if there is none of that name."""
        if name not in self._ids:
            found = connection.execute("select id from studies where name = ?", (name,)).fetchone()
            if found is None:
                return None
            self._ids[name] = found[0]
        return self._ids[name]

    @contextlib.contextmanager
    def _looking_at(self) -> Iterator[apsw.Connection]:
        """The connection that reads, for one thread at a time."""
        with self._looking.lock, _named(self.path):
            self._refuse_fork()
            yield self._looking.connection

    def _refuse_fork(self) -> None:
        if os.getpid() != self._process:
            raise StoreFailed(f"{self.path} was opened before this process was forked: open it anew here")

    @contextlib.contextmanager
    def _using(self, recover: bool = False) -> Iterator[apsw.Connection]:
        """The connection that writes, for one thread at a time."""
        with self._lock, _named(self.path):
            self._refuse_fork()
            if recover and self._suspect:
                self._recover()
            yield self._connection

    @contextlib.contextmanager
    def _changing(self) -> Iterator[apsw.Connection]:
        """The connection in a transaction, which is on disk when it ends, or never was."""
        with self._using(recover=True) as connection:
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
        with contextlib.suppress(apsw.Error), self._looking.lock:
            self._looking.connection.close()
            self._connection.close()
        self._connection = self._opened()
        self._looking = self._reader()
        _truncate_log(self._connection)
        self._suspect = False


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


def _insert(connection: apsw.Connection, study: int, entries: Sequence[Entry]) -> None:
    """Inserts entries by one statement for as many as can be: each lets other threads in once."""
    while entries:
        count = min(1 << len(entries).bit_length() - 1, ROWS_INSERTED)  # few statements, which are kept
        bound = tuple(chain.from_iterable(entries[:count]))
        connection.execute(_insertion(study, count), bound)
        entries = entries[count:]


@lru_cache(maxsize=64)  # the same text again: SQLite's own cache finds it in less time
def _insertion(study: int, count: int) -> str:
    """The statement that inserts so many entries."""
    rows = ",".join([f"({study},?,?,?,?,?,?,?,?,?)"] * count)
    return f"insert into entries (study, {COLUMNS}) values {rows}"


@contextlib.contextmanager
def _held(lock: threading.RLock) -> Iterator[None]:
    with lock:
        yield


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
