"""Heads of requests in pieces, on uvicorn's protocol with a transport and a clock of our own."""

from collections.abc import Callable
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from infex.service.head_limits import SECONDS_OF_A_HEAD, HeadLimits
from infex.service.service_limits import MOST_HEAD

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Timer:
    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self.seconds, self.call, self._cancelled = seconds, call, False

    def cancel(self) -> None:
        self._cancelled = True

    def cancelled(self) -> bool:
        return self._cancelled


class Loop:
    """Sets timers, and begins no task."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, call))
        return self.timers[-1]

    def create_task(self, work: Any) -> Any:
        work.close()
        return Task()

    @property
    def waiting(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.cancelled()]


class Task:
    def add_done_callback(self, call: object) -> None: ...


class Transport:
    """Takes what is written, until it is closed."""

    def __init__(self) -> None:
        self.written, self.closed = b"", False

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


@pytest.fixture
def line() -> tuple[HeadLimits, Transport, Loop]:
    loop, transport = Loop(), Transport()
    config = uvicorn.Config(app=nothing, log_level="error", lifespan="off")
    config.load()
    protocol = HeadLimits(config, ServerState(), {}, cast(Any, loop))
    protocol.connection_made(cast(Any, transport))
    return protocol, transport, loop


async def nothing(scope: Any, receive: Any, send: Any) -> None: ...


Line = tuple[HeadLimits, Transport, Loop]


def test_a_head_may_come_byte_by_byte_and_then_no_deadline_is_left(line: Line) -> None:
    protocol, transport, loop = line
    for place in range(len(HEAD)):
        protocol.data_received(HEAD[place : place + 1])
        assert [timer.seconds for timer in loop.waiting] == [SECONDS_OF_A_HEAD] * (place < len(HEAD) - 1)
    assert (transport.written, transport.closed) == (b"", False)
    protocol.connection_lost(None)


def test_a_head_that_does_not_come_to_its_end_closes_the_connection(line: Line) -> None:
    protocol, transport, loop = line
    protocol.data_received(HEAD[:20])
    (deadline,) = loop.waiting
    deadline.call()
    assert transport.closed


def test_one_who_sends_nothing_is_not_waited_for_either(line: Line) -> None:
    _, transport, loop = line
    (deadline,) = loop.waiting
    deadline.call()
    assert transport.closed


def test_a_head_that_grows_too_large_is_refused_and_a_large_body_is_none(line: Line) -> None:
    protocol, transport, _ = line
    protocol.data_received(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n")
    for _ in range(10):
        protocol.data_received(b"a" * 20_000)
    assert not transport.closed
    protocol.data_received(HEAD[:-2] + b"X: ")
    for _ in range(MOST_HEAD // 1000 + 1):
        assert not transport.closed
        protocol.data_received(b"a" * 1000)
    assert transport.written.startswith(b"HTTP/1.1 400")
    assert transport.closed


CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"


def test_what_comes_behind_a_body_is_no_header(line: tuple[HeadLimits, Transport, Loop]) -> None:
    protocol, _, loop = line
    protocol.data_received(CHUNKED + b"Host: elsewhere\r\nAuthorization: Bearer x\r\n\r\n")
    names = [name for name, _ in protocol.headers]
    assert names == [b"host", b"transfer-encoding"]
    assert loop.waiting == []


@pytest.mark.parametrize("piece", [b"X-A: " + b"y" * 1000 + b"\r\n", b"y" * 1000])
def test_trailers_without_end_are_refused(line: tuple[HeadLimits, Transport, Loop], piece: bytes) -> None:
    protocol, transport, _ = line
    protocol.data_received(CHUNKED + b"X-B: ")
    for _ in range(MOST_HEAD // 1000 + 2):
        if not transport.closed:
            protocol.data_received(piece)
    assert transport.closed
    assert len(protocol.headers) == 2
