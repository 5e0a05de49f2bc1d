"""Calls of one study from an event loop: none blocks it, and all that wait together share a commit.

One thread does what was asked, in the order in which it came, without waiting for the disk. Whoever writes
says when it is there; then the whole group is answered. So while one group is written the next is decided. A
study that several processes share waits for the disk by itself, and groups what many threads ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, final

from infex.errors import NotReady, Overloaded, StoreFailed
from infex.service.schemas import ServiceLimits
from infex.study.study import Study

T = TypeVar("T")
Work = Callable[[Study], T]
THREADS_OF_SHARED = 32  # what they ask at once goes into one transaction


class Call(NamedTuple):
    """Work that was asked for, and the future that is to have its result."""

    work: Work[Any]
    future: asyncio.Future[Any]


class Outcome(NamedTuple):
    """What came of a call: a result, or the error that it raised."""

    future: asyncio.Future[Any]
    result: Any
    error: BaseException | None


@final
class StudyQueue:
    """A study that an event loop can call; `call` returns when what was done is on disk.

    At most `limits.waiting` calls wait at once: more are refused (Overloaded). Of a `shared` study, many
    threads call, and what they return is on disk.
    """

    def __init__(
        self, study: Study, limits: ServiceLimits, loop: asyncio.AbstractEventLoop, shared: bool
    ) -> None:
        self.study, self.waiting = study, 0
        self._limits, self._loop, self._shared, self._closing = limits, loop, shared, False
        self._arrived: list[Call] = []  # in this turn of the loop
        self._groups: queue.SimpleQueue[list[Call]] = queue.SimpleQueue()  # an empty one ends a thread
        self._threads = [
            threading.Thread(target=self._work, name=f"infex asks {study.name}", daemon=True)
            for _ in range(THREADS_OF_SHARED if shared else 1)
        ]
        for thread in self._threads:
            thread.start()

    async def call(self, work: Work[T]) -> T:
        """What the work gives, once all that it rests on is on disk."""
        if self.waiting >= self._limits.waiting:
            raise Overloaded(f"{self.waiting} requests wait for the study {self.study.name!r}")
        if self._closing:
            raise NotReady(f"the study {self.study.name!r} was closed")
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._arrived:
            self._loop.call_soon(self._hand_over)  # once for all that arrive in this turn of the loop
        self._arrived.append(Call(work, future))
        self.waiting += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await future
        except TimeoutError:
            raise StoreFailed("not acknowledged in time; it may be done all the same") from None
        finally:
            self.waiting -= 1

    async def close(self) -> None:
        """Does what was asked, answers, and closes the study."""
        self._closing = True
        self._hand_over()
        for _ in self._threads:
            self._groups.put([])
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        for thread in self._threads:
            thread.join()
        self.study.close()

    def _hand_over(self) -> None:
        """In the loop: hands what has arrived to the threads."""
        arrived, self._arrived = self._arrived, []
        for group in [[call] for call in arrived] if self._shared else [arrived]:
            if group:
                self._groups.put(group)

    def _work(self) -> None:
        """In a thread: does group after group."""
        while group := self._groups.get():
            outcomes = [self._outcome(call) for call in group]
            if self._shared:
                self._answer(outcomes, None)
                continue
            try:
                self.study.when_flushed(lambda failed, done=outcomes: self._answer(done, failed))  # type: ignore[misc]
            except Exception as error:  # whoever waits must hear of it
                self._answer(outcomes, error)

    def _outcome(self, call: Call) -> Outcome:
        try:
            return Outcome(call.future, call.work(self.study), None)
        except Exception as error:  # it is raised where the answer is awaited
            return Outcome(call.future, None, error)

    def _answer(self, outcomes: list[Outcome], failed: BaseException | None) -> None:
        """In any thread; where the loop has ended, nobody waits."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_resolve, outcomes, failed)


def _resolve(outcomes: list[Outcome], failed: BaseException | None) -> None:
    """In the loop: gives everybody what came of their call, if they still wait for it."""
    for future, result, error in outcomes:
        if future.done():
            continue
        if error is not None or failed is not None:
            future.set_exception(error or failed or StoreFailed("not acknowledged"))
        else:
            future.set_result(result)
