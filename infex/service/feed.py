"""What happens, as server-sent events: all studies at a glance, whenever something has changed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import final

import msgspec

from infex.errors import InfexError, Overloaded
from infex.service.answers import StudyAnswer
from infex.service.grouped_calls import GroupedCalls
from infex.service.journal_view import JournalView
from infex.service.open_studies import Onlookers, OpenStudies
from infex.service.refusals import refusal_of
from infex.service.service_limits import ServiceLimits
from infex.service.store_health import StoreHealth

LEAST_PAUSE = 1.0
SHARE_OF_TIME = 0.1  # at most so much of the time goes into looking
LONGEST_READ = 0.5  # seconds: then listeners are told how much of a long journal is read
BEAT = b": still here\n\n"
OPENING = b"event: opening\ndata: {}\n\n"
END = b"event: end\ndata: {}\n\n"
BEAT_SECONDS = 15.0
Pause = Callable[[float], Awaitable[None]]


@final
class Feed:
    """Looks at all studies once in a while, reads on in their journals, and tells all listeners.

    It looks for nobody but when somebody listens; journals are read on in any case.
    """

    def __init__(
        self,
        studies: OpenStudies,
        glance: Callable[[GroupedCalls], StudyAnswer],
        store: StoreHealth,
        limits: ServiceLimits,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._studies, self._glance, self._store = studies, glance, store
        self._limits, self._pause = limits, pause
        self._news, self._number, self._listeners = b"", 0, 0
        self._changed = asyncio.Condition()
        self._ended = False

    async def run(self) -> None:
        """Looks, pauses, and looks again, until it is cancelled."""
        async with self._changed:
            self._changed.notify_all()  # the studies are open
        while True:
            begun = time.perf_counter()
            is_read = await self.look()
            seconds = max(LEAST_PAUSE, (time.perf_counter() - begun) / SHARE_OF_TIME)
            await self._pause(seconds if is_read else 0.0)

    async def look(self) -> bool:
        """Reads on in all journals, and tells listeners if anything is other than before; are all read?

        While the store fails nothing is read, and listeners keep what they have.
        """
        if not await self._store.is_up():
            return True
        if self._studies.shared:
            await self._studies.open_all()
        views = [self._studies.view(calls.study.name) for calls in self._studies]
        read = [await asyncio.to_thread(read_on, view, self._studies.onlookers) for view in views]
        if self._listeners:
            await self._tell(await asyncio.to_thread(self._seen))
        return all(read)

    async def _tell(self, news: bytes) -> None:
        if news != self._news:
            async with self._changed:
                self._news, self._number = news, self._number + 1
                self._changed.notify_all()

    async def end(self) -> None:
        """Lets all listeners go."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def listen(self) -> AsyncIterator[bytes]:
        """The events, as bytes to be sent; the first at once."""
        if self._listeners >= self._limits.listeners:
            raise Overloaded(f"{self._listeners} follow the events already")
        self._listeners += 1
        try:
            while not self._studies.ready and not self._ended:
                yield OPENING
                await self._becomes(lambda: self._studies.ready or self._ended)
            heard, news = self._number, await asyncio.to_thread(self._seen)
            self._news = news if self._listeners == 1 else self._news  # others must still hear of it
            yield self._failed() + _event("studies", news)
            while not self._ended:
                yield await self._next(heard)
                heard = self._number
        finally:
            self._listeners -= 1

    async def _next(self, heard: int) -> bytes:
        if not await self._becomes(lambda: self._number > heard or self._ended):
            return BEAT
        return END if self._ended else _event("studies", self._news)

    async def _becomes(self, true: Callable[[], bool]) -> bool:
        """Waits until something is true; False if that takes too long to stay silent."""
        try:
            async with asyncio.timeout(BEAT_SECONDS), self._changed:
                return await self._changed.wait_for(true)
        except TimeoutError:
            return False

    def _failed(self) -> bytes:
        """An event that tells which studies cannot be opened, and why; nothing if all can."""
        failed = {name: refusal_of(error).message for name, error in self._studies.failed.items()}
        return _event("failed", msgspec.json.encode(failed)) if failed else b""

    def _seen(self) -> bytes:
        return msgspec.json.encode([self._glance(calls) for calls in self._studies])


def read_on(view: JournalView, onlookers: Onlookers, clock: Callable[[], float] = time.perf_counter) -> bool:
    """Reads a journal to its end, or for half a second; True at the end, or if it cannot be read now."""
    late = clock() + LONGEST_READ
    with contextlib.suppress(InfexError):
        while view.catch_up():
            if clock() > late:
                return False
            onlookers.give_way()
    return True


def _event(kind: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), data)
