"""The one layer that every request passes: who asks, for what, from where, and how much.

What is not said to be open is closed: a route says which scope it needs (`Needs`), and one that says nothing
cannot be reached. A request without a valid token learns nothing, not even which addresses there are.
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, NamedTuple, Protocol, final

from infex.errors import InfexError
from infex.service.answers import RefusalAnswer
from infex.service.inflow import Inflows, Message, OtherSideGone, Receive, Refused
from infex.service.refusals import LATER, encoded_refusal, refusal_of, status_of
from infex.service.service_limits import SECONDS_TO_RETRY, ServiceLimits
from infex.service.tokens import Scope, TokenFile

Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
Headers = Mapping[bytes, bytes]

SERVICE_LOG = logging.getLogger("infex.service")
EVERY_SCOPE = frozenset(Scope)
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
)
SAME_SITE = (None, b"same-origin", b"none")  # what browsers say of a request of our own page
NOT_KEPT = (b"cache-control", b"no-store")
OPEN_TO_ALL = frozenset[Scope]()


class Needed(NamedTuple):
    """What a request needs: the scopes, `OPEN_TO_ALL` for none, and the name of the address for figures."""

    scopes: frozenset[Scope] | None
    address: str


class Needs(Protocol):
    """Tells what an address asks for; its scopes are None if it is not known."""

    def __call__(self, scope: MutableMapping[str, Any]) -> Needed:
        """What a request needs; the scope of ASGI may be given what `inner` is to know."""


Answered = Callable[[str, int, float], None]
"""Is told of every answer: address, status, seconds."""


@final
class Guard:
    """Lets requests through to `inner`, with the scopes that they have in `scope["infex.scopes"]`.

    `hosts` are the names by which the service may be called; others are refused, for a page of somebody
    else's may have its name lead here. Without any token everybody has every scope; `Service` starts so on
    loopback alone. `life` is told when the service starts and ends.
    """

    def __init__(
        self,
        inner: Asgi,
        life: Asgi,
        needs: Needs,
        tokens: TokenFile,
        hosts: Iterable[str],
        limits: ServiceLimits,
        answered: Answered,
    ) -> None:
        self._inner, self._life, self._needs, self._tokens = inner, life, needs, tokens
        self._inflows, self._answered = Inflows(limits), answered
        self._hosts = frozenset(host.lower() for host in hosts)
        self.closing = False

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            await self._life(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        begun, reply = time.perf_counter(), _Reply(send)
        needed = self._needs(scope)
        try:
            await self._answer(scope, receive, reply, needed.scopes)
        finally:
            self._answered(needed.address, reply.status, time.perf_counter() - begun)

    async def _answer(
        self,
        scope: MutableMapping[str, Any],
        receive: Receive,
        reply: _Reply,
        needed: frozenset[Scope] | None,
    ) -> None:
        try:
            scope["infex.scopes"] = self._admitted(scope, needed)
            await self._inner(scope, self._inflows.of(receive), reply)
        except Refused as refused:
            await reply.refuse(refused.status, refused.body)
        except InfexError as error:
            await reply.refuse(status_of(error), refusal_of(error))
        except OtherSideGone:
            return
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # whatever it is: nothing of what was asked may get into a log
            places = [
                f"{place.filename}:{place.lineno}" for place in traceback.extract_tb(error.__traceback__)
            ]
            SERVICE_LOG.error("%s at %s", type(error).__name__, " < ".join(reversed(places[-4:])))
            words = RefusalAnswer(error="InternalError", message="the service failed: its log says where")
            await reply.refuse(500, words)

    def _admitted(self, scope: Mapping[str, Any], needed: frozenset[Scope] | None) -> frozenset[Scope]:
        """The scopes of whoever asks; Refused if they are too few."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._refuse_host(headers)
        if needed is OPEN_TO_ALL:
            return OPEN_TO_ALL
        if self.closing:
            raise Refused(503, "ClosingDown", "the service is closing down", "the same again, later")
        held = self._held(headers)
        if needed is None:
            raise Refused(404, "UnknownAddress", "there is nothing at this address", "one of /openapi.json")
        if not needed <= held:
            wanted = ", ".join(sorted(needed))
            raise Refused(403, "ScopeTooSmall", "the token does not allow this", f"a token with {wanted}")
        return held

    def _held(self, headers: Headers) -> frozenset[Scope]:
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if not token and not self._tokens.listed():
            _refuse_other_sites(headers)
            return EVERY_SCOPE
        scopes = self._tokens.scopes(token.strip()) if kind.lower() == "bearer" else None
        if scopes is None:
            raise Refused(401, "TokenNeeded", "no valid token was given", "Authorization: Bearer TOKEN")
        return scopes

    def _refuse_host(self, headers: Headers) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name not in self._hosts:
            raise Refused(
                421, "OtherHost", "the service is not known by this name", "--host-name NAME", "Host"
            )


def _refuse_other_sites(headers: Headers) -> None:
    """Where no token is needed, a page of another site could ask in the name of whoever looks at it."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site not in SAME_SITE or origin not in (None, b"http://" + headers.get(b"host", b"")):
        raise Refused(403, "OtherSite", "a page of another site asked", "a request of this site", "Origin")


class _Reply:
    """Sends an answer, with the headers that all answers have."""

    def __init__(self, send: Send) -> None:
        self._send, self._begun, self.status = send, False, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun, self.status = True, message["status"]
            headers = list(message.get("headers", ()))
            kept = any(name == b"cache-control" for name, _ in headers)
            message["headers"] = [*headers, *SECURITY_HEADERS, *(() if kept else (NOT_KEPT,))]
        await self._send(message)

    async def refuse(self, status: int, refusal: RefusalAnswer) -> None:
        """Sends a refusal, unless an answer has begun."""
        if self._begun:
            raise ConnectionError("an answer that had begun could not be ended")
        body = encoded_refusal(refusal)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status in LATER:
            headers.append((b"retry-after", str(SECONDS_TO_RETRY).encode()))
        if status == 401:
            headers.append((b"www-authenticate", b'Bearer realm="infex"'))
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})
