"""Answers by their Idempotency-Key: the same again after a restart, another body never, one at a time."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from infex.errors import InvalidBody, StoreFailed, UnderWay
from infex.service.replays import Replays
from infex.study.kept_answers import KeptAnswer
from tests.service.answer_tables import check_table
from tests.service.running import CONTEXT, PRICING, running
from tests.waiting import PATIENCE

DECISIONS, REWARDS = "/v1/studies/pricing/decisions", "/v1/studies/pricing/rewards"
AMENDMENTS = "/v1/studies/pricing/amendments"


def test_answers_are_kept_for_a_week_beside_sqlite(tmp_path: Path) -> None:
    check_table(f"sqlite:///{tmp_path}/shop.db")


def test_no_file_is_made_where_no_key_is_sent(tmp_path: Path) -> None:
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        call("POST", DECISIONS, {"key": "a", "context": CONTEXT})
    assert not list(tmp_path.glob("*.answers"))


def test_a_key_keeps_its_answer_through_a_restart_whatever_was_asked(tmp_path: Path) -> None:
    one, two = {"key": "a", "context": CONTEXT}, {"key": "b", "context": CONTEXT}
    asked = [
        (DECISIONS, [one, two], [one]),
        (REWARDS, {"key": "a", "reward": 0.5}, {"key": "b", "reward": 0.5}),
        (AMENDMENTS, {"explore": False, "reason": "holiday"}, {"explore": True, "reason": "over"}),
    ]
    with running(tmp_path) as call:
        call("POST", "/v1/studies", PRICING)
        first = [call("POST", path, body, {"idempotency-key": "k"}) for path, body, _ in asked]
        assert [reply.status for reply in first] == [200, 200, 200]
    with running(tmp_path) as call:
        for (path, body, other), before in zip(asked, first, strict=True):
            again = call("POST", path, body, {"idempotency-key": "k"})
            assert (again.body, again.headers["idempotency-replayed"]) == (before.body, "true")
            refused = call("POST", path, other, {"idempotency-key": "k"})
            assert (refused.status, refused.json["field"]) == (422, "Idempotency-Key")
        figures = call("GET", "/v1/studies/pricing").json["figures"]
        assert (figures["decisions"], figures["amendments"]) == (2, 1)


class HeldTable:
    """Writes when it is let, or fails."""

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.groups: list[list[bytes]] = []
        self.fails = False

    def find(self, place: bytes) -> KeptAnswer | None:
        return None

    def put(self, answers: Sequence[KeptAnswer], now: float) -> None:
        self.groups.append([answer.place for answer in answers])
        self.begun.release()
        assert self.go_on.acquire(timeout=PATIENCE)
        if self.fails:
            raise StoreFailed("no room is left")

    def close(self) -> None:
        pass


async def all_end(replays: Replays, table: HeldTable) -> list[object]:
    """Ten requests: the first is being written while the others end."""
    places = [bytes([number]) for number in range(10)]
    for place in places:
        assert await replays.begin(place, b"body") is None
    first = asyncio.create_task(replays.end(places[0], b"yes"))
    await asyncio.to_thread(table.begun.acquire, True, PATIENCE)
    with pytest.raises(UnderWay):
        await replays.begin(places[0], b"body")
    with pytest.raises(InvalidBody):
        await replays.begin(places[0], b"another")
    others = [asyncio.create_task(replays.end(place, b"yes")) for place in places[1:]]
    await asyncio.sleep(0)
    table.go_on.release(10)
    return await asyncio.gather(first, *others, return_exceptions=True)


def test_answers_that_wait_for_the_disk_share_a_commit() -> None:
    table = HeldTable()
    assert asyncio.run(all_end(Replays(table), table)) == [None] * 10
    assert [len(group) for group in table.groups] == [1, 9]


def test_an_answer_that_could_not_be_kept_is_not_given() -> None:
    table = HeldTable()
    table.fails = True
    ended = asyncio.run(all_end(Replays(table), table))
    assert [type(each) for each in ended] == [StoreFailed] * 10
