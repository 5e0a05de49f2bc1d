"""Answers in one piece are, byte for byte, those that uvicorn sends in two."""

import asyncio
import logging
from typing import Any, cast

import pytest
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from infex.service import whole_answers
from infex.service.http_exchange import NOT_KEPT, HttpAnswer, Reply
from infex.service.whole_answers import head_of, whole_cycle


class Transport:
    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


def cycle_of(method: str = "POST", keep_alive: bool = True, **more: Any) -> tuple[Any, Transport, list[str]]:
    """An exchange that waits for its answer, where it is written, and how often it has ended."""
    transport, ended = Transport(), list[str]()
    flow = FlowControl(cast(Any, transport))
    settings: dict[str, Any] = {"access_log": False, "default_headers": []} | more
    log = logging.getLogger("tests.whole")
    cycle = RequestResponseCycle(
        scope=cast(Any, {"method": method}), transport=cast(Any, transport), flow=flow, logger=log,
        access_logger=log, message_event=asyncio.Event(), expect_100_continue=False, keep_alive=keep_alive,
        on_response=lambda: ended.append("ended"), **settings,
    )  # fmt: skip
    return cycle, transport, ended


async def in_two(message: Any) -> None:
    raise AssertionError("never called")


@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize(
    "answer",
    [
        HttpAnswer(b'{"key":"a"}'),
        HttpAnswer(b"", 201),
        HttpAnswer(b"<p>", media=b"text/html", headers=(NOT_KEPT, (b"etag", b'"1"'))),
    ],
)
def test_one_piece_is_what_two_are(answer: HttpAnswer, keep_alive: bool) -> None:
    whole, pieces, ended = cycle_of(keep_alive=keep_alive)
    two, pieces_of_two, ended_of_two = cycle_of(keep_alive=keep_alive)

    async def send(message: Any) -> None:  # of no exchange: so it is sent in two
        await two.send(message)

    asyncio.run(Reply(whole.send).answer(answer))
    asyncio.run(Reply(send).answer(answer))
    assert len(pieces.written) == 1
    assert b"".join(pieces.written) == b"".join(pieces_of_two.written)
    assert (pieces.closed, ended) == (pieces_of_two.closed, ended_of_two) == (not keep_alive, ["ended"])
    for each in (whole, two):
        assert each.response_started
        assert each.response_complete
        assert each.message_event.is_set()


def test_nothing_is_sent_to_somebody_who_has_gone() -> None:
    cycle, transport, ended = cycle_of()
    cycle.disconnected = True
    asyncio.run(Reply(cycle.send).answer(HttpAnswer(b"{}")))
    assert (transport.written, ended) == ([], [])


def test_a_full_connection_is_waited_for() -> None:
    cycle, transport, _ = cycle_of()

    async def answer() -> None:
        cycle.flow.pause_writing()
        task = asyncio.create_task(Reply(cycle.send).answer(HttpAnswer(b"{}")))
        await asyncio.sleep(0)
        assert transport.written == []
        cycle.flow.resume_writing()
        await task
        assert len(transport.written) == 1

    asyncio.run(answer())


@pytest.mark.parametrize(
    "settings",
    [{"method": "HEAD"}, {"access_log": True}, {"default_headers": [(b"server", b"uvicorn")]}],
)
def test_what_uvicorn_has_to_look_at_goes_through_it(settings: dict[str, Any]) -> None:
    assert whole_cycle(cycle_of()[0].send) is not None
    assert whole_cycle(cycle_of(**settings)[0].send) is None
    assert whole_cycle(in_two) is None
    begun = cycle_of()[0]
    begun.response_started = True
    assert whole_cycle(begun.send) is None


@pytest.mark.parametrize("header", [(b"x y", b""), (b"x", b"a\r\nb: c"), (b"x\n", b"")])
def test_no_header_can_end_the_head(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(RuntimeError, match="no header may have"):
        head_of(200, (header,))


def test_where_a_part_of_uvicorn_is_missing_it_sends_answers_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _, _ = cycle_of()
    assert whole_cycle(whole.send) is not None
    for name in whole_answers.UVICORN_NAMES:
        with monkeypatch.context() as missing:
            missing.delattr(httptools_impl, name)
            assert whole_cycle(whole.send) is None
    for name in whole_answers.EXCHANGE_PARTS:
        cycle, _, _ = cycle_of()
        delattr(cycle, name)
        assert whole_cycle(cycle.send) is None
