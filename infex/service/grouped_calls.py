"""Calls of one study from an event loop: none blocks it, and all that wait together share a commit.

One thread does what was asked, in the order in which it came, without waiting for the disk. Whoever writes
says when it is there; then the whole group is answered. So while one group is written the next is decided. A
study that several processes share waits for the disk by itself, and groups what many threads ask.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, final

from infex.errors import InfexError, NotReady, Overloaded, StoreFailed
from infex.service.service_limits import ServiceLimits
from infex.study.study import Study

Gives = TypeVar("Gives")
Work = Callable[[Study], Gives]
PendingCall = tuple[Work[Any], asyncio.Future[Any]]
CALLS_AT_ONCE = (
    64  # calls before those that are done may be written: a group is decided while another is written
)


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
        self._shared = callers > 1
        self._came: list[PendingCall] = []  # in this turn of the loop
        self._asked: deque[PendingCall] = deque()
        self._unanswered: deque[tuple[float, list[PendingCall]]] = deque()  # by turns, the oldest first
        self._timer: asyncio.TimerHandle | None = None
        self._closing, self._waiting = False, 0
        self._lock = threading.Lock()
        self._is_asked = threading.Condition(self._lock)
        self._threads = [
            threading.Thread(target=self._work, name=f"infex asks {study.name}", daemon=True)
            for _ in range(callers)
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
        if self._closing:
            raise NotReady(f"the study {self.study.name!r} was closed")
        future: asyncio.Future[Gives] = self._loop.create_future()
        if not self._came:
            self._loop.call_soon(self._hand_over)
        self._came.append((work, future))
        self._waiting += 1
        try:
            return await future
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Does what was asked, answers, and closes the study; not to be called by the loop's own thread."""
        with self._lock:
            self._closing = True
            self._is_asked.notify_all()
        for thread in self._threads:
            thread.join()
        self.study.close()

    def _hand_over(self) -> None:
        """In the loop: all that came in one turn of it wake the other thread once."""
        came, self._came = self._came, []
        self._limit_time(came)
        with self._lock:
            if not self._closing:
                self._asked += came
                self._is_asked.notify(len(came) if self._shared else 1)
                return
        _refuse(came, NotReady(f"the study {self.study.name!r} was closed"))

    def _limit_time(self, came: list[PendingCall]) -> None:
        """One timer is for all that wait: they end in the order in which they came, or nearly so."""
        waits = self._unanswered
        while waits and all(future.done() for _, future in waits[0][1]):
            waits.popleft()
        waits.append((self._loop.time() + self._limits.seconds, came))
        if self._timer is None:
            self._timer = self._loop.call_later(self._limits.seconds, self._give_up)

    def _give_up(self) -> None:
        """In the loop: tells those who have waited too long."""
        waits, self._timer = self._unanswered, None
        while waits and waits[0][0] <= self._loop.time():
            _refuse(waits.popleft()[1], StoreFailed("not acknowledged in time: the same again is safe"))
        if waits:
            self._timer = self._loop.call_at(waits[0][0], self._give_up)

    def _work(self) -> None:
        while asked := self._next():
            outcomes = [_outcome(work, self.study, future) for work, future in asked]
            if self._shared:
                self._answer(outcomes, None)
            else:
                self._answer_on_disk(outcomes)

    def _next(self) -> list[PendingCall]:
        """What a thread is to do now; nothing when all is done and the study closes."""
        with self._lock:
            while not self._asked and not self._closing:
                self._is_asked.wait()
            most = 1 if self._shared else CALLS_AT_ONCE
            return [self._asked.popleft() for _ in range(min(len(self._asked), most))]

    def _answer_on_disk(self, outcomes: list[CallOutcome]) -> None:
        try:
            self.study.when_flushed(lambda failed: self._answer(outcomes, failed))
        except Exception as error:  # whoever waits must hear of it
            self._answer(outcomes, error)

    def _answer(self, outcomes: list[CallOutcome], failed: BaseException | None) -> None:
        """In any thread; where the loop has ended, nobody waits."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(_resolve, outcomes, failed)


def _refuse(calls: list[PendingCall], why: InfexError) -> None:
    for _, future in calls:
        if not future.done():
            future.set_exception(why)


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
