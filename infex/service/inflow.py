"""Bodies as they come: no larger than the limit, and whole in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final

from infex.service.answers import RefusalAnswer
from infex.service.service_limits import ServiceLimits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class Refused(Exception):
    """A request is refused before anybody looks at it."""

    def __init__(
        self, status: int, error: str, message: str, expected: str, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = RefusalAnswer(error=error, message=message, expected=expected, field=field)


class OtherSideGone(ConnectionError):
    """Nobody waits for the answer any more."""


@final
class Inflows:
    """The bodies that are on their way. One timer ends those that take too long.

    A timer for each would cost as much as parsing what it is set for.
    """

    def __init__(self, limits: ServiceLimits) -> None:
        self.limits = limits
        self._awaited: dict[asyncio.Task[Any], tuple[float, Inflow]] = {}  # the oldest first
        self._timer: asyncio.TimerHandle | None = None

    def of(self, receive: Receive) -> Inflow:
        """That of one request."""
        return Inflow(receive, self)

    def expect(self, inflow: Inflow) -> asyncio.Task[Any]:
        """The task that awaits a body from now on, until `arrived`; it is cancelled when that is late."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        if task is None:
            raise RuntimeError("bodies are received by tasks alone")
        until = loop.time() + self.limits.seconds
        self._awaited[task] = until, inflow
        if self._timer is None:
            self._timer = loop.call_at(until, self._end_late, loop)
        return task

    def arrived(self, task: asyncio.Task[Any]) -> None:
        """Nobody waits for that body any more."""
        del self._awaited[task]

    def _end_late(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for task, (until, inflow) in self._awaited.items():
            if until <= loop.time():
                inflow.is_late = True
                task.cancel()
        left = [until for until, inflow in self._awaited.values() if not inflow.is_late]
        if left:
            self._timer = loop.call_at(min(left), self._end_late, loop)


@final
class Inflow:
    """Receives the body of a request, up to a limit of size and of time; Refused beyond it."""

    __slots__ = ("_inflows", "_receive", "is_late")

    def __init__(self, receive: Receive, inflows: Inflows) -> None:
        self._receive, self._inflows, self.is_late = receive, inflows, False

    async def __call__(self) -> Message:
        """The next message of ASGI, for whoever reads no body: it tells when the other side has gone."""
        return await self._receive()

    async def whole(self) -> bytes:
        """The body."""
        task = self._inflows.expect(self)
        try:
            return await self._joined()
        except asyncio.CancelledError:
            if not self.is_late:
                raise
            task.uncancel()
            raise Refused(408, "TooSlow", "the body did not come in time", "a body at once", "body") from None
        finally:
            self._inflows.arrived(task)

    async def _joined(self) -> bytes:
        body, more = b"", True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise OtherSideGone
            part, more = message.get("body", b""), message.get("more_body", False)
            body = body + part if body else part
            self._refuse_large(len(body))
        return body

    def _refuse_large(self, size: int) -> None:
        most = self._inflows.limits.body
        if size > most:
            raise Refused(413, "TooLarge", "the body is too large", f"at most {most} bytes", "body")
