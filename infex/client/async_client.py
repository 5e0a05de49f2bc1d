"""`infex.AsyncClient`: the same for an event loop, which waits while threads ask."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self, TypeVar, final

from infex.arrays import Label
from infex.checks import whole
from infex.client.client import Client, RemoteStudy
from infex.client.remote_decision import RemoteDecision

Awaited = TypeVar("Awaited")


@final
class AsyncClient:
    """A `Client` whose verbs are awaited: `await client.study("pricing").ask("order-1841", context=...)`.

    `url`, `token` and all other settings are those of `Client`; `connections` requests for decisions and as
    many others are under way at once, each in a thread. So decisions never queue behind rewards that are sent
    again and again while the service is away.
    """

    def __init__(self, url: str, token: str | None = None, *, connections: int = 32, **settings: Any) -> None:
        self._client = Client(url, token, **settings)
        count = whole("connections", connections, least=1)
        self._threads = ThreadPoolExecutor(count, "infex client")
        self._deciding = ThreadPoolExecutor(count, "infex client decisions")

    def study(self, name: str) -> AsyncRemoteStudy:
        """The study of a name; nothing is sent yet."""
        return AsyncRemoteStudy(self._client.study(name), self._threads, self._deciding)

    async def open(self, name: str, **settings: Any) -> AsyncRemoteStudy:
        """Begins a study, or finds it, as `Client.open` does."""
        await _waited(self._threads, functools.partial(self._client.open, name, **settings))
        return self.study(name)

    async def studies(self) -> list[str]:
        """The names of all studies."""
        return await _waited(self._threads, self._client.studies)

    async def close(self) -> None:
        """Waits for what is under way, and closes connections."""
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._deciding.shutdown)
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@final
class AsyncRemoteStudy:
    """One study of a service; its verbs are those of `RemoteStudy`, awaited."""

    def __init__(self, study: RemoteStudy, threads: ThreadPoolExecutor, deciding: ThreadPoolExecutor) -> None:
        self.name, self._study, self._threads, self._deciding = study.name, study, threads, deciding

    async def ask(
        self, key: str | None = None, *, context: object = None, default: Label | None = None, **more: Any
    ) -> RemoteDecision:
        """The decision of a key, or its fallback, as `RemoteStudy.ask` gives it."""
        work = functools.partial(self._study.ask, key, context=context, default=default, **more)
        return await _waited(self._deciding, work)

    async def ask_many(
        self,
        keys: Sequence[str],
        *,
        contexts: Sequence[object] | None = None,
        default: Label | None = None,
        **more: Any,
    ) -> list[RemoteDecision]:
        """The decisions of many keys in one request, or their fallbacks."""
        work = functools.partial(self._study.ask_many, keys, contexts=contexts, default=default, **more)
        return await _waited(self._deciding, work)

    async def tell(self, key: str, reward: float, *, weight: float = 1.0, part: str | None = None) -> str:
        """Tells a reward, exactly once."""
        return await self._run(functools.partial(self._study.tell, key, reward, weight=weight, part=part))

    async def tell_many(self, keys: Sequence[str], rewards: Sequence[float]) -> list[str]:
        """Tells many rewards in one request."""
        return await self._run(functools.partial(self._study.tell_many, keys, rewards))

    async def explain(self, key: str) -> dict[str, Any]:
        """Why a decision was taken."""
        return await self._run(functools.partial(self._study.explain, key))

    async def state(self, key: str) -> str:
        """How far the reward of a decision has come."""
        return await self._run(functools.partial(self._study.state, key))

    async def metrics(self) -> dict[str, Any]:
        """The figures of the study."""
        return await self._run(self._study.metrics)

    async def amend(self, *, reason: str, policy: object = None, **more: Any) -> None:
        """Changes the study, as `RemoteStudy.amend` does."""
        await self._run(functools.partial(self._study.amend, reason=reason, policy=policy, **more))

    async def _run(self, work: Callable[[], Awaited]) -> Awaited:
        return await _waited(self._threads, work)


async def _waited(threads: ThreadPoolExecutor, work: Callable[[], Awaited]) -> Awaited:
    return await asyncio.get_running_loop().run_in_executor(threads, work)
