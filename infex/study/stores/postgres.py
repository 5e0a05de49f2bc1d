"""Journals in PostgreSQL, which several processes on several hosts share."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, final

import psycopg

from infex.errors import ForeignStore, InvalidSetting, JournalMoved, StoreFailed
from infex.study.journal import (
    BEGINNING,
    Entry,
    Mark,
    check_append,
    copy_journal,
    entries_from_rows,
    read_pages,
)
from infex.study.stores.base import NO_RUNS, Place

TABLES_VERSION = 1
LOCKS = 0x696E6678  # "infx": the first half of the keys of our advisory locks
MAKING = 0  # the second half while tables are made
MAKE_TABLES = """
create table if not exists infex_schema (version integer not null);
create table if not exists infex_studies (
  id integer generated always as identity primary key, name text not null unique,
  number bigint not null, link bytea not null
);
create table if not exists infex_entries (
  study integer not null references infex_studies, number bigint not null, kind text not null,
  key text not null, unit text, at bigint not null, content bytea, salt bytea, seal bytea not null,
  link bytea not null, primary key (study, number)
);
create index if not exists infex_entries_by_key on infex_entries (study, key) where key <> '';
create index if not exists infex_entries_by_unit on infex_entries (study, unit) where unit <> '';
create table if not exists infex_snapshots (
  study integer not null references infex_studies, number bigint not null, link bytea not null,
  erased bytea not null, content bytea not null, primary key (study, number, erased)
);
create table if not exists infex_key_runs (
  study integer not null references infex_studies, number bigint not null, content bytea not null,
  primary key (study, number)
);
insert into infex_schema select 1 where not exists (select from infex_schema);
"""
THE_STUDY = "(select id from infex_studies where name = %s)"
COLUMNS = "number, kind, key, unit, at, content, salt, seal, link"
TYPES = ("int8", "text", "text", "text", "int8", "bytea", "bytea", "bytea", "bytea")
BEGIN_STUDY = "insert into infex_studies (name, number, link) values (%s, %s, %s) on conflict do nothing"
APPEND = (
    "with moved as (update infex_studies set number = %b, link = %b "
    "where name = %b and number = %b and link = %b returning id) "
    f"insert into infex_entries (study, {COLUMNS}) select moved.id, entry.* "
    f"from moved, unnest({', '.join(f'%b::{kind}[]' for kind in TYPES)}) as entry"
)
"""One statement: if the counter is not where it is expected to be, nothing is inserted."""


@final
class PostgresStore:
    """Journals in the database that a URL such as postgresql://user@host/database names.

    Each journal has a counter, a row that moves in the transaction that appends: numbers have no gaps,
    whoever fails. `transaction` holds an advisory lock, so that processes do not decide in vain; if the
    server loses it, the counter still lets but one of them append.
    """

    shared = True

    def __init__(self, url: str) -> None:
        self._url, self._process = url, os.getpid()
        self._lock, self._transactions = threading.RLock(), threading.Lock()
        self._connection = self._connected()

    def _connected(self) -> psycopg.Connection[Any]:
        with _named():
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
            try:
                _prepare(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def names(self) -> list[str]:
        with self._uses() as connection:
            return sorted(name for (name,) in connection.execute("select name from infex_studies"))

    def end(self, name: str) -> Mark:
        with self._uses() as connection:
            return _end(connection, name)

    @contextlib.contextmanager
    def transaction(self, name: str) -> Iterator[None]:
        with self._transactions:
            with self._uses() as connection:
                connection.execute("select pg_advisory_lock(%s, hashtext(%s))", (LOCKS, name))
            try:
                yield
            finally:
                with (
                    contextlib.suppress(StoreFailed),
                    self._lock,
                    _named(),
                ):  # a lost connection holds no lock
                    connection.execute("select pg_advisory_unlock(%s, hashtext(%s))", (LOCKS, name))

    def append(self, name: str, entries: Sequence[Entry], after: Mark) -> None:
        if not entries:
            return
        check_append(name, entries, after, after)
        with self._uses() as connection:
            if after == BEGINNING:
                with connection.transaction():
                    connection.execute(BEGIN_STUDY, (name, *after))
                    _append(connection, name, entries, after)
            else:
                _append(connection, name, entries, after)  # one statement, and so one transaction

    def read(self, name: str, after: Mark = BEGINNING, most: int | None = None) -> Iterator[Entry]:
        page = "and number > %s order by number limit %s"
        return read_pages(lambda number, count: self._entries(name, page, number, count), after, most)

    def of_keys(self, name: str, keys: Collection[str]) -> list[Entry]:
        return self._entries(name, "and key = any(%s) and key <> '' order by number", list(keys))

    def of_unit(self, name: str, unit: str) -> list[Entry]:
        return self._entries(name, "and unit = %s and unit <> '' order by number", unit)

    def _entries(self, name: str, clause: str, *bound: Any) -> list[Entry]:
        with self._uses() as connection:
            rows = connection.execute(
                f"select {COLUMNS} from infex_entries where study = {THE_STUDY} {clause}", (name, *bound)
            )
            return entries_from_rows(rows.fetchall())

    def erase(self, name: str, numbers: Sequence[int], learnt: Collection[Place]) -> None:
        those = f"where study = {THE_STUDY} and number = any(%s)"
        with self._uses() as connection:
            with connection.transaction():
                connection.execute(
                    f"update infex_entries set unit = null, content = null, salt = null {those}",
                    (name, list(numbers)),
                )
                _drop(connection, name, learnt)
            connection.execute("vacuum infex_entries, infex_snapshots")  # their room may be written over

    def keep(
        self,
        name: str,
        place: Place,
        content: bytes,
        runs: Mapping[int, bytes] = NO_RUNS,
        replaced: Collection[Place] = (),
    ) -> None:
        with self._uses() as connection, connection.transaction():
            if _end(connection, name).number < place.mark.number:
                raise JournalMoved(f"the journal of {name!r} has no entry {place.mark.number} to keep")
            _drop(connection, name, [*replaced, place])
            connection.execute(
                f"insert into infex_snapshots select {THE_STUDY}, %s, %s, %s, %s",
                (name, *place.mark, place.erased, content),
            )
            for number, run in runs.items():
                connection.execute(
                    f"insert into infex_key_runs select {THE_STUDY}, %s, %s "
                    "on conflict (study, number) do update set content = excluded.content",
                    (name, number, run),
                )

    def places(self, name: str) -> list[Place]:
        found = f"select number, link, erased from infex_snapshots where study = {THE_STUDY}"
        with self._uses() as connection:
            rows = connection.execute(f"{found} order by number desc", (name,))
            return [Place(Mark(number, link), erased) for number, link, erased in rows]

    def snapshot(self, name: str, place: Place) -> bytes | None:
        those = f"where study = {THE_STUDY} and number = %s and link = %s and erased = %s"
        with self._uses() as connection:
            bound = (name, *place.mark, place.erased)
            found = connection.execute(f"select content from infex_snapshots {those}", bound).fetchone()
            return None if found is None else found[0]

    def key_runs(self, name: str) -> list[bytes]:
        found = f"select content from infex_key_runs where study = {THE_STUDY} order by number"
        with self._uses() as connection:
            return [content for (content,) in connection.execute(found, (name,))]

    def archive(self, name: str, folder: Path, last: int) -> int:
        raise InvalidSetting("journals in PostgreSQL are not archived: only those in SQLite are")

    def backup(self, path: Path) -> None:
        from infex.study.stores.sqlite import SQLiteStore  # which needs a library of its own

        if Path(path).exists():
            raise InvalidSetting(f"{path} is there already: a backup goes into a new file")
        with contextlib.closing(SQLiteStore(path)) as copy:
            for name in self.names():
                copy_journal(self.read(name), partial(copy.append, name))

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _uses(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, for one thread at a time; a lost one is made anew."""
        with self._lock, _named():
            if os.getpid() != self._process:
                raise StoreFailed("the store was opened before this process was forked: open it anew here")
            if self._connection.broken:
                self._connection = self._connected()
            yield self._connection


