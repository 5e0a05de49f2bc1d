"""Journals in PostgreSQL, which several processes on several hosts share."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

import psycopg

from infex.errors import ForeignStore, InvalidSetting, JournalMoved, StoreFailed
from infex.study.entries import BEGINNING, Entry, Mark, entries_of, follows, refuse_others
from infex.study.paging import paged
from infex.study.store import Snapshot

TABLES_VERSION = 1
TURNS = 0x696E6678  # "infx": the first half of the keys of our advisory locks
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
  content bytea not null, primary key (study, number)
);
insert into infex_schema select 1 where not exists (select from infex_schema);
"""
ENTRY_FIELDS = "number, kind, key, unit, at, content, salt, seal, link"
ARRAYS = ", ".join(
    f"%b::{kind}[]" for kind in ("int8", "text", "text", "text", "int8", "bytea", "bytea", "bytea", "bytea")
)
BEGIN_STUDY = "insert into infex_studies (name, number, link) values (%s, %s, %s) on conflict do nothing"
APPEND = (
    "with moved as (update infex_studies set number = %b, link = %b "
    "where name = %b and number = %b and link = %b returning id) "
    f"insert into infex_entries (study, {ENTRY_FIELDS}) select moved.id, entry.* "
    f"from moved, unnest({ARRAYS}) as entry"
)
"""One statement: a counter that has moved on finds no row, and then nothing is inserted."""


