"""The desk of a shared study, on a store of one process: who waits is told of any error, and nobody hangs."""

import contextlib
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import infex
from infex.errors import InvalidReward, StoreFailed
from infex.study import shared_desk
from infex.study.entries import Draft, Entry, Mark
from infex.study.given_rows import reward_content
from infex.study.jobs import Job
from infex.study.moves import KeyedRequest, KeyedReward, ask_one, tell_all, tell_one
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


def tell(desk: SharedDesk, key: str, reward: float) -> None:
    desk.run(lambda: tell_one(desk, KeyedReward(key, reward_content(reward))), True)


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


@pytest.mark.parametrize("fails", [False, True])
def test_who_comes_while_others_have_their_turn_goes_along_with_the_next(
    desk: SharedDesk, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    waits, came, others_are_done = threading.Event(), threading.Event(), threading.Event()
    append, appended, told = desk.store.append, list[int](), queue.Queue[object]()

    @contextlib.contextmanager
    def turn(name: str) -> Iterator[None]:
        waits.set()
        assert others_are_done.wait(PATIENCE)
        if fails:
            raise StoreFailed("the server is gone")
        yield

    def asked(key: str) -> None:
        try:
            told.put(ask(desk, key).id)
        except StoreFailed as error:
            told.put(str(error))

    def counted(name: str, entries: Sequence[Entry]) -> None:
        appended.append(len(entries))
        append(name, entries)

    monkeypatch.setattr(desk.store, "turn", turn)
    monkeypatch.setattr(desk.store, "append", counted)
    threading.Thread(target=asked, args=("first",), daemon=True).start()
    assert waits.wait(PATIENCE)
    desk._jobs = Announcing(came, desk._jobs)  # type: ignore[assignment]
    threading.Thread(target=asked, args=("second",), daemon=True).start()
    assert came.wait(PATIENCE)
    others_are_done.set()
    both = {told.get(timeout=PATIENCE), told.get(timeout=PATIENCE)}
    assert both == ({"not acknowledged: the server is gone"} if fails else {"first", "second"})
    assert appended == ([] if fails else [2])


def test_what_a_refused_batch_told_is_unknown_to_those_of_the_same_turn(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "shop.db")
    settings = {"arms": ARMS, "policy": POLICY, "seed": 7, "again": "sum", "rewards": (0, 1)}
    desk = SharedDesk(store, "shop", *opened_standing(store, "shop", settings, 0), lambda: 0.0)
    ask(desk, "before")
    tell(desk, "before", 0.5)
    ask(desk, "after")
    tell(desk, "after", 0.5)
    batch = [KeyedReward("after", reward_content(0.25)), KeyedReward("before", reward_content(0.75))]
    refused = Job(lambda: tell_all(desk, batch))
    beside = Job(lambda: tell_one(desk, KeyedReward("after", reward_content(0.125))))
    with desk._called:  # so that both are of one turn
        desk._jobs += [refused, beside]
        desk._called.notify()
    with pytest.raises(InvalidReward, match="row 1, 'before'"):  # the sum is beyond 1
        refused.wait()
    beside.wait()
    standing, _ = replayed(store, "shop", {}, snapshots=False)
    assert standing.bandit.digest() == desk.standing.bandit.digest()
    assert standing.record() == desk.standing.record()
    desk.close()
    store.close()


class Announcing(list[object]):
    """Jobs that wait; says so when there is one."""

    def __init__(self, came: threading.Event, waiting: Sequence[object] = ()) -> None:
        super().__init__(waiting)
        self._came = came

    def append(self, job: object) -> None:
        super().append(job)
        self._came.set()
