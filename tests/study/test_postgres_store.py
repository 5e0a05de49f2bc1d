"""Journals in PostgreSQL, by several connections at once, with a server that crashes."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from infex.errors import ForeignStore, InvalidSetting, JournalMoved, StoreFailed
from infex.study.journal import BEGINNING, linked
from infex.study.stores.base import Store
from infex.study.stores.postgres import PostgresStore
from infex.study.stores.sqlite import SQLiteStore
from infex.testing.stores import StoreContract, drafts
from tests.study.server import Server, running


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as found:
        yield found


def emptied(server: Server) -> str:
    with psycopg.connect(server.url, autocommit=True) as connection:
        for table in ("infex_snapshots", "infex_entries", "infex_studies", "infex_schema"):
            connection.execute(f"drop table if exists {table} cascade")
    return server.url


@pytest.fixture
def url(server: Server) -> str:
    return emptied(server)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    found = PostgresStore(url)
    yield found
    found.close()


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, url: str) -> Iterator[PostgresStore]:
        self.url, self.opened = url, [PostgresStore(url)]
        yield self.opened[0]
        for each in self.opened:
            each.close()

    def reopened(self, store: Store) -> Store:
        store.close()
        self.opened.append(PostgresStore(self.url))
        return self.opened[-1]


def abort(url: str) -> None:
    """A transaction of the database that moves the counter, and fails."""
    with contextlib.suppress(ZeroDivisionError), psycopg.connect(url) as connection:
        connection.execute("update infex_studies set number = number + 3")
        raise ZeroDivisionError


def test_processes_take_turns_and_numbers_have_no_gaps(url: str) -> None:
    """Each of four connections is as much as a process; some of their transactions are aborted."""

    def work(seed: int) -> None:
        mine = PostgresStore(url)
        for n in range(20):
            with mine.transaction("a"):
                end = mine.end("a")
                if (n + seed) % 4 == 0:
                    abort(url)
                mine.append("a", linked(drafts(3), end), end)
        mine.close()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = PostgresStore(url)
    assert [entry.number for entry in store.read("a")] == list(range(1, 241))
    store.close()


def test_without_a_transaction_one_of_two_is_told_that_the_journal_moved(url: str) -> None:
    one, other = PostgresStore(url), PostgresStore(url)
    one.append("a", linked(drafts(1), BEGINNING), BEGINNING)
    end = one.end("a")
    other.append("a", linked(drafts(1), end), end)
    with pytest.raises(JournalMoved):
        one.append("a", linked(drafts(2), end), end)
    assert one.end("a").number == 2
    one.close()
    other.close()


def test_a_lost_server_is_said_and_found_again(server: Server, store: PostgresStore) -> None:
    store.append("a", linked(drafts(3), BEGINNING), BEGINNING)
    end = store.end("a")
    with store.transaction("a"):
        server.stop("immediate")
        with pytest.raises(StoreFailed, match="PostgreSQL"):
            store.append("a", linked(drafts(1), end), end)
        with pytest.raises(StoreFailed, match="PostgreSQL"):
            store.end("a")
        server.start()
        with contextlib.closing(PostgresStore(server.url)) as other, other.transaction("a"):
            other.append("a", linked(drafts(1), end), end)  # the lock went with the server
        with pytest.raises(JournalMoved):
            store.append("a", linked(drafts(1), end), end)
    end = store.end("a")
    with store.transaction("a"):
        store.append("a", linked(drafts(2), end), end)
    assert len(list(store.read("a"))) == 6


def test_a_server_that_may_lose_data_is_refused(server: Server) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("alter system set fsync = off")
        connection.execute("select pg_reload_conf()")
    try:
        with pytest.raises(StoreFailed, match="fsync off"):
            PostgresStore(server.url)
    finally:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("alter system reset fsync")
            connection.execute("select pg_reload_conf()")


def test_a_newer_schema_and_a_silent_address_are_refused(url: str) -> None:
    PostgresStore(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("update infex_schema set version = 9")
    with pytest.raises(ForeignStore, match="their version is 9, known here is 1"):
        PostgresStore(url)
    with pytest.raises(StoreFailed, match="PostgreSQL"):
        PostgresStore("postgresql://nobody@127.0.0.1:1/nothing")


def test_a_backup_is_a_file_of_sqlite(store: PostgresStore, tmp_path: Path) -> None:
    store.append("b", linked(drafts(1500), BEGINNING), BEGINNING)
    store.append("a", linked(drafts(2), BEGINNING), BEGINNING)
    store.backup(tmp_path / "copy.db")
    copy = SQLiteStore(tmp_path / "copy.db")
    assert copy.names() == ["a", "b"]
    assert list(copy.read("b")) == list(store.read("b"))
    with pytest.raises(InvalidSetting, match="there already"):
        store.backup(tmp_path / "copy.db")
