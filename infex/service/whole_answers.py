"""Answers whose body is known, sent in one piece: as uvicorn sends them in two, in a third of the time.

uvicorn looks at each header of each answer with two regular expressions. Here a head is looked at once, and
kept: those of decisions are all the same but for their length. These are inner parts of uvicorn: where one of
them is missing, it sends all answers itself.
"""

from __future__ import annotations

from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING

from uvicorn.protocols.http import httptools_impl as uvicorn_http

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

    from infex.service.http_exchange import Headers, Send

HEADS_KEPT = 64
EXCHANGE_PARTS = {
    "access_log", "default_headers", "disconnected", "flow", "keep_alive", "message_event", "on_response",
    "response_complete", "response_started", "scope", "transport", "waiting_for_100_continue",
}  # fmt: skip
"""What is read and set of an exchange of uvicorn's."""
UVICORN_NAMES = {"HEADER_RE", "HEADER_VALUE_RE", "STATUS_LINE", "RequestResponseCycle"}
"""What is taken from uvicorn's module."""


def whole_cycle(send: Send) -> RequestResponseCycle | None:
    """The exchange that a `send` of ASGI is of, if an answer to it can be sent in one piece."""
    cycle = send.__self__ if isinstance(send, MethodType) else None
    if not vars(uvicorn_http).keys() >= UVICORN_NAMES or not isinstance(
        cycle, uvicorn_http.RequestResponseCycle
    ):
        return None
    if not vars(cycle).keys() >= EXCHANGE_PARTS or cycle.response_started:
        return None
    plain = cycle.scope["method"] != "HEAD" and not cycle.access_log and not cycle.default_headers
    return cycle if plain else None


@lru_cache(maxsize=HEADS_KEPT)
def head_of(status: int, headers: Headers) -> bytes:
    """The head of answers with these headers, up to the number behind `content-length: `."""
    if any(
        uvicorn_http.HEADER_RE.search(name) or uvicorn_http.HEADER_VALUE_RE.search(value)
        for name, value in headers
    ):
        raise RuntimeError("a header has letters that no header may have")
    lines = [b"%s: %s\r\n" % header for header in headers]
    return b"".join([uvicorn_http.STATUS_LINE[status], *lines, b"content-length: "])


async def send_whole(cycle: RequestResponseCycle, head: bytes, body: bytes) -> None:
    """Sends an answer, and ends the exchange."""
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    if cycle.disconnected:
        return
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    end = b"%d\r\n\r\n" if cycle.keep_alive else b"%d\r\nconnection: close\r\n\r\n"
    cycle.transport.write(b"".join((head, end % len(body), body)))
    cycle.message_event.set()
    if not cycle.keep_alive:
        cycle.transport.close()
    cycle.on_response()
