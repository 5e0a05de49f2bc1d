"""A service that runs within a test: its event loop in a thread, requests without a network."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import infex
from infex.service.application import Service
from infex.service.service_limits import ServiceLimits
from infex.service.tokens import TokenFile
from tests.waiting import PATIENCE

SHOP = infex.to_record(infex.features.disjoint(["tea", "juice", "water"], context_dim=2))
PRICING = {"name": "pricing", "policy": "Infex(LinUCB, every(3))", "features": SHOP, "seed": 7}
CONTEXT = [0.6, 0.8]


class Reply(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """Requests to a service."""

    def __init__(self, service: Service, loop: asyncio.AbstractEventLoop) -> None:
        self.service, self._loop = service, loop

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def begin(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """A request that is under way: `.result()` is its reply."""
        return asyncio.run_coroutine_threadsafe(self._sent(method, path, body, headers or {}), self._loop)

    def __call__(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        reply: Reply = self.begin(method, path, body, headers).result(PATIENCE)
        return reply

    async def _sent(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Reply:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        parts = iter([data])
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            for part in parts:
                return {"type": "http.request", "body": part, "more_body": False}
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: Any) -> None:
            sent.append(message)

        await self.service.app(http_scope(method, path, headers), receive, send)
        return reply_of(sent)


def http_scope(method: str, path: str, headers: Mapping[str, str]) -> dict[str, Any]:
    given = {"host": "localhost", **{name.lower(): value for name, value in headers.items()}}
    where, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": where,
        "raw_path": where.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


def reply_of(sent: list[Any]) -> Reply:
    head, *rest = sent
    headers = {name.decode(): value.decode() for name, value in head["headers"]}
    return Reply(head["status"], headers, b"".join(part.get("body", b"") for part in rest))


async def never(seconds: float) -> None:
    """A pause that does not end: nothing happens by itself."""
    await asyncio.Event().wait()


@contextlib.contextmanager
def running(
    folder: Path,
    limits: ServiceLimits | None = None,
    tokens: TokenFile | None = None,
    url: str | None = None,
) -> Iterator[Running]:
    """A service on a database in this folder, or at a URL; its tokens are in shop.db.tokens."""
    tokens = TokenFile(folder / "shop.db.tokens") if tokens is None else tokens
    url = f"sqlite:///{folder}/shop.db" if url is None else url
    service = Service(url, tokens, ["localhost"], limits, never)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    caller = Running(service, loop)
    life = living(service)
    try:
        caller.run(anext(life))
        caller.run(_ready(service))
        yield caller
    finally:
        with contextlib.suppress(StopAsyncIteration):
            caller.run(anext(life))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def living(service: Service) -> AsyncIterator[None]:
    """Starts a service, and ends it."""
    told: asyncio.Queue[Any] = asyncio.Queue()
    heard: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.create_task(service.app({"type": "lifespan"}, told.get, heard.put))
    await told.put({"type": "lifespan.startup"})
    assert (await heard.get())["type"] == "lifespan.startup.complete"
    yield
    await told.put({"type": "lifespan.shutdown"})
    assert (await heard.get())["type"] == "lifespan.shutdown.complete"
    await task


async def _ready(service: Service) -> None:
    """Waits until the studies are open."""
    await service.studies.opened.wait()
