"""Many threads wait for one commit; what fails is said, tried again, and never written twice."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from infex.errors import StoreFailed
from infex.study import writer as writing
from infex.study.entries import BEGINNING, Entry, Mark, followed, refuse_others
from infex.study.sqlite_store import SQLiteStore
from infex.study.writer import Writer
from infex.testing.stores import drafts
from tests.waiting import PATIENCE, until


class Shelf:
    """A store in memory, which can be held, and can fail before or after it has kept what it was given."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.commits: list[int] = []
        self.open = threading.Event()
        self.open.set()
        self.asked = threading.Event()
        self.faults: list[str] = []

    def end(self, name: str) -> Mark:
        return self.entries[-1].mark if self.entries else BEGINNING

    def append(self, name: str, entries: Sequence[Entry]) -> None:
        self.asked.set()
        assert self.open.wait(PATIENCE)
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            raise StoreFailed("no room is left")
        refuse_others(name, entries, self.end(name))
        self.entries += entries
        self.commits.append(len(entries))
        if fault == "after":
            raise StoreFailed("the disk did not answer")


def begun(shelf: Any) -> Writer:
    return Writer(shelf, "a", BEGINNING)


def contents(shelf: Shelf) -> list[bytes | None]:
    return [entry.content for entry in followed(shelf.entries, BEGINNING)]


def expected(count: int) -> list[bytes]:
    return [draft.content for draft in drafts(count)]


def test_what_waits_goes_in_one_commit_and_in_order() -> None:
    shelf = Shelf()
    shelf.open.clear()
    writer = begun(shelf)
    first, *others = drafts(50)
    tickets = [writer.add([first])]
    assert shelf.asked.wait(PATIENCE)  # the first is on its way, alone
    tickets += [writer.add([draft]) for draft in others]
    shelf.open.set()
    for ticket in reversed(tickets):
        writer.wait(ticket)
    assert shelf.commits == [1, 49]
    assert contents(shelf) == expected(50)
    assert writer.mark == shelf.entries[-1].mark
    writer.close()


def test_threads_wait_for_what_they_added() -> None:
    shelf = Shelf()
    writer = begun(shelf)

    def add(n: int) -> bool:
        ticket = writer.add(drafts(1, n))
        writer.wait(ticket)
        return any(entry.key == f"key-{n}" for entry in shelf.entries)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(add, range(400)))
    writer.close()
    assert len(contents(shelf)) == 400


@pytest.mark.parametrize("faults", [["before"], ["after"], ["before", "after", "before"], ["after", "after"]])
def test_what_failed_is_said_and_is_written_once_with_the_next(faults: list[str]) -> None:
    shelf = Shelf()
    writer = begun(shelf)
    writer.wait(writer.add(drafts(1)))
    shelf.faults = list(faults)
    for n in range(2, 2 + len(faults)):
        with pytest.raises(StoreFailed, match="not acknowledged: "):
            writer.wait(writer.add(drafts(1, n)))
    count = 2 + len(faults)
    writer.wait(writer.add(drafts(1, count)))
    assert contents(shelf) == expected(count)
    writer.close()


def test_who_comes_late_to_wait_is_told_of_a_failure_before() -> None:
    shelf = Shelf()
    shelf.faults = ["before"]
    writer = begun(shelf)
    ticket = writer.add(drafts(1))
    until(lambda: writer._failures == 1, "the commit failed")
    with pytest.raises(StoreFailed, match="no room"):
        writer.wait(ticket)
    writer.close()
    assert contents(shelf) == expected(1)


def test_a_failure_is_not_that_of_who_was_not_in_it() -> None:
    shelf = Shelf()
    shelf.faults = ["before"]
    shelf.open.clear()
    writer = begun(shelf)
    first = writer.add(drafts(1))
    assert shelf.asked.wait(PATIENCE)
    second = writer.add(drafts(1, 2))  # while the first is on its way
    shelf.open.set()
    writer.wait(second)
    writer.wait(first)  # by then it has come through too
    writer.close()
    assert contents(shelf) == expected(2)


def test_closing_writes_what_is_left_or_says_that_it_cannot() -> None:
    shelf = Shelf()
    writer = begun(shelf)
    for draft in drafts(20):
        writer.add([draft])
    writer.close()
    assert contents(shelf) == expected(20)
    with pytest.raises(StoreFailed, match="was closed"):
        writer.add(drafts(1))
    shelf = Shelf()
    shelf.faults = ["before"] * 9
    writer = begun(shelf)
    writer.add(drafts(1))
    with pytest.raises(StoreFailed, match="1 entries were not written: no room is left"):
        writer.close()


def test_a_disk_that_never_obeys_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_UNWRITTEN", 3)
    shelf = Shelf()
    shelf.faults = ["before"] * 9
    writer = begun(shelf)
    for draft in drafts(3):
        with pytest.raises(StoreFailed, match="not acknowledged"):
            writer.wait(writer.add([draft]))
    with pytest.raises(StoreFailed, match="3 entries wait for the disk: no room is left"):
        writer.refuse_more()
    with pytest.raises(StoreFailed):
        writer.close()


def test_somebody_elses_entries_are_not_overwritten() -> None:
    shelf, others = Shelf(), Shelf()
    writer = begun(shelf)
    shelf.faults = ["before"]
    with pytest.raises(StoreFailed, match="no room"):
        writer.wait(writer.add(drafts(1)))
    other = begun(others)
    other.wait(other.add(drafts(1, 7)))
    shelf.entries = list(others.entries)
    with pytest.raises(StoreFailed, match="somebody else has appended"):
        writer.wait(writer.add(drafts(1, 2)))
    assert contents(shelf) == [b"content of 7"]
    other.close()


def test_sqlite_keeps_what_sixteen_threads_write(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "shop.db")
    writer = Writer(store, "a", store.end("a"))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: writer.wait(writer.add(drafts(1, n))), range(300)))
    writer.close()
    store.close()
    again = SQLiteStore(tmp_path / "shop.db")
    assert sorted(entry.key for entry in again.read("a")) == sorted(f"key-{n}" for n in range(300))


def test_an_unforeseen_error_in_the_writer_is_told_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shelf = Shelf()
    writer = begun(shelf)
    monkeypatch.setattr(writing, "linked", broken)
    first, second = drafts(2)
    with pytest.raises(StoreFailed, match="not acknowledged: a fault of ours"):
        writer.wait(writer.add([first]))
    monkeypatch.undo()
    writer.wait(writer.add([second]))
    assert contents(shelf) == expected(2)
    writer.close()


def broken(*_: object) -> list[Entry]:
    raise RuntimeError("a fault of ours")


def test_a_writer_that_is_ended_tells_all_who_wait_and_all_who_come(monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf()
    shelf.open.clear()
    writer = begun(shelf)
    monkeypatch.setattr(shelf, "end", ended)  # which `append` asks
    first, second, third = drafts(3)
    tickets = [writer.add([first])]
    assert shelf.asked.wait(PATIENCE)
    tickets.append(writer.add([second]))  # it waits for the next commit, which never comes
    shelf.open.set()
    for ticket in tickets:
        with pytest.raises(StoreFailed, match="not acknowledged: the end"):
            writer.wait(ticket)
    with pytest.raises(StoreFailed, match="writes no more, open it again"):
        writer.add([third])
    with pytest.raises(StoreFailed, match="the end"):
        writer.wait(writer.again(1))
    with pytest.raises(StoreFailed, match="2 entries were not written"):
        writer.close()


def ended(_: str) -> Mark:
    raise SystemExit("the end")
