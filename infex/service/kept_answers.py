"""Answers by their `Idempotency-Key`, on disk: in a file beside that of SQLite, or in a table of PostgreSQL.

Not in the journal: an answer is no event of a study, and one may be thrown away after a week, which no entry
may. Should it be lost, decisions and rewards are still known by their own keys.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol, final

import apsw

from infex.errors import StoreFailed
from infex.study.addresses import sqlite_path

KEPT_SECONDS = 7 * 86_400
PATIENCE_MILLISECONDS = 10_000
SQLITE_TABLE = """
create table if not exists answers (place blob primary key, digest blob, answer blob, at real)
  strict, without rowid;
create index if not exists answers_by_age on answers (at);
"""
POSTGRES_TABLE = """
create table if not exists infex_answers (place bytea primary key, digest bytea, answer bytea, at float8);
create index if not exists infex_answers_by_age on infex_answers (at);
"""


class KeptAnswer(NamedTuple):
    """What was answered under an address and a key; `digest` is that of the request's body."""

    place: bytes
    digest: bytes
    answer: bytes


class AnswerTable(Protocol):
    """Holds answers; what `put` was given is on disk when it returns."""

    def find(self, place: bytes) -> KeptAnswer | None:
        """What was answered there."""

    def put(self, answers: Sequence[KeptAnswer], now: float) -> None:
        """Keeps these; one that is there already stays as it is. Those of a week ago go."""

    def close(self) -> None:
        """Lets go of the table."""


def place_of(path: str, key: str) -> bytes:
    """The place of an answer: a digest of address and key."""
    return blake2b(f"{path}\0{key}".encode(errors="surrogatepass"), digest_size=16).digest()


def answer_table(url: str) -> AnswerTable:
    """The table that belongs to the database at a URL."""
    path = sqlite_path(url)
    return PostgresAnswers(url) if path is None else SQLiteAnswers(path.with_name(f"{path.name}.answers"))


@final
class SQLiteAnswers:
    """In a file of its own: the database of studies has one writer, and that is the study's."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._connection: apsw.Connection | None = None

    def find(self, place: bytes) -> KeptAnswer | None:
        if self._connection is None and not self._path.exists():
            return None
        with self._using() as connection:
            found = connection.execute(
                "select digest, answer from answers where place = ?", (place,)
            ).fetchone()
        return None if found is None else KeptAnswer(place, *found)

    def put(self, answers: Sequence[KeptAnswer], now: float) -> None:
        with self._using() as connection, connection:
            connection.execute("delete from answers where at < ?", (now - KEPT_SECONDS,))
            rows = [(*answer, now) for answer in answers]
            connection.executemany("insert or ignore into answers values (?, ?, ?, ?)", rows)

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    @contextlib.contextmanager
    def _using(self) -> Iterator[apsw.Connection]:
        with self._lock:
            try:
                self._connection = self._connection or _opened(self._path)
                yield self._connection
            except apsw.Error as error:
                raise StoreFailed(f"{self._path} cannot be read or written: {error}") from error


def _opened(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(PATIENCE_MILLISECONDS)
    for setting in ("journal_mode = wal", "synchronous = full", "fullfsync = on"):
        connection.execute(f"pragma {setting}")
    connection.execute(SQLITE_TABLE)
    return connection


@final
class PostgresAnswers:
    """In the database itself, so that all instances know them; a connection that is lost is made anew."""

    def __init__(self, url: str) -> None:
        self._url, self._lock = url, threading.Lock()
        self._connection: Any = None

    def find(self, place: bytes) -> KeptAnswer | None:
        words = "select digest, answer from infex_answers where place = %s"
        found = self._run(lambda connection: connection.execute(words, (place,)).fetchone())
        return None if found is None else KeptAnswer(place, bytes(found[0]), bytes(found[1]))

    def put(self, answers: Sequence[KeptAnswer], now: float) -> None:
        words = "insert into infex_answers values (%s, %s, %s, %s) on conflict do nothing"

        def work(connection: Any) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("delete from infex_answers where at < %s", (now - KEPT_SECONDS,))
                cursor.executemany(words, [(*answer, now) for answer in answers])

        self._run(work)

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _run(self, work: Callable[[Any], Any]) -> Any:
        import psycopg

        with self._lock:
            try:
                if self._connection is None:
                    self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
                    self._connection.execute(POSTGRES_TABLE)
                return work(self._connection)
            except psycopg.Error as error:
                self._connection = None
                raise StoreFailed("the answers in PostgreSQL cannot be read or written") from error
