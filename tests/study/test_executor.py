"""Many threads share a commit; what fails is said, tried again, and never written twice; nobody hangs.

A store of one process runs commands where they come from, one that is shared runs them inside its
transactions: both keep the same promises.
"""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import infex
from infex.errors import StoreFailed, UnknownDecision
from infex.study import executor
from infex.study.journal import linked
from infex.study.stores.base import reading
from infex.study.stores.sqlite import SQLiteStore
from infex.study.study import Study
from infex.testing.stores import drafts
from tests.study.studies import entries_of, replayed, shop, url_in
from tests.waiting import PATIENCE, until


class HeldDisk:
    """A disk that can be held, and can fail before or after it has kept what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.open, self.asked, self.faults = threading.Event(), threading.Event(), list[str]()
        self.open.set()
        append = SQLiteStore.append

        def held(store: SQLiteStore, name: str, entries: Any, after: Any) -> None:
            if not entries or entries[0].kind == "opened":
                append(store, name, entries, after)
                return
            self.asked.set()
            assert self.open.wait(PATIENCE)
            fault = self.faults.pop(0) if self.faults else ""
            if fault == "before":
                raise StoreFailed("no room is left")
            if fault == "the end":
                raise SystemExit("the end")
            append(store, name, entries, after)
            self.sizes.append(len(entries))
            if fault == "after":
                raise StoreFailed("the disk did not answer")

        monkeypatch.setattr(SQLiteStore, "append", held)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> HeldDisk:
    return HeldDisk(monkeypatch)


@pytest.fixture(params=[False, True], ids=["alone", "shared"])
def shared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(SQLiteStore, "shared", request.param)
    return bool(request.param)


@pytest.fixture
def study(tmp_path: Path, shared: bool, disk: HeldDisk) -> Iterator[Study]:
    found = shop(tmp_path)
    yield found
    found.close()


def begin(work: Any, *words: Any) -> "Future[Any]":
    """Calls in a thread of its own."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work(*words))
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def test_what_waits_goes_in_one_commit_and_nothing_is_acknowledged_before(
    study: Study, disk: HeldDisk, shared: bool
) -> None:
    disk.open.clear()
    first = begin(study.ask, "first")
    assert disk.asked.wait(PATIENCE)  # the first is on its way, alone
    others = [begin(study.ask, f"k{n}") for n in range(20)]
    if not shared:
        until(lambda: study.metrics()["entries"] == 22, "all are decided")
    assert not any(each.done() for each in (first, *others))
    disk.open.set()
    rounds = [each.result(PATIENCE).t for each in (first, *others)]
    assert sorted(rounds) == list(range(1, 22))
    assert disk.sizes[0] == 1
    assert sum(disk.sizes) == 21
    assert shared or disk.sizes == [1, 20]
    assert study.digest() == replayed(study)


def test_whoever_does_not_wait_for_the_disk_is_answered_while_it_is_busy(
    tmp_path: Path, disk: HeldDisk
) -> None:
    with shop(tmp_path) as study:
        disk.open.clear()
        slow = begin(study.ask, "slow")
        assert disk.asked.wait(PATIENCE)
        assert [study.ask(f"q{n}", durable=False).t for n in range(3)] == [2, 3, 4]
        study.tell("q0", 1.0, durable=False)
        assert study.ask("q0", durable=False).t == 2
        with pytest.raises(infex.errors.AlreadyTold):
            study.tell("q0", 0.5, durable=False)
        assert study.metrics()["states"]["rewarded"] == 1
        assert not slow.done()
        disk.open.set()
        assert slow.result(PATIENCE).t == 1
        study.flush()
        assert study.digest() == replayed(study)


@pytest.mark.parametrize("faults", [["before"], ["after"], ["before", "after", "before"], ["after", "after"]])
def test_what_failed_is_said_and_is_written_once(study: Study, disk: HeldDisk, faults: list[str]) -> None:
    study.ask("k0")
    disk.faults = list(faults)
    for n in range(1, len(faults) + 1):
        with pytest.raises(StoreFailed, match="not acknowledged: "):
            study.ask(f"k{n}")
    rounds = [study.ask(f"k{n}").t for n in range(len(faults) + 2)]
    assert rounds == list(range(1, len(faults) + 3))
    assert [entry.key for entry in entries_of(study)] == ["", *(f"k{n}" for n in range(len(faults) + 2))]
    assert study.digest() == replayed(study)


def test_who_asks_again_after_a_failure_is_acknowledged_when_it_is_on_disk(
    study: Study, disk: HeldDisk
) -> None:
    study.ask("before")
    disk.faults = ["before", "before", "before"]
    for _ in range(2):  # the retry fails too
        with pytest.raises(
            StoreFailed, match=r"not acknowledged: no room is left.*; it may be done all the same"
        ):
            study.ask("a")
    with pytest.raises(StoreFailed, match="not acknowledged"):
        study.tell("before", 1.0)
    decision = study.ask("a")  # what was decided stays decided
    assert decision.t == 2
    assert study.tell("before", 1.0) == "rewarded"
    assert [entry.key for entry in entries_of(study)] == ["", "before", "a", "before"]


