"""Calls of one study from an event loop: none blocks it, and all that wait together share a commit.

One thread does what was asked, in the order in which it came, without waiting for the disk; another waits for
the disk, and then answers all that were done by then. So while one group is written the next is decided. A
study that several processes share waits for the disk by itself, and groups what many threads ask.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, final

from infex.errors import Overloaded, StoreFailed
from infex.service.service_limits import ServiceLimits
from infex.study.study import Study

Gives = TypeVar("Gives")
Work = Callable[[Study], Gives]


class CallOutcome(NamedTuple):
    """What a call gave, or the error that it raised."""

    future: asyncio.Future[Any]
    answer: Any
    error: BaseException | None


@final
class GroupedCalls:
    """A study that an event loop can call; `call` returns when what was done is on disk.

    At most `limits.waiting` calls wait at once: more are refused (Overloaded). `close` does what was begun.
    With more than one of `callers`, so many threads call the study, and what they return is on disk.
    """

    def __init__(
        self, study: Study, limits: ServiceLimits, loop: asyncio.AbstractEventLoop, callers: int = 1
    ) -> None:
        self.study, self._limits, self._loop = study, limits, loop
        self._shared, self._working = callers > 1, callers
        self._asked: list[tuple[Work[Any], asyncio.Future[Any]]] = []
        self._done: list[CallOutcome] = []
        self._closing = False
        self._changed = threading.Condition()
        self._waiting = 0
        self._threads = [
            threading.Thread(target=work, name=f"infex {word} {study.name}", daemon=True)
            for work, word in (*[(self._work, "asks")] * callers, (self._acknowledge, "acknowledges"))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return self._waiting

    async def call(self, work: Work[Gives]) -> Gives:
        """What the work gives, once all that it rests on is on disk."""
        if self._waiting >= self._limits.waiting:
            raise Overloaded(f"{self._waiting} requests wait for the study {self.study.name!r}")
        future: asyncio.Future[Gives] = self._loop.create_future()
        with self._changed:
            if self._closing:
                raise StoreFailed(f"the study {self.study.name!r} was closed")
            self._asked.append((work, future))
            self._changed.notify_all()
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await future
        except TimeoutError:
            raise StoreFailed("not acknowledged in time: the same again is safe") from None
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Does what was asked, answers, and closes the study; not to be called by the loop's own thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self.study.close()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._asked) or self._closing)
                count = 1 if self._shared else len(self._asked)
                asked, self._asked = self._asked[:count], self._asked[count:]
                if not asked:
                    self._working -= 1
                    self._changed.notify_all()
                    return
            outcomes = [_outcome(work, self.study, future) for work, future in asked]
            with self._changed:
                self._done += outcomes
                self._changed.notify_all()

    def _acknowledge(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._done) or not self._working)
                done, self._done = self._done, []
                if not done:
                    return
            failed: BaseException | None = None
            try:
                if not self._shared:
                    self.study.flush()
            except Exception as error:  # whoever waits must hear of it
                failed = error
            self._loop.call_soon_threadsafe(_resolve, done, failed)


def _outcome(work: Work[Any], study: Study, future: asyncio.Future[Any]) -> CallOutcome:
    try:
        return CallOutcome(future, work(study), None)
    except Exception as error:  # it is raised where the answer is awaited
        return CallOutcome(future, None, error)


def _resolve(done: list[CallOutcome], failed: BaseException | None) -> None:
    """In the loop: gives everybody what came of their call, if they still wait for it."""
    for future, answer, error in done:
        if future.done():
            continue
        if error is not None or failed is not None:
            future.set_exception(error or failed or StoreFailed("not acknowledged"))
        else:
            future.set_result(answer)
