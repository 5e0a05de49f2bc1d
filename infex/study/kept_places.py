"""Where a service keeps what is no entry: in a file beside that of SQLite, or in tables of PostgreSQL."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, final

import apsw

from infex.errors import StoreFailed
from infex.files import make_private

Gives = TypeVar("Gives")
PATIENCE_MILLISECONDS = 10_000
DURABLE_SETTINGS = ("journal_mode = wal", "synchronous = full", "fullfsync = on", "secure_delete = on")


@final
class SQLiteFile:
    """A file of its own, because the one writer of the database is the study; made when first written."""

    def __init__(self, path: Path, tables: str) -> None:
        self._path, self._tables, self._lock = path, tables, threading.Lock()
        self._connection: apsw.Connection | None = None

    @property
    def is_there(self) -> bool:
        """Was anything written?"""
        return self._connection is not None or self._path.exists()

    @contextlib.contextmanager
    def using(self) -> Iterator[apsw.Connection]:
        """The connection, for one thread at a time."""
        with self._lock:
            try:
                self._connection = self._connection or self._opened()
                yield self._connection
            except apsw.Error as error:
                raise StoreFailed(f"{self._path} cannot be read or written: {error}") from error

    def close(self) -> None:
        """Lets go of the file."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _opened(self) -> apsw.Connection:
        make_private(self._path)
        connection = apsw.Connection(str(self._path))
        connection.set_busy_timeout(PATIENCE_MILLISECONDS)
        for setting in DURABLE_SETTINGS:
            connection.execute(f"pragma {setting}")
        connection.execute(self._tables)
        return connection


def truncate_log(connection: apsw.Connection) -> None:
    """Brings SQLite's write-ahead log into the file, all of it, and empties it."""
    busy, _, _ = connection.execute("pragma wal_checkpoint(truncate)").get or (1, 0, 0)
    if busy:
        raise StoreFailed("a reader keeps the log from being emptied: try again when it is done")


@final
class PostgresTables:
    """In the database itself, so that all instances know them; a connection that is lost is made anew."""

    def __init__(self, url: str, tables: str) -> None:
        self._url, self._tables, self._lock = url, tables, threading.Lock()
        self._connection: Any = None

    def run(self, work: Callable[[Any], Gives]) -> Gives:
        """What the work gives, done on the connection by one thread at a time."""
        import psycopg

        with self._lock:
            try:
                if self._connection is None:
                    self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
                    self._connection.execute(self._tables)
                return work(self._connection)
            except psycopg.Error as error:
                self._connection = None
                raise StoreFailed("what a service keeps in PostgreSQL cannot be read or written") from error

    def close(self) -> None:
        """Lets go of the server."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
