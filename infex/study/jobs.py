"""Work that many threads want done, by one of them at a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from infex.errors import InfexError, StoreFailed

REFUSED_WITH = (InfexError, TypeError, ValueError)
"""What work is refused with, before it has changed anything."""


@final
class Job:
    """A piece of work that somebody waits for, and what came of it.

    `work` gives an answer and the entry that it rests on. With `durable` its caller waits for the disk too.
    """

    __slots__ = ("_turnstile", "answer", "durable", "error", "number", "work")

    def __init__(self, work: Callable[[], tuple[Any, int]], durable: bool = True) -> None:
        self.work, self.durable = work, durable
        self.answer: Any = None
        self.number = 0
        self.error: BaseException | None = None
        self._turnstile = threading.Lock()  # of its own: who wakes up finds nobody in the way
        self._turnstile.acquire()

    @property
    def broke_off(self) -> bool:
        """Did it end by an error that no refusal is, and that may have come anywhere?"""
        return self.error is not None and not isinstance(self.error, REFUSED_WITH)

    def do(self) -> None:
        """Does the work; an error is kept for its caller."""
        try:
            self.answer, self.number = self.work()
        except Exception as error:
            self.error = error

    def end(self) -> None:
        """Lets its caller go on; to be called once."""
        self._turnstile.release()

    def wait(self) -> None:
        """Returns when it has ended; raises what it was refused with."""
        self._turnstile.acquire()
        if self.error is not None:
            raise self.error


@final
class Counter:
    """A counter that one is served at, after the other: whoever stands there serves all who have come since.

    So threads that come at once need not wake up one by one only to find it taken again.
    """

    def __init__(self, serve: Callable[[list[Job]], None]) -> None:
        self._serve = serve
        self._lock = threading.RLock()
        self._owner = 0  # the thread that has the lock
        self._jobs: deque[Job] = deque()

    def bring(self, job: Job) -> None:
        """Has a job done: now, or by whoever stands there, before that one leaves."""
        if self._owner == threading.get_ident():
            raise StoreFailed("work on a study cannot wait for other work on the same study")
        self._jobs.append(job)
        self._attend()

    @contextmanager
    def held(self) -> Iterator[None]:
        """While it lasts, nobody is served."""
        try:
            with self._lock:
                outer, self._owner = self._owner, threading.get_ident()
                try:
                    yield
                finally:
                    self._owner = outer
        finally:
            self._attend()

    def _attend(self) -> None:
        """Serves all who wait. Who finds it taken may leave: the other looks again after it has let go."""
        while self._jobs and self._owner != threading.get_ident() and self._lock.acquire(blocking=False):
            self._owner = threading.get_ident()
            try:
                self._serve([self._jobs.popleft() for _ in range(len(self._jobs))])
            finally:
                self._owner = 0
                self._lock.release()
