"""The one layer that every request passes: who asks, for what, from where, and how much.

What is not said to be open is closed: a route says which scope it needs (`Needs`), and one that says nothing
cannot be reached. A request without a valid token learns nothing, not even which addresses there are.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, NamedTuple, Protocol, final

from infex.errors import InfexError, StoreFailed
from infex.service.answers import RefusalAnswer
from infex.service.http_exchange import Reply, Send
from infex.service.inflow import Inflow, Inflows, OtherSideGone, Receive, Refused
from infex.service.refusals import refusal_of, status_of
from infex.service.service_limits import CROWDED, MOST_HEAD, ServiceLimits
from infex.service.service_log import SERVICE_LOG
from infex.service.tokens import Scope, TokenFile

Asgi = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]
Answering = Callable[[MutableMapping[str, Any], Inflow, Reply], Awaitable[None]]
HeadersByName = Mapping[bytes, bytes]

EVERY_SCOPE = frozenset(Scope)
SAME_SITE = (None, b"same-origin", b"none")  # what browsers say of a request of our own page
LETTERS_OF_A_HEADER = len(": \r\n")
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

    Their headers stand by name in `scope["infex.headers"]`.

    `hosts` are the names by which the service may be called; others are refused, for a page of somebody
    else's may have its name lead here. As long as there was never a file of tokens everybody has every scope;
    `Listening` starts so on loopback alone. `life` is told when the service starts and ends, `store_failed`
    of requests that failed because the store did.
    """

    def __init__(
        self,
        inner: Answering,
        life: Asgi,
        needs: Needs,
        tokens: TokenFile,
        hosts: Iterable[str],
        limits: ServiceLimits,
        answered: Answered,
        store_failed: Callable[[StoreFailed], None],
    ) -> None:
        self._inner, self._life, self._needs, self._tokens = inner, life, needs, tokens
        self._inflows, self._answered, self._store_failed = Inflows(limits), answered, store_failed
        self._hosts = frozenset(host.lower().encode() for host in hosts)
        self.closing = False
        tokens.look()  # a file that is lost before the first request was seen, so the service is shut

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            await self._life(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        begun, reply = time.perf_counter(), Reply(send)
        needed = self._needs(scope)
        try:
            await self._answer(scope, receive, reply, needed.scopes)
        finally:
            self._answered(needed.address, reply.status, time.perf_counter() - begun)

    async def _answer(
        self,
        scope: MutableMapping[str, Any],
        receive: Receive,
        reply: Reply,
        needed: frozenset[Scope] | None,
    ) -> None:
        try:
            scope["infex.scopes"] = self._admitted(scope, needed)
            await self._inner(scope, self._inflows.of(receive), reply)
        except Refused as refused:
            await reply.refuse(refused.status, refused.body, closing=CROWDED in scope)
        except InfexError as error:
            if isinstance(error, StoreFailed):
                self._store_failed(error)
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

    def _admitted(self, scope: MutableMapping[str, Any], needed: frozenset[Scope] | None) -> frozenset[Scope]:
        """The scopes of whoever asks; Refused if they are too few."""
        _refuse_large_head(scope)
        scope["infex.headers"] = headers = dict[bytes, bytes](scope["headers"])
        self._refuse_host(headers.get(b"host", b""))
        if needed is OPEN_TO_ALL:
            return OPEN_TO_ALL
        if CROWDED in scope:
            raise Refused(503, "Overloaded", "too many connections are open", "the same again, later")
        if self.closing:
            raise Refused(503, "ClosingDown", "the service is closing down", "the same again, later")
        held = self._held(headers)
        if needed is None:
            raise Refused(404, "UnknownAddress", "there is nothing at this address", "one of /openapi.json")
        if not needed <= held:
            wanted = ", ".join(sorted(needed))
            raise Refused(403, "ScopeTooSmall", "the token does not allow this", f"a token with {wanted}")
        return held

    def _held(self, headers: HeadersByName) -> frozenset[Scope]:
        kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if not token and self._tokens.is_open:
            _refuse_other_sites(headers)
            return EVERY_SCOPE
        scopes = self._tokens.scopes(token.strip()) if kind.lower() == "bearer" else None
        if scopes is None:
            raise Refused(401, "TokenNeeded", "no valid token was given", "Authorization: Bearer TOKEN")
        return scopes

    def _refuse_host(self, host: bytes) -> None:
        """Refuses a name that is not known, with or without a port behind it."""
        name, _, port = host.lower().rpartition(b":")
        if (name if port.isdigit() else host.lower()) not in self._hosts:
            raise Refused(
                421, "OtherHost", "the service is not known by this name", "--host-name NAME", "Host"
            )


def _refuse_large_head(scope: MutableMapping[str, Any]) -> None:
    """Refuses a request whose line and headers have too many bytes."""
    line = len(scope["method"]) + len(scope["raw_path"]) + len(scope["query_string"])
    headers = sum(len(name) + len(value) + LETTERS_OF_A_HEADER for name, value in scope["headers"])
    if line + headers > MOST_HEAD:
        raise Refused(
            431, "HeadTooLarge", "the head of the request is too large", f"at most {MOST_HEAD} bytes"
        )


def _refuse_other_sites(headers: HeadersByName) -> None:
    """Where no token is needed, a page of another site could ask in the name of whoever looks at it."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site not in SAME_SITE or origin not in (None, b"http://" + headers.get(b"host", b"")):
        raise Refused(403, "OtherSite", "a page of another site asked", "a request of this site", "Origin")
