"""Answers by their `Idempotency-Key`, on disk: in a file beside that of SQLite, or in a table of PostgreSQL.

Not in the journal: an answer is no event of a study, and one may be thrown away after a week, which no entry
may. Should it be lost, decisions and rewards are still known by their own keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol, final

from infex.service.kept_places import PostgresTables, SQLiteFile
from infex.study.addresses import sqlite_path

KEPT_SECONDS = 7 * 86_400
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
    """In a file of its own; there is none before the first answer."""

    def __init__(self, path: Path) -> None:
        self._file = SQLiteFile(path, SQLITE_TABLE)
        self.close = self._file.close

    def find(self, place: bytes) -> KeptAnswer | None:
        if not self._file.is_there:
            return None
        words = "select digest, answer from answers where place = ?"
        with self._file.using() as connection:
            found = connection.execute(words, (place,)).fetchone()
        return None if found is None else KeptAnswer(place, *found)

    def put(self, answers: Sequence[KeptAnswer], now: float) -> None:
        with self._file.using() as connection, connection:
            connection.execute("delete from answers where at < ?", (now - KEPT_SECONDS,))
            rows = [(*answer, now) for answer in answers]
            connection.executemany("insert or ignore into answers values (?, ?, ?, ?)", rows)


@final
class PostgresAnswers:
    """In the database itself, so that all instances know them."""

    def __init__(self, url: str) -> None:
        self._tables = PostgresTables(url, POSTGRES_TABLE)
        self.close = self._tables.close

    def find(self, place: bytes) -> KeptAnswer | None:
        words = "select digest, answer from infex_answers where place = %s"
        found = self._tables.run(lambda connection: connection.execute(words, (place,)).fetchone())
        return None if found is None else KeptAnswer(place, bytes(found[0]), bytes(found[1]))

    def put(self, answers: Sequence[KeptAnswer], now: float) -> None:
        words = "insert into infex_answers values (%s, %s, %s, %s) on conflict do nothing"

        def work(connection: Any) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute("delete from infex_answers where at < %s", (now - KEPT_SECONDS,))
                cursor.executemany(words, [(*answer, now) for answer in answers])

        self._tables.run(work)