@final
class PostgresStore:
    """Journals in the database that a URL such as postgresql://user@host/database names.

    Each journal has a counter, a row that moves in the transaction that appends: numbers have no gaps,
    whoever fails. A `turn` is an advisory lock of the session, which a transaction that is aborted keeps.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._turns: dict[str, int] = {}  # how deep, by study
        self._ends: dict[
            str, Mark
        ] = {}  # the last entries that were seen, which somebody may have gone beyond
        self._lost = False  # was the connection lost, and so all turns, of which some still last?
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
        with self._using() as connection:
            return sorted(name for (name,) in connection.execute("select name from infex_studies"))

    def end(self, name: str) -> Mark:
        with self._using() as connection:
            return _end(connection, name)

    def append(self, name: str, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        with self._using() as connection:
            before = self._ends.get(name, BEGINNING)
            if not follows(entries[0], before):
                before = self._ends[name] = _end(connection, name)
                refuse_others(name, entries, before)
            if before == BEGINNING:
                with connection.transaction():
                    connection.execute(BEGIN_STUDY, (name, *before))
                    _append(connection, name, before, entries)
            else:
                _append(connection, name, before, entries)  # one statement, and so one transaction
            self._ends[name] = entries[-1].mark

    def read(self, name: str, after: Mark = BEGINNING, most: int | None = None) -> Iterator[Entry]:
        return paged(lambda mark, count: self._page(name, mark, count), after, most)

    def _page(self, name: str, after: Mark, most: int) -> list[Entry]:
        page = self._entries(name, "and number > %s order by number limit %s", after.number, most)
        if page:
            self._ends[name] = page[-1].mark
        return page

    def of_key(self, name: str, key: str) -> list[Entry]:
        return self._entries(name, "and key = %s and key <> '' order by number", key)

    def of_unit(self, name: str, unit: str) -> list[Entry]:
        return self._entries(name, "and unit = %s and unit <> '' order by number", unit)

    def _entries(self, name: str, clause: str, *bound: Any) -> list[Entry]:
        with self._using() as connection:
            rows = connection.execute(
                f"select {ENTRY_FIELDS} from infex_entries where study = {THE_STUDY} {clause}", (name, *bound)
            )
            return entries_of(rows.fetchall())

    def erase(self, name: str, numbers: Sequence[int]) -> None:
        those = f"where study = {THE_STUDY} and number = any(%s)"
        with self._changing() as connection:
            connection.execute(
                f"update infex_entries set unit = null, content = null, salt = null {those}",
                (name, list(numbers)),
            )
        with self._using() as connection:
            connection.execute("vacuum infex_entries")  # what was there goes out of the files too

    def keep(self, name: str, snapshot: Snapshot) -> None:
        with self._changing() as connection:
            if _end(connection, name).number < snapshot.mark.number:
                raise JournalMoved(f"the journal of {name!r} has no entry {snapshot.mark.number} to keep")
            older = f"delete from infex_snapshots where study = {THE_STUDY} and number <= %s"
            connection.execute(older, (name, snapshot.mark.number))
            connection.execute(
                f"insert into infex_snapshots select {THE_STUDY}, %s, %s, %s",
                (name, *snapshot.mark, snapshot.content),
            )

    def snapshots(self, name: str) -> list[Snapshot]:
        found = f"select number, link, content from infex_snapshots where study = {THE_STUDY}"
        with self._using() as connection:
            rows = connection.execute(f"{found} order by number desc", (name,))
            return [Snapshot(Mark(number, link), content) for number, link, content in rows]

    @contextlib.contextmanager
    def turn(self, name: str) -> Iterator[None]:
        with self._lock:
            self._take(name)
            try:
                yield
            finally:
                self._give_back(name)

    def _take(self, name: str) -> None:
        with self._using() as connection:
            if name not in self._turns:
                connection.execute("select pg_advisory_lock(%s, hashtext(%s))", (TURNS, name))
        self._turns[name] = self._turns.get(name, 0) + 1

    def _give_back(self, name: str) -> None:
        self._turns[name] -= 1
        if self._turns[name]:
            return
        del self._turns[name]
        if not (self._lost or self._connection.broken):
            with self._using() as connection:
                connection.execute("select pg_advisory_unlock(%s, hashtext(%s))", (TURNS, name))
        self._lost = self._lost and bool(self._turns)

    def backup(self, path: Path) -> None:
        from infex.study.sqlite_store import SQLiteStore  # which needs a library of its own

        if Path(path).exists():
            raise InvalidSetting(f"{path} is there already: a backup goes into a new file")
        with contextlib.closing(SQLiteStore(path)) as copy:
            for name in self.names():
                for page in _pages(self.read(name)):
                    copy.append(name, page)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _using(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, for one thread at a time; a lost one is made anew, outside of turns."""
        with self._lock, _named():
            if os.getpid() != self._process:
                raise StoreFailed("the store was opened before this process was forked: open it anew here")
            if self._connection.broken:
                self._lost = bool(self._turns)
                self._connection = self._connected()
            if self._lost:
                raise StoreFailed("the server was lost while a turn lasted: somebody else may have had it")
            yield self._connection

    @contextlib.contextmanager
    def _changing(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection in a transaction."""
        with self._using() as connection, connection.transaction():
            yield connection


THE_STUDY = "(select id from infex_studies where name = %s)"


def _prepare(connection: psycopg.Connection[Any]) -> None:
    """Sets what durability needs, and makes the tables if they are missing."""
    connection.execute("set synchronous_commit = on")
    if connection.execute("show fsync").fetchone() != ("on",):
        raise StoreFailed("the server has fsync off: what it acknowledges may be lost")
    if connection.execute("select to_regclass('infex_schema')").fetchone() == (None,):
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s, %s)", (TURNS, MAKING))
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


def _append(connection: psycopg.Connection[Any], name: str, before: Mark, entries: Sequence[Entry]) -> None:
    """Moves the counter of a journal, if it still stands where it was, and adds entries: all or nothing."""
    columns = [list(column) for column in zip(*entries, strict=True)]
    done = connection.execute(APPEND, (*entries[-1].mark, name, *before, *columns), binary=True)
    if done.rowcount != len(entries):
        raise JournalMoved(f"somebody else has appended to the journal of {name!r}")


def _pages(entries: Iterator[Entry], size: int = 1000) -> Iterator[list[Entry]]:
    page: list[Entry] = []
    for entry in entries:
        page.append(entry)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page


@contextlib.contextmanager
def _named() -> Iterator[None]:
    """Errors of PostgreSQL by names of ours."""
    try:
        yield
    except psycopg.Error as error:
        first, *_ = str(error).strip().splitlines() or [type(error).__name__]  # what follows may tell of rows
        raise StoreFailed(f"PostgreSQL: {first}") from error
