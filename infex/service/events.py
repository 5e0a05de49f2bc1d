"""What happens, as server-sent events: all studies in brief, whenever something has changed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import final

import msgspec

from infex.errors import InfexError, Overloaded
from infex.service.history import History
from infex.service.refusals import refusal_of
from infex.service.schemas import ServiceLimits
from infex.service.studies import StoreHealth, Studies

LEAST_PAUSE = 1.0
SHARE_OF_TIME = 0.1  # at most so much of the time goes into looking
LONGEST_READ = 0.5  # seconds: then listeners are told how much of a long journal is read
BEAT_SECONDS = 15.0
BEAT = b": still here\n\n"
OPENING = b"event: opening\ndata: {}\n\n"
END = b"event: end\ndata: {}\n\n"


@final
class Feed:
    """Reads on in the journals of all studies, once in a while, and tells all listeners what has changed.

    Summaries are made only while somebody listens; journals are read on in any case.
    """

    def __init__(self, studies: Studies, store: StoreHealth, limits: ServiceLimits) -> None:
        self._studies, self._store, self._limits = studies, store, limits
        self._news, self._number, self._listeners = b"", 0, 0
        self._changed = asyncio.Condition()
        self._ended = False

    async def run(self) -> None:
        """Looks, pauses, and looks again, until it is cancelled."""
        async with self._changed:
            self._changed.notify_all()  # the studies are open
        while True:
            begun = time.perf_counter()
            is_read = await self._look()
            seconds = max(LEAST_PAUSE, (time.perf_counter() - begun) / SHARE_OF_TIME)
            await asyncio.sleep(seconds if is_read else 0.0)

    async def _look(self) -> bool:
        """Reads on in all journals, and tells listeners if anything is other than before; are all read?

        While the store fails nothing is read, and listeners keep what they have.
        """
        if not await self._store.is_up():
            return True
        if self._studies.shared:
            await self._studies.open_all()
        read = [await asyncio.to_thread(_read_on, study.history) for study in self._studies]
        if self._listeners:
            news = await asyncio.to_thread(self._summaries)
            if news != self._news:
                async with self._changed:
                    self._news, self._number = news, self._number + 1
                    self._changed.notify_all()
        return all(read)

    async def end(self) -> None:
        """Lets all listeners go."""
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    def listen(self) -> AsyncIterator[bytes]:
        """The events, as bytes to be sent, the first at once; Overloaded if too many listen already."""
        if self._listeners >= self._limits.listeners:
            raise Overloaded(f"{self._listeners} follow the events already")
        return self._events()

    async def _events(self) -> AsyncIterator[bytes]:
        self._listeners += 1
        try:
            while not self._studies.opened.is_set() and not self._ended:
                yield OPENING
                await self._becomes(lambda: self._studies.opened.is_set() or self._ended)
            heard, news = self._number, await asyncio.to_thread(self._summaries)
            self._news = news if self._listeners == 1 else self._news  # others must still hear of it
            yield self._failures() + _event("studies", news)
            while not self._ended:
                if not await self._becomes(lambda: self._number > heard or self._ended):  # noqa: B023
                    yield BEAT
                else:
                    heard = self._number
                    yield END if self._ended else _event("studies", self._news)
        finally:
            self._listeners -= 1

    async def _becomes(self, true: Callable[[], bool]) -> bool:
        """Waits until something is true; False if that takes too long to stay silent."""
        try:
            async with asyncio.timeout(BEAT_SECONDS), self._changed:
                return await self._changed.wait_for(true)
        except TimeoutError:
            return False

    def _failures(self) -> bytes:
        """An event that tells which studies cannot be opened, and why; nothing if all can."""
        failed = {name: refusal_of(error).message for name, error in self._studies.failed.items()}
        return _event("failed", msgspec.json.encode(failed)) if failed else b""

    def _summaries(self) -> bytes:
        return msgspec.json.encode([study.summary() for study in self._studies])


def _read_on(history: History) -> bool:
    """Reads a journal to its end, or for half a second; True at the end, or if it cannot be read now."""
    late = time.perf_counter() + LONGEST_READ
    with contextlib.suppress(InfexError):
        while history.read_on():
            if time.perf_counter() > late:
                return False
    return True


def _event(kind: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), data)
