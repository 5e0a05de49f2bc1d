"""The one layer that every request passes first: who asks, by which name, and how much is under way.

It is closed by default: a path that is not listed as open needs a valid token, whether there is such a path
or not. Which scope of a token a path needs is checked once its route is found.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Collection, Iterable
from typing import final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infex.service.auth import Scope as TokenScope
from infex.service.auth import TokenFile
from infex.service.refusals import Refused, response_to
from infex.service.schemas import ServiceLimits

LOG = logging.getLogger("infex.service")
MOST_HEAD = 32_768  # bytes of a request's line and headers
HEADER_PUNCTUATION = len(": \r\n")
EVERY_SCOPE = frozenset(TokenScope)
SAME_SITE = (None, b"same-origin", b"none")  # what browsers say of a request of our own page

NOT_CACHED = (b"cache-control", b"no-store")
SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]
"""What every response says to a browser."""
DOCUMENT_HEADERS = [
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
"""What has a meaning only in responses that a browser shows: all but JSON."""


@final
class ServiceMiddleware:
    """Lets requests through to `app`, with the scopes of their token in `scope["infex.scopes"]`.

    `hosts` are the names by which the service may be called; others are refused, because somebody else's page
    may have its name lead here. As long as there was never a file of tokens everybody has every scope;
    `Listening` starts so on loopback alone. `answered` is told address, status and seconds of each request.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: TokenFile,
        hosts: Iterable[str],
        open_paths: Collection[str],
        limits: ServiceLimits,
        answered: Callable[[str, int, float], None],
    ) -> None:
        self._app, self._tokens, self._open_paths = app, tokens, frozenset(open_paths)
        self._hosts = frozenset(host.lower().encode() for host in hosts)
        self._answered, self._most, self._under_way = answered, 2 * limits.waiting, 0
        tokens.look()  # now: if the file vanishes before the first request, the service stays closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        begun, status = time.perf_counter(), 0

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_more_headers(dict(message["headers"]))]
            await send(message)

        self._under_way += 1
        try:
            scope["infex.scopes"] = self._admit(scope)
            await self._app(scope, receive, send_safely)
        except ClientDisconnect:
            pass
        except Exception as error:
            if not isinstance(error, Refused):  # whatever it is: nothing of what was asked may get into a log
                _log_place(error)
            if not status:
                await response_to(error)(scope, receive, send_safely)
        finally:
            self._under_way -= 1
            self._answered(scope.get("infex.address", "unknown"), status, time.perf_counter() - begun)

    def _admit(self, scope: Scope) -> frozenset[TokenScope]:
        """The scopes of whoever asks; Refused if they may not go on."""
        _refuse_large_head(scope)
        headers: dict[bytes, bytes] = dict(
            reversed(scope["headers"])
        )  # of two, the first: others are trailers
        self._refuse_host(headers.get(b"host", b"").lower())
        if scope["path"] in self._open_paths:
            return frozenset()
        if self._under_way > self._most:
            words = "too many requests are under way"
            raise Refused(503, "Overloaded", words, "the same again, later", close=True)
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
        name, _, port = host.rpartition(b":")
        if (name if port.isdigit() else host) not in self._hosts:
            words = "the service is not known by this name"
            raise Refused(421, "OtherHost", words, "--host-name NAME", "Host")


def _refuse_large_head(scope: Scope) -> None:
    """Refuses a request whose line and headers have too many bytes."""
    line = len(scope["method"]) + len(scope["raw_path"]) + len(scope["query_string"])
    headers = sum(len(name) + len(value) + HEADER_PUNCTUATION for name, value in scope["headers"])
    if line + headers > MOST_HEAD:
        words = "the head of the request is too large"
        raise Refused(431, "HeadTooLarge", words, f"at most {MOST_HEAD} bytes", close=True)


def _refuse_other_sites(headers: dict[bytes, bytes]) -> None:
    """Where no token is needed, a page of another site could ask in the name of whoever looks at it."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site not in SAME_SITE or origin not in (None, b"http://" + headers.get(b"host", b"")):
        raise Refused(403, "OtherSite", "a page of another site asked", "a request of this site", "Origin")


def _more_headers(headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The headers that a response has beside its own."""
    more = SAFE_HEADERS if b"cache-control" in headers else [NOT_CACHED, *SAFE_HEADERS]
    return more if headers.get(b"content-type") == b"application/json" else more + DOCUMENT_HEADERS


def _log_place(error: Exception) -> None:
    """Logs where an error was raised, and not its message."""
    places = [f"{place.filename}:{place.lineno}" for place in traceback.extract_tb(error.__traceback__)]
    LOG.error("%s at %s", type(error).__name__, " < ".join(reversed(places[-4:])))
