"""The desk of a shared study, on a store of one process: who waits is told of any error, and nobody hangs."""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import infex
from infex.errors import StoreFailed
from infex.study import shared_desk
from infex.study.entries import Draft, Entry, Mark
from infex.study.moves import KeyedRequest, ask_one
from infex.study.opening import opened_standing, replayed
from infex.study.plain_requests import request_of
from infex.study.shared_desk import SharedDesk
from infex.study.sqlite_store import SQLiteStore
from tests.study.studies import ARMS, POLICY
from tests.waiting import PATIENCE


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[SharedDesk]:
    store = SQLiteStore(tmp_path / "shop.db")
    standing, mark = opened_standing(store, "shop", {"arms": ARMS, "policy": POLICY, "seed": 7}, 0)
    found = SharedDesk(store, "shop", standing, mark, lambda: 0.0)
    yield found
    found.close()
    store.close()


def ask(desk: SharedDesk, key: str) -> infex.Decision:
    question = KeyedRequest(key, "", request_of({}, ""))
    return desk.run(lambda: ask_one(desk, question), True)


def test_an_unforeseen_error_in_a_turn_is_told_and_the_next_turn_goes_on(
    desk: SharedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(drafts: list[Draft], after: Mark) -> list[Entry]:
        raise ZeroDivisionError("nobody foresaw this")

    with monkeypatch.context() as patched:
        patched.setattr(shared_desk, "linked", broken)
        with pytest.raises(StoreFailed, match="not acknowledged: nobody foresaw this"):
            ask(desk, "a")
    assert [ask(desk, key).t for key in ("b", "a")] == [1, 2]  # the round that failed was never taken
    standing, _ = replayed(desk.store, "shop", {}, snapshots=False)
    assert standing.bandit.digest() == desk.standing.bandit.digest()


def test_when_turns_end_all_who_wait_and_all_who_come_are_told(
    desk: SharedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, others_wait = threading.Event(), threading.Event()

    def ended(drafts: list[Draft], after: Mark) -> list[Entry]:
        begun.set()
        assert others_wait.wait(PATIENCE)
        raise SystemExit("the end")

    monkeypatch.setattr(shared_desk, "linked", ended)
    told: queue.Queue[str] = queue.Queue()

    def refused(key: str) -> None:
        with pytest.raises(StoreFailed) as caught:
            ask(desk, key)
        told.put(str(caught.value))

    threading.Thread(target=refused, args=("first",), daemon=True).start()
    assert begun.wait(PATIENCE)
    monkeypatch.setattr(desk, "_jobs", Announcing(others_wait))
    threading.Thread(target=refused, args=("second",), daemon=True).start()
    assert [told.get(timeout=PATIENCE) for _ in range(2)] == ["not acknowledged: the end"] * 2
    with pytest.raises(StoreFailed, match=r"takes no more turns, open it again: SystemExit\('the end'\)"):
        ask(desk, "third")


class Announcing(list[object]):
    """Jobs that wait; says so when there is one."""

    def __init__(self, came: threading.Event) -> None:
        super().__init__()
        self._came = came

    def append(self, job: object) -> None:
        super().append(job)
        self._came.set()
