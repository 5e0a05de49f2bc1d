"""Answers of a service by their `Idempotency-Key`, on disk: in a file beside SQLite's, or in PostgreSQL.

They stand with the store, because erasing a unit erases the answers that tell of its decisions, too. They are
not in the journal: an answer is no event of a study, and one may be thrown away after a week, which no entry
may. Should it be lost, decisions and rewards are still known by their own keys.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Protocol, final

import msgspec

from infex.study.kept_places import PostgresTables, SQLiteFile, truncate_log
from infex.study.stores.base import sqlite_path

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


class _Keyed(msgspec.Struct):
    """What is read of an answer: whose decision it tells of; "" where it tells of none."""

    key: str = ""


KEYS_DECODER = msgspec.json.Decoder(_Keyed | list[_Keyed])


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

    def erase(self, keys: Collection[str]) -> None:
        """Takes out, on disk too, all answers that tell of decisions with these keys."""

    def close(self) -> None:
        """Lets go of the table."""


def _tells_of(answer: bytes, keys: Collection[str]) -> bool:
    """Does an answer tell of a decision with one of these keys?"""
    read = KEYS_DECODER.decode(answer)
    return any(each.key in keys for each in (read if isinstance(read, list) else [read]))


def place_of(path: str, key: str) -> bytes:
    """The place of an answer: a digest of address and key."""
    return blake2b(f"{path}\0{key}".encode(errors="surrogatepass"), digest_size=16).digest()


def answer_table(url: str) -> AnswerTable:
    """The table that belongs to the database at a URL."""
    path = sqlite_path(url)
    return PostgresAnswers(url) if path is None else SQLiteAnswers(answers_path(path))


def answers_path(database: Path) -> Path:
    """The file of answers beside a database of SQLite."""
    return database.with_name(f"{database.name}.answers")


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

    def erase(self, keys: Collection[str]) -> None:
        if not self._file.is_there:
            return
        with self._file.using() as connection:
            with connection:
                kept = connection.execute("select place, answer from answers")
                places = [(place,) for place, answer in kept if _tells_of(answer, keys)]
                connection.executemany("delete from answers where place = ?", places)
            truncate_log(connection)


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

    def erase(self, keys: Collection[str]) -> None:
        def work(connection: Any) -> None:
            with connection.transaction(), connection.cursor() as cursor:
                kept = cursor.execute("select place, answer from infex_answers").fetchall()
                places = [(place,) for place, answer in kept if _tells_of(bytes(answer), keys)]
                cursor.executemany("delete from infex_answers where place = %s", places)
            connection.execute("vacuum infex_answers")  # what was there goes out of the files too

        self._tables.run(work)
