"""The service put together: addresses, guard, studies, figures and page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any, final

import msgspec
from starlette.responses import StreamingResponse
from starlette.routing import Router

from infex.errors import StoreFailed
from infex.service import page_files
from infex.service.answers import (
    ExplainAnswer,
    HealthAnswer,
    PreviewAnswer,
    StudyAnswer,
)
from infex.service.endpoints import BATCH_OF_DECISIONS, BATCH_OF_REWARDS, Endpoints, said
from infex.service.feed import Feed, Pause
from infex.service.gauges import MEDIA, Gauges
from infex.service.guard import OPEN_TO_ALL, Guard
from infex.service.http_exchange import HttpAnswer, HttpRequest
from infex.service.open_studies import OpenStudies
from infex.service.openapi import openapi
from infex.service.past_sums import SeenDecision
from infex.service.route_table import Address, RouteTable
from infex.service.service_limits import ServiceLimits
from infex.service.shapes import (
    AmendmentRequest,
    DecisionRequest,
    PreviewRequest,
    RewardRequest,
    StudyRequest,
)
from infex.service.store_health import SECONDS_BETWEEN_CHECKS, StoreHealth
from infex.service.tokens import Scope, TokenFile

DECIDE, REWARD = frozenset({Scope.DECIDE}), frozenset({Scope.REWARD})
READ, ADMIN = frozenset({Scope.READ}), frozenset({Scope.ADMIN})
STUDY = "/v1/studies/{name}"
SHORT_TEXT = {"type": "string", "maxLength": 200}
PROVE = {"prove": {"type": "string", "enum": ["true", "false"], "default": "true"}}
FILTERS = {
    "arm": SHORT_TEXT,
    "reason": SHORT_TEXT,
    "state": SHORT_TEXT,
    "explored": {"type": "string", "enum": ["true", "false"]},
    "most": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
}


@final
class Service:
    """An ASGI application: `app` answers, and its lifespan opens and closes the studies at `url`.

    `hosts` are the names by which it may be called.
    """

    def __init__(
        self,
        url: str,
        tokens: TokenFile,
        hosts: Iterable[str],
        limits: ServiceLimits | None = None,
        pause: Pause = asyncio.sleep,
    ) -> None:
        limits = ServiceLimits() if limits is None else limits
        self.studies = OpenStudies(url, limits)
        self.store = StoreHealth(self.studies)
        self._endpoints = Endpoints(self.studies, self.store, limits)
        self.gauges = Gauges(self.studies, self.store, tokens)
        self._pause = pause
        self.feed = Feed(self.studies, self._endpoints.glance, self.store, limits, pause)
        self.addresses = tuple(self._table())
        table, life = RouteTable(self.addresses), Router(lifespan=self._life)
        self.app = Guard(
            table.answer, life, table.needs, tokens, hosts, limits, self.gauges.answered, self.store.failed
        )
        self._description = msgspec.json.encode(openapi(self.addresses))

    def _table(self) -> Iterable[Address]:
        """Every address; those that are called most come first."""
        ends = self._endpoints
        yield Address(method="POST", path=f"{STUDY}/decisions", needs=DECIDE, answer=ends.decide,
                      takes=DecisionRequest | list[DecisionRequest], gives=BATCH_OF_DECISIONS)  # fmt: skip
        yield Address(method="POST", path=f"{STUDY}/rewards", needs=REWARD, answer=ends.reward,
                      takes=RewardRequest | list[RewardRequest], gives=BATCH_OF_REWARDS)  # fmt: skip
        yield Address(method="GET", path=f"{STUDY}/decisions", needs=READ, answer=ends.latest,
                      gives=list[SeenDecision], query=FILTERS)  # fmt: skip
        yield Address(method="GET", path=f"{STUDY}/decisions/{{key:path}}", needs=READ, answer=ends.decision,
                      gives=dict[str, Any])  # fmt: skip
        yield Address(method="GET", path=f"{STUDY}/explain/{{key:path}}", needs=READ, answer=ends.explain,
                      gives=ExplainAnswer, query=PROVE)  # fmt: skip
        yield Address(method="GET", path=f"{STUDY}/lift", needs=READ, answer=ends.lift, gives=dict[str, Any])
        yield Address(method="GET", path=f"{STUDY}/past", needs=READ, answer=ends.past, gives=dict[str, Any])
        yield Address(method="POST", path=f"{STUDY}/amendments", needs=ADMIN, answer=ends.amend,
                      takes=AmendmentRequest, gives=StudyAnswer)  # fmt: skip
        yield Address(method="POST", path=f"{STUDY}/preview", needs=READ, answer=ends.preview,
                      takes=PreviewRequest, gives=PreviewAnswer)  # fmt: skip
        yield Address(method="GET", path=STUDY, needs=READ, answer=ends.study, gives=StudyAnswer)
        yield Address(method="GET", path="/v1/studies", needs=READ, answer=ends.list_studies,
                      gives=list[StudyAnswer])  # fmt: skip
        yield Address(method="POST", path="/v1/studies", needs=ADMIN, answer=ends.begin_study,
                      takes=StudyRequest, gives=StudyAnswer, status=201)  # fmt: skip
        yield from self._other_addresses()

    def _other_addresses(self) -> Iterable[Address]:
        ends = self._endpoints
        yield Address(
            method="GET", path="/v1/events", needs=READ, answer=self._events, media="text/event-stream"
        )
        yield Address(method="GET", path="/v1/me", needs=READ, answer=self._me, gives=dict[str, Any])
        yield Address(method="GET", path="/metrics", needs=READ, answer=self._metrics, media="text/plain")
        yield Address(
            method="GET", path="/healthz", needs=OPEN_TO_ALL, answer=ends.healthz, gives=HealthAnswer
        )
        yield Address(method="GET", path="/readyz", needs=OPEN_TO_ALL, answer=ends.readyz, gives=HealthAnswer)
        yield Address(method="GET", path="/openapi.json", needs=OPEN_TO_ALL, answer=self._openapi,
                      gives=dict[str, Any])  # fmt: skip
        for path, file in page_files.FILES.items():
            yield Address(
                method="GET", path=path, needs=OPEN_TO_ALL, answer=page_files.answer(file), media=file.media
            )

    @contextlib.asynccontextmanager
    async def _life(self, app: object) -> AsyncIterator[None]:
        """Opens the studies while requests are refused, and at the end does what was begun."""
        opening = asyncio.create_task(self._begin())
        try:
            yield
        finally:
            self.app.closing = True
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await opening
            await self.feed.end()
            await self.store.end()
            await asyncio.to_thread(self.studies.close)
            await asyncio.to_thread(self._endpoints.replays.close)

    async def _begin(self) -> None:
        """Opens the studies, and then follows them; goes on whenever the store can be used again."""
        while True:
            try:
                await self.studies.open_all()
                await self.feed.run()
            except StoreFailed as error:
                self.store.failed(error)
            await self._pause(SECONDS_BETWEEN_CHECKS)

    async def _events(self, request: HttpRequest) -> StreamingResponse:
        """All studies at a glance as server-sent events, whenever something has changed."""
        return StreamingResponse(self.feed.listen(), media_type="text/event-stream")

    async def _metrics(self, request: HttpRequest) -> HttpAnswer:
        """All figures in the format of Prometheus."""
        return HttpAnswer(await self.gauges.text(), media=MEDIA.encode())

    async def _me(self, request: HttpRequest) -> HttpAnswer:
        """What the token allows."""
        return said({"scopes": sorted(request.scope["infex.scopes"])})

    async def _openapi(self, request: HttpRequest) -> HttpAnswer:
        """The description of all addresses."""
        return HttpAnswer(self._description)
