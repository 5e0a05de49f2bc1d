"""Journals in SQLite: what is acknowledged is on disk, and what is wrong with a file is said."""

import contextlib
import multiprocessing
import os
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from infex.errors import DamagedJournal, ForeignStore, InfexError, InvalidSetting, StoreFailed, StoreInUse
from infex.study.journal import BEGINNING, Draft, linked
from infex.study.stores import sqlite
from infex.study.stores.base import Store
from infex.study.stores.sqlite import SQLiteStore, refuse_old_sqlite
from infex.testing.stores import StoreContract, drafts
from tests.study.faulty_disk import Disk, after_a_cut


class TestSQLite(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> SQLiteStore:
        return SQLiteStore(tmp_path / "shop.db")

    def reopened(self, store: Store) -> Store:
        assert isinstance(store, SQLiteStore)
        store.close()
        return SQLiteStore(store.path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def filled(path: Path, count: int = 40) -> None:
    store = SQLiteStore(path)
    store.append("a", linked(drafts(count), BEGINNING), BEGINNING)
    store.close()


def append(store: SQLiteStore, some: list[Draft]) -> int:
    """Appends drafts at the end; the number of the last."""
    end = store.end("a")
    store.append("a", linked(some, end), end)
    return end.number + len(some)


def test_a_second_process_is_told_who_has_it_open(path: Path) -> None:
    first = SQLiteStore(path)
    with pytest.raises(StoreInUse, match=rf"shop.db is open in process {os.getpid()} on .* since 20"):
        SQLiteStore(path)
    reader = SQLiteStore(path, reading=True)
    first.append("a", linked(drafts(2), BEGINNING), BEGINNING)
    assert reader.end("a").number == 2
    with pytest.raises(StoreFailed, match="opened for reading alone"):
        append(reader, drafts(1))
    first.close()
    SQLiteStore(path).close()


def test_a_reader_needs_a_file(path: Path) -> None:
    with pytest.raises(InvalidSetting, match="there is no file"):
        SQLiteStore(path, reading=True)
    assert not path.exists()


def test_a_forked_process_opens_it_anew(path: Path) -> None:
    store = SQLiteStore(path)
    store._process = -1
    with pytest.raises(StoreFailed, match="before this process was forked"):
        store.names()


def test_a_closed_store_says_so(path: Path) -> None:
    store = SQLiteStore(path)
    store.close()
    with pytest.raises(StoreFailed, match="was closed"):
        store.names()


def test_files_of_others_and_newer_ones_are_refused_and_left_as_they_are(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("create table mine (x)")
    before = path.read_bytes()
    with pytest.raises(ForeignStore, match="another application"):
        SQLiteStore(path)
    assert path.read_bytes() == before
    path.write_bytes(b"no database at all, but long enough to be looked at" * 30)
    with pytest.raises(ForeignStore, match="no database of SQLite"):
        SQLiteStore(path)
    path.unlink()
    filled(path)
    apsw.Connection(str(path)).pragma("user_version", 99)
    for reading in (False, True):
        with pytest.raises(ForeignStore, match="newer infex: its schema is 99, known here is 1"):
            SQLiteStore(path, reading=reading)


def test_an_old_sqlite_is_refused() -> None:
    for old in ("3.40.1", "3.51.2"):
        with pytest.raises(StoreFailed, match=f"SQLite {old} can damage a file"):
            refuse_old_sqlite(old)
    for good in ("3.51.3", "3.54.1", "4.0.0"):
        refuse_old_sqlite(good)


def test_a_flipped_byte_is_never_read_as_if_it_were_right(path: Path) -> None:
    filled(path, 400)
    whole, rng = path.read_bytes(), random.Random(1)
    entries = list(SQLiteStore(path, reading=True).read("a"))
    refused = 0
    for _ in range(80):
        place = rng.randrange(len(whole))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :])
        try:
            store = SQLiteStore(path)
            assert list(store.read("a")) == entries
        except InfexError:
            refused += 1
    assert refused > 30


def test_a_truncated_file_is_refused(path: Path) -> None:
    filled(path, 400)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises((DamagedJournal, ForeignStore)):
        list(SQLiteStore(path).read("a"))


def test_what_is_erased_is_in_no_file(path: Path) -> None:
    store = SQLiteStore(path)
    store.append("a", linked(drafts(9), BEGINNING), BEGINNING)
    everything = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"content of 4" in everything
    store.erase("a", [entry.number for entry in store.of_unit("a", "bob")], [])
    everything = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"content of 4" not in everything
    assert b"bob" not in everything
    assert b"content of 5" in everything


def test_a_backup_is_taken_beside_the_writer(path: Path, tmp_path: Path) -> None:
    store = SQLiteStore(path)
    store.append("a", linked(drafts(5), BEGINNING), BEGINNING)
    store.backup(tmp_path / "copy.db")
    append(store, drafts(1))
    copy = SQLiteStore(tmp_path / "copy.db")
    assert copy.end("a").number == 5
    with pytest.raises(InvalidSetting, match="there already"):
        store.backup(tmp_path / "copy.db")


def faulty(path: Path, disk: Disk) -> SQLiteStore:
    return SQLiteStore(path, vfs=disk.name)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # SQLite goes on after some
@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError])
def test_whatever_call_fails_nothing_is_acknowledged_that_is_not_there(
    tmp_path: Path, error: type[Exception]
) -> None:
    """The n-th call fails, n = 1, 2, ..., until nothing fails any more; it goes on when there is room."""
    n, clean = 0, False
    while not clean:
        n += 1
        path = tmp_path / f"{n}.db"
        disk = Disk(f"failing-{error.__name__}-{n}", fails=n, error=error)
        told = 0
        try:
            store = faulty(path, disk)
        except StoreFailed:
            disk.fails = None
            store = faulty(path, disk)
        for _ in range(6):
            try:
                told = append(store, drafts(3))
            except StoreFailed:
                assert store.end("a").number >= told
        clean = disk.fails is not None and disk.count < disk.fails
        assert store.end("a").number >= told
        with contextlib.suppress(StoreFailed):
            store.close()
        whole = SQLiteStore(path)
        assert len(list(whole.read("a"))) >= told >= 12
        whole.close()
        disk.unregister()
    assert n > 40


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_is_said_and_when_there_is_room_again_it_goes_on(path: Path) -> None:
    disk = Disk("full", error=apsw.FullError)
    store = faulty(path, disk)
    store.append("a", linked(drafts(3), BEGINNING), BEGINNING)
    disk.fails, disk.lasting = disk.count + 1, True
    for _ in range(3):
        with pytest.raises(StoreFailed, match="no room is left"):
            append(store, drafts(1))
    disk.fails = None
    append(store, drafts(2))
    assert store.end("a").number == 5
    store.close()
    disk.unregister()