def _prepare(connection: psycopg.Connection[Any]) -> None:
    """Sets what durability needs, and makes the tables if they are missing."""
    connection.execute("set synchronous_commit = on")
    if connection.execute("show fsync").fetchone() != ("on",):
        raise StoreFailed("the server has fsync off: what it acknowledges may be lost")
    if connection.execute("select to_regclass('infex_schema')").fetchone() == (None,):
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s, %s)", (LOCKS, MAKING))
            connection.execute(MAKE_TABLES)
    found = connection.execute("select max(version) from infex_schema").fetchone()
    version = None if found is None else found[0]
    if version != TABLES_VERSION:
        raise ForeignStore(
            f"the tables are of another infex: their version is {version}, known here is {TABLES_VERSION}"
        )


def _end(connection: psycopg.Connection[Any], name: str) -> Mark:
    found = connection.execute("select number, link from infex_studies where name = %s", (name,)).fetchone()
    return BEGINNING if found is None else Mark(found[0], found[1])


def _append(connection: psycopg.Connection[Any], name: str, entries: Sequence[Entry], after: Mark) -> None:
    """Moves the counter of a journal, if it still is where it was, and adds entries: all or nothing."""
    columns = [list(column) for column in zip(*entries, strict=True)]
    done = connection.execute(APPEND, (*entries[-1].mark, name, *after, *columns), binary=True)
    if done.rowcount != len(entries):
        raise JournalMoved(f"somebody else has appended to the journal of {name!r}")


def _drop(connection: psycopg.Connection[Any], name: str, places: Collection[Place]) -> None:
    """Deletes snapshots."""
    those = f"where study = {THE_STUDY} and number = %s and erased = %s"
    for place in places:
        connection.execute(f"delete from infex_snapshots {those}", (name, place.mark.number, place.erased))


@contextlib.contextmanager
def _named() -> Iterator[None]:
    """Errors of PostgreSQL by names of ours."""
    try:
        yield
    except psycopg.Error as error:
        first, *_ = str(error).strip().splitlines() or [type(error).__name__]  # what follows may tell of rows
        raise StoreFailed(f"PostgreSQL: {first}") from error
