"""Heads of requests, and trailers, that do not come to an end; uvicorn waits for them for ever.

The guard refuses a head that is whole and too large. Here one is refused whose pieces are too many.
So are connections no more than a limit; uvicorn refuses those beyond it without a word on when to come again.
"""

from __future__ import annotations

from typing import Any, final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from infex.service.service_limits import CROWDED, MOST_HEAD

SECONDS_OF_A_HEAD = 30.0


@final
class HeadLimits(HttpToolsProtocol):
    """uvicorn's protocol, which ends a connection whose head grows too large or does not come to an end."""

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self._head, self._deadline = 0, self.loop.call_later(SECONDS_OF_A_HEAD, self._end)
        self._went_on = False
        self._most_connections, self.limit_concurrency = self.limit_concurrency, None

    def data_received(self, data: bytes) -> None:
        """Counts what has come of a head that is not whole, or of what stands around and behind a body."""
        self._went_on = False
        super().data_received(data)
        if self._went_on:
            self._deadline.cancel()
            self._head = 0
            return
        self._head += len(data)
        if self._deadline.cancelled():
            self._deadline = self.loop.call_later(SECONDS_OF_A_HEAD, self._end)
        if self._head > MOST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header; what comes as one behind a body (a trailer) is dropped."""
        if self.cycle is None or self.cycle.scope is not self.scope:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole; one of too many is marked, for the guard to refuse it."""
        self._went_on = True
        if self._most_connections is not None and len(self.connections) > self._most_connections:
            self.scope[CROWDED] = True  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body, which others limit."""
        self._went_on = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._went_on = True
        super().on_message_complete()

    def connection_lost(self, error: Exception | None) -> None:
        """Lets go of the connection."""
        self._deadline.cancel()
        super().connection_lost(error)

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
