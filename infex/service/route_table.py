"""What an address of the service is: method, path, scope, and the types of what goes in and out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

from starlette.responses import StreamingResponse

from infex.service.guard import OPEN_TO_ALL, Needed
from infex.service.http_exchange import HttpAnswer, HttpRequest, Reply
from infex.service.inflow import Inflow
from infex.service.tokens import Scope

Endpoint = Callable[[HttpRequest], Awaitable[HttpAnswer | StreamingResponse]]
NOT_ON_THE_TABLE = Needed(None, "unknown")


@final
@dataclass(frozen=True, kw_only=True)
class Address:
    """One line of the route table; `needs` has no default, so that none is open by being forgotten."""

    method: str
    path: str
    needs: frozenset[Scope]
    answer: Endpoint
    takes: Any = None
    gives: Any = None
    status: int = 200
    media: str = ""
    query: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in the OpenAPI description."""
        return self.answer.__name__.strip("_")


class TableLine(NamedTuple):
    """An address as requests are compared with it."""

    method: str
    pattern: re.Pattern[str]
    needed: Needed
    answer: Endpoint


@final
class RouteTable:
    """Finds the line of a request once: what it needs and who answers cannot be of two lines.

    The guard is told what is needed, and hands what is found there on to `answer`.
    """

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._lines = [_line(address) for address in addresses]

    def needs(self, scope: MutableMapping[str, Any]) -> Needed:
        """The scopes and the name of what is asked for; HEAD is as GET."""
        method, path = scope["method"], scope["path"]
        wanted = "GET" if method == "HEAD" else method
        for line in self._lines:
            if line.method == wanted and (found := line.pattern.fullmatch(path)):
                scope["path_params"], scope["infex.answer"] = found.groupdict(), line.answer
                return line.needed
        return NOT_ON_THE_TABLE

    async def answer(self, scope: MutableMapping[str, Any], inflow: Inflow, reply: Reply) -> None:
        """Answers a request whose line was found."""
        answer = await scope["infex.answer"](HttpRequest(scope, inflow))
        if type(answer) is HttpAnswer:
            await reply.answer(answer)
        else:  # it comes bit by bit
            await answer(scope, inflow, reply)


def _line(address: Address) -> TableLine:
    needed = Needed(address.needs or OPEN_TO_ALL, address.name)
    return TableLine(address.method, _pattern(address.path), needed, address.answer)


def _pattern(path: str) -> re.Pattern[str]:
    """A part in braces is one step of a path; with `:path` behind its name, all that is left."""
    return re.compile("".join(map(_piece, re.split(r"(\{\w+(?::path)?\})", path))), re.DOTALL)


def _piece(text: str) -> str:
    if text[:1] != "{":
        return re.escape(text)
    name, _, kind = text[1:-1].partition(":")
    return f"(?P<{name}>{'.+' if kind == 'path' else '[^/]+'})"
