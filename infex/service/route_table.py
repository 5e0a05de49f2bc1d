"""What an address of the service is: method, path, scope, and the types of what goes in and out."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response

from infex.service.guard import OPEN_TO_ALL, Needed
from infex.service.tokens import Scope

Endpoint = Callable[[Request], Awaitable[Response]]
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


@final
class RouteNeeds:
    """Tells the guard which scopes an address needs; None for one that is not on the table."""

    def __init__(self, addresses: Iterable[Address]) -> None:
        self._lines = [_line(address) for address in addresses]

    def __call__(self, method: str, path: str) -> Needed:
        """The scopes and the name; HEAD is as GET."""
        wanted = "GET" if method == "HEAD" else method
        found = (
            needed for known, pattern, needed in self._lines if known == wanted and pattern.fullmatch(path)
        )
        return next(found, NOT_ON_THE_TABLE)


def _line(address: Address) -> tuple[str, re.Pattern[str], Needed]:
    return address.method, _pattern(address.path), Needed(address.needs or OPEN_TO_ALL, address.name)


def _pattern(path: str) -> re.Pattern[str]:
    """A part in braces is one step of a path; with `:path` behind its name, all that is left."""
    return re.compile("".join(map(_piece, re.split(r"(\{\w+(?::path)?\})", path))))


def _piece(text: str) -> str:
    if text[:1] != "{":
        return re.escape(text)
    return ".+" if text.endswith(":path}") else "[^/]+"