def power_cuts(folder: Path, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """For so many cuts: how many entries were acknowledged before it, and how many are there after."""
    disk = Disk(f"cut-{seed}")
    store = faulty(folder / "shop.db", disk)
    rng = random.Random(seed)
    written = 0
    for _ in range(40):
        some = rng.randrange(1, 30)
        append(store, drafts(some, written + 1))
        written += some
        disk.told(written)
    store.close()
    disk.unregister()
    for place in range(count):
        cut = rng.randrange(len(disk.calls) + 1)
        told = max((call.offset for call in disk.calls[:cut] if call.what == "told"), default=0)
        home = folder / f"after-{place}"
        home.mkdir()
        for name, content in after_a_cut(disk.calls[:cut], rng).items():
            (home / name).write_bytes(content)
        again = SQLiteStore(home / "shop.db")
        yield told, len(list(again.read("a")))
        append(again, drafts(1))
        again.close()


def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert all(there >= told for told, there in power_cuts(tmp_path, 120, seed=3))


@pytest.mark.slow
def test_two_thousand_power_cuts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    assert all(there >= told for told, there in power_cuts(tmp_path, 2000, seed=4))


def test_the_same_cuts_notice_a_log_that_is_not_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "SAFE_SETTINGS", ("synchronous = normal",))
    lost = sum(there < told for told, there in power_cuts(tmp_path, 60, seed=3))
    assert lost > 20


def append_until_killed(path: Path, told: "multiprocessing.connection.Connection") -> None:
    store = SQLiteStore(path)
    while True:
        told.send(append(store, drafts(2)))


def test_a_killed_process_loses_nothing_that_was_acknowledged(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    last = 0
    for _ in range(3):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=append_until_killed, args=(path, there))
        process.start()
        there.close()
        for _ in range(5):
            last = here.recv()
        process.kill()
        process.join()
        while here.poll():
            try:
                last = here.recv()
            except EOFError:
                break
        store = SQLiteStore(path)
        assert len(list(store.read("a"))) >= last
        store.close()
