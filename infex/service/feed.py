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
from infex.service.service_limits import ServiceLimits

LEAST_PAUSE = 1.0
SHARE_OF_TIME = 0.1  # at most so much of the time goes into looking
BEAT = b": still here\n\n"
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
        limits: ServiceLimits,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._studies, self._glance, self._limits, self._pause = studies, glance, limits, pause
        self._news, self._number, self._listeners = b"", 0, 0
        self._changed = asyncio.Condition()
        self._ended = False

    async def run(self) -> None:
        """Looks, pauses, and looks again, until it is cancelled."""
        while True:
            begun = time.perf_counter()
            await self.look()
            await self._pause(max(LEAST_PAUSE, (time.perf_counter() - begun) / SHARE_OF_TIME))

    async def look(self) -> None:
        """Reads on in all journals, and tells listeners if anything is other than before."""
        if self._studies.shared:
            await self._studies.open_all()
        for calls in self._studies:
            await asyncio.to_thread(_read_on, self._studies.view(calls.study.name), self._studies.onlookers)
        if not self._listeners:
            return
        news = await asyncio.to_thread(self._seen)
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
            heard, news = self._number, await asyncio.to_thread(self._seen)
            self._news = news if self._listeners == 1 else self._news  # others must still hear of it
            yield _event(news)
            while not self._ended:
                yield await self._next(heard)
                heard = self._number
        finally:
            self._listeners -= 1

    async def _next(self, heard: int) -> bytes:
        try:
            async with asyncio.timeout(BEAT_SECONDS), self._changed:
                await self._changed.wait_for(lambda: self._number > heard or self._ended)
        except TimeoutError:
            return BEAT
        return b"event: end\ndata: {}\n\n" if self._ended else _event(self._news)

    def _seen(self) -> bytes:
        return msgspec.json.encode([self._glance(calls) for calls in self._studies])


def _read_on(view: JournalView, onlookers: Onlookers) -> None:
    """Reads a journal to its end; if that fails, the next look tries again."""
    with contextlib.suppress(InfexError):
        while view.catch_up():
            onlookers.give_way()


def _event(data: bytes) -> bytes:
    return b"event: studies\ndata: " + data + b"\n\n"
