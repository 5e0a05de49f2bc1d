"""A request and its answer, as plain as ASGI has them: Starlette's take a tenth of a decision's time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, final
from urllib.parse import parse_qsl

from infex.service.answers import RefusalAnswer
from infex.service.inflow import Inflow, Message
from infex.service.refusals import LATER, encoded_refusal
from infex.service.service_limits import SECONDS_TO_RETRY
from infex.service.whole_answers import head_of, send_whole, whole_cycle

Send = Callable[[Message], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]

JSON = b"application/json"
SAFE_HEADERS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)
"""What every answer says to a browser."""
DOCUMENT_HEADERS: Headers = (
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""What has a meaning in answers alone that a browser shows: all but JSON."""
NOT_KEPT = (b"cache-control", b"no-store")
WITHOUT_BODY = 304
SENT_WHOLE = frozenset({200, 201})  # refusals may close the connection


class HttpAnswer(NamedTuple):
    """What is sent back; `headers` are those that it has beside the ones of all answers."""

    body: bytes
    status: int = 200
    media: bytes = JSON
    headers: Headers = (NOT_KEPT,)


@final
class HttpRequest:
    """A request that the guard has let through; `headers` by their names in small letters."""

    __slots__ = ("_inflow", "headers", "params", "scope")

    def __init__(self, scope: MutableMapping[str, Any], inflow: Inflow) -> None:
        self.scope, self._inflow = scope, inflow
        self.headers: dict[bytes, bytes] = scope["infex.headers"]
        self.params: dict[str, str] = scope["path_params"]

    async def body(self) -> bytes:
        """All of its body."""
        return await self._inflow.whole()

    def header(self, name: bytes) -> str | None:
        """A header as text; None if it has none of this name."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def query(self) -> dict[str, str]:
        """What stands behind the question mark; of a name that comes twice, the last."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))


@final
class Reply:
    """Sends an answer, with the headers that all answers have; once."""

    __slots__ = ("_send", "status")

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        """Sends a message of ASGI: for what comes bit by bit."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *SAFE_HEADERS, NOT_KEPT]
        await self._send(message)

    async def answer(self, answer: HttpAnswer) -> None:
        """Sends an answer that is whole."""
        body, self.status, media, own = answer
        headers = ((b"content-type", media), *own, *SAFE_HEADERS)
        if media is not JSON:
            headers += DOCUMENT_HEADERS
        cycle = whole_cycle(self._send) if self.status in SENT_WHOLE else None
        if cycle is not None:
            await send_whole(cycle, head_of(self.status, headers), body)
        else:
            await self._send_in_two(headers, body)

    async def _send_in_two(self, headers: Headers, body: bytes) -> None:
        if self.status != WITHOUT_BODY:
            headers += ((b"content-length", b"%d" % len(body)),)
        await self._send({"type": "http.response.start", "status": self.status, "headers": list(headers)})
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, status: int, refusal: RefusalAnswer, *, closing: bool = False) -> None:
        """Sends a refusal, unless an answer has begun; the connection may end with it."""
        if self.status:
            raise ConnectionError("an answer that had begun could not be ended")
        headers: Headers = (NOT_KEPT,)
        if status in LATER:
            headers += ((b"retry-after", b"%d" % SECONDS_TO_RETRY),)
        if closing:
            headers += ((b"connection", b"close"),)
        if status == 401:
            headers += ((b"www-authenticate", b'Bearer realm="infex"'),)
        await self.answer(HttpAnswer(encoded_refusal(refusal), status, headers=headers))
