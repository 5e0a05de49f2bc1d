"""The service as an ASGI application: routes, middleware, studies, and the OpenAPI description."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from infex.errors import InfexError, StoreFailed
from infex.service.auth import TokenFile
from infex.service.events import Feed
from infex.service.metrics import Metrics
from infex.service.middleware import ServiceMiddleware
from infex.service.refusals import Refused, response_to
from infex.service.routes import Endpoint, Routes, answer, refuse_query, refuse_scope
from infex.service.schemas import RefusalAnswer, ServiceLimits
from infex.service.studies import SECONDS_BETWEEN_CHECKS, StoreHealth, Studies
from infex.version import __version__

SECONDS_BETWEEN_LOOKS = 0.1  # at whether the server is ending


@final
class Service:
    """An ASGI application, `app`, whose lifespan opens and closes the studies at `url`.

    `hosts` are the names by which it may be called. `is_ending` tells whether the server has been asked to
    end: listeners of events are then let go, because a server waits for all connections.
    """

    def __init__(
        self, url: str, tokens: TokenFile, hosts: Iterable[str], limits: ServiceLimits | None = None
    ) -> None:
        limits = ServiceLimits() if limits is None else limits
        self.is_ending: Callable[[], bool] = lambda: False
        self.studies = Studies(url, limits)
        self._store = StoreHealth(self.studies)
        self._feed = Feed(self.studies, self._store, limits)
        metrics = Metrics(self.studies, self._store, tokens, limits)
        described = Endpoint(
            method="GET", path="/openapi.json", scope=None, respond=self.openapi, gives=dict[str, Any]
        )
        routes = Routes(self.studies, self._store, self._feed, metrics, limits)
        self.endpoints = (*routes.endpoints, described)
        self._description = description(self.endpoints)
        guard = Middleware(
            ServiceMiddleware,
            tokens=tokens,
            hosts=tuple(hosts),
            open_paths={endpoint.path for endpoint in self.endpoints if endpoint.scope is None},
            limits=limits,
            answered=metrics.answered,
        )
        self.app = Starlette(
            routes=[
                Route(endpoint.path, _scoped(endpoint), methods=[endpoint.method])
                for endpoint in self.endpoints
            ],
            middleware=[guard],
            exception_handlers={
                InfexError: self._refuse,
                Refused: self._refuse,
                HTTPException: self._refuse_unknown,
            },
            lifespan=self._lifespan,
        )
        self.app.router.redirect_slashes = False

    async def openapi(self, request: Request) -> Response:
        """The description of all addresses."""
        return answer(self._description)

    def _refuse(self, request: Request, error: Exception) -> Response:
        if isinstance(error, StoreFailed):
            self._store.failed(error)
        return response_to(error)

    def _refuse_unknown(self, request: Request, error: Exception) -> Response:
        """404 for a path that there is not, 405 for a method that a path does not have."""
        routes = [route for route in self.app.routes if isinstance(route, Route)]
        known = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
        if not known:
            words = "there is nothing at this address"
            return response_to(Refused(404, "UnknownAddress", words, "one of /openapi.json"))
        allow = ", ".join(sorted({method for route in known for method in route.methods or ()}))
        words = "this address does not have this method"
        return response_to(Refused(405, "MethodNotAllowed", words, allow, allow=allow))

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Opens the studies while requests are refused, and at the end does what was begun."""
        tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._watch_for_end())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._feed.end()
            await self._store.end()
            await self.studies.close()

    async def _follow(self) -> None:
        """Opens the studies, and then follows them; goes on whenever the store can be used again."""
        while True:
            openings = self.studies.openings
            try:
                await self.studies.open_all()
                openings = self.studies.openings
                await self._feed.run()
            except InfexError as error:
                self._store.failed(error, openings)
            await asyncio.sleep(SECONDS_BETWEEN_CHECKS)

    async def _watch_for_end(self) -> None:
        while not self.is_ending():
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
        await self._feed.end()


def _scoped(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint as Starlette calls it: behind a check of the token's scopes."""

    async def respond(request: Request) -> Response:
        request.scope["infex.address"] = endpoint.name
        if endpoint.scope is not None:
            refuse_scope(request, endpoint.scope)
        if endpoint.query:
            refuse_query(request, endpoint.query)
        return await endpoint.respond(request)

    return respond


SCHEMA_PLACE = "#/components/schemas/{name}"
PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
REFUSALS = {
    "400": "The request is not HTTP as it should be.",
    "401": "No valid token was given.",
    "403": "The token does not allow this.",
    "404": "There is no such study or decision.",
    "405": "The address does not have this method; `Allow` lists those it has.",
    "408": "The body did not come in time.",
    "409": "The study has other settings.",
    "413": "The body is too large.",
    "421": "The service is not known by this name.",
    "422": "A field is wrong, or the key has another request already.",
    "429": "Too much waits: the same later.",
    "431": "The line and headers of the request are too large.",
    "503": "The store fails, or the service starts or ends: the same later, with the same key. "
    "What was refused may still take effect.",
}
REFUSALS_OF_OPEN = ("400", "405", "421", "431", "503")
REFUSALS_OF_BODIES = ("408", "413", "422")


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The OpenAPI description, from the endpoints and the types of their bodies."""
    endpoints = list(endpoints)
    kinds = [RefusalAnswer, *(kind for each in endpoints for kind in (each.takes, each.gives) if kind)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=SCHEMA_PLACE)
    schema_of = dict(zip(map(repr, kinds), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        operations = paths.setdefault(PARAMETER.sub(r"{\1}", each.path), {})
        operations[each.method.lower()] = _operation(each, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "infex",
            "version": __version__,
            "description": "Decisions of linear bandits that explore only when they are told to.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, schema_of: dict[str, Any]) -> dict[str, Any]:
    words = inspect.getdoc(endpoint.respond) or ""
    text = {"type": "string", "minLength": 1, "maxLength": 200}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in PARAMETER.findall(endpoint.path)
    ]
    parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in endpoint.query.items()]
    if endpoint.keyed:
        parameters.append({"name": "Idempotency-Key", "in": "header", "schema": text})
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": words.split("\n")[0],
        "description": words,
        "security": [] if endpoint.scope is None else [{"token": [str(endpoint.scope)]}],
        "parameters": parameters,
        "responses": _responses(endpoint, schema_of),
    }
    if endpoint.takes is not None:
        content = {"application/json": {"schema": schema_of[repr(endpoint.takes)]}}
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.takes_file:
        file = {"schema": {"type": "string", "format": "binary"}}
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": file}}
    return operation


def _responses(endpoint: Endpoint, schema_of: dict[str, Any]) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done, and on disk." if endpoint.method == "POST" else "Found."}
    if endpoint.gives is not None:
        done["content"] = {"application/json": {"schema": schema_of[repr(endpoint.gives)]}}
    elif endpoint.media:
        done["content"] = {endpoint.media: {"schema": {"type": "string"}}}
    refusal = {"application/json": {"schema": schema_of[repr(RefusalAnswer)]}}
    given = [
        status
        for status in REFUSALS
        if (endpoint.scope is not None or status in REFUSALS_OF_OPEN)
        and (
            endpoint.takes is not None
            or endpoint.takes_file
            or endpoint.query
            or status not in REFUSALS_OF_BODIES
        )
    ]
    refusals = {status: {"description": REFUSALS[status], "content": refusal} for status in given}
    return {str(endpoint.status): done, **refusals}