def test_a_failure_is_not_that_of_who_was_not_in_it(study: Study, disk: HeldDisk, shared: bool) -> None:
    disk.faults = ["before"]
    disk.open.clear()
    first = begin(study.ask, "first")
    assert disk.asked.wait(PATIENCE)
    second = begin(study.ask, "second")  # while the first is on its way
    disk.open.set()
    with pytest.raises(StoreFailed, match="no room"):
        first.result(PATIENCE)
    assert second.result(PATIENCE).t == 2
    assert study.ask("first").t == 1


def test_closing_writes_what_is_left_or_says_that_it_cannot(tmp_path: Path, disk: HeldDisk) -> None:
    study = shop(tmp_path)
    for n in range(20):
        study.ask(f"k{n}", durable=False)
    study.close()
    with pytest.raises(StoreFailed, match="'shop' was closed"):
        study.ask("more")
    study = shop(tmp_path)
    assert study.metrics()["decisions"] == 20
    disk.faults = ["before"] * 9
    with pytest.raises(StoreFailed, match="not acknowledged"):
        study.ask("lost")
    with pytest.raises(StoreFailed, match="1 entries were not written: no room is left"):
        study.close()
    disk.faults = []
    with shop(tmp_path) as study:
        with pytest.raises(UnknownDecision):
            study.tell("lost", 1.0)
        assert study.ask("other").t == 21


def test_a_disk_that_is_there_again_gets_what_is_left_when_the_study_is_closed(
    tmp_path: Path, disk: HeldDisk
) -> None:
    study = shop(tmp_path)
    disk.faults = ["before"]
    with pytest.raises(StoreFailed, match="not acknowledged"):
        study.ask("a")
    study.close()
    with shop(tmp_path) as study:
        assert study.ask("b").t == 2


def test_a_disk_that_never_obeys_does_not_fill_the_memory(
    tmp_path: Path, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "MOST_UNWRITTEN", 3)
    study = shop(tmp_path)
    disk.faults = ["before"] * 9
    for n in range(3):
        with pytest.raises(StoreFailed, match="not acknowledged"):
            study.ask(f"k{n}")
    with pytest.raises(StoreFailed, match="3 entries wait for the disk: no room is left"):
        study.ask("k3", durable=False)
    disk.faults = []
    study.flush()
    assert study.ask("k3").t == 4
    study.close()


def test_somebody_elses_entries_are_not_overwritten(tmp_path: Path, disk: HeldDisk) -> None:
    """Another process writes, because the lock of the file was removed."""
    study = shop(tmp_path)
    study.ask("a")
    disk.faults = ["before"]
    with pytest.raises(StoreFailed, match="no room"):
        study.ask("b")
    (tmp_path / "shop.db.lock").unlink()
    with contextlib.closing(SQLiteStore(tmp_path / "shop.db")) as store:
        end = store.end("shop")
        theirs = linked(drafts(1, 7), end)
        store.append("shop", theirs, end)
    with pytest.raises(StoreFailed, match="somebody else has appended"):
        study.ask("c")
    with reading(url_in(tmp_path)) as store:
        assert list(store.read("shop"))[-1] == theirs[0]
    with pytest.raises(StoreFailed, match="entries were not written"):
        study.close()


def test_an_unforeseen_error_is_told_and_it_goes_on(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault of ours")

    with monkeypatch.context() as patched:
        patched.setattr(SQLiteStore, "append", broken)
        with pytest.raises(StoreFailed, match="not acknowledged: a fault of ours"):
            study.ask("a")
    assert [study.ask(key).t for key in ("a", "b")] == [1, 2]
    assert study.digest() == replayed(study)


def test_when_the_worker_ends_all_who_wait_and_all_who_come_are_told(
    tmp_path: Path, shared: bool, disk: HeldDisk
) -> None:
    study = shop(tmp_path)
    disk.faults = ["the end"]
    disk.open.clear()
    first = begin(study.ask, "first")
    assert disk.asked.wait(PATIENCE)
    second = begin(study.ask, "second")
    disk.open.set()
    for waiting in (first, second):
        with pytest.raises(StoreFailed, match="the end"):
            waiting.result(PATIENCE)
    with pytest.raises(StoreFailed, match="writes no more, open it again"):
        study.ask("third")
    with pytest.raises(StoreFailed, match="not written: the end"):
        study.close()


def test_threads_are_answered_when_theirs_is_on_disk(study: Study) -> None:
    def serve(n: int) -> bool:
        study.ask(f"k{n}")
        return bool(store.of_keys("shop", [f"k{n}"]))

    with reading(study.url) as store, ThreadPoolExecutor(16) as pool:
        assert all(pool.map(serve, range(200)))
    assert len(entries_of(study)) == 201


class Asking:
    """A policy that asks its own study."""

    study: Any = None

    def choose(self, t: int, posterior: infex.models.Posterior, rng: Any) -> infex.Choice:
        if self.study is not None:
            self.study.ask("inner")
        return infex.Choice(0, False)


def test_a_policy_that_asks_its_own_study_is_refused_and_does_not_hang(tmp_path: Path, shared: bool) -> None:
    asking = Asking()
    with shop(tmp_path, policy=asking) as study:
        study.ask("a")
        asking.study = study
        with pytest.raises(StoreFailed, match="cannot wait for other work"):
            study.ask("b")
        asking.study = None
        assert study.ask("b").t == 2
