"""Whether the store of a service can be used: for /readyz, /metrics and the log."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from typing import final

from infex.errors import InfexError, StoreFailed
from infex.service.open_studies import OpenStudies
from infex.service.service_log import SERVICE_LOG
from infex.study.stores.base import studies

SECONDS_BETWEEN_CHECKS = 1.0
LONGEST_CHECK = 2.0  # seconds until a store that does not answer counts as failing
SECONDS_BETWEEN_LINES = 10.0  # of the log, while the store fails in the same way


@final
class StoreHealth:
    """Whether the store can be used, from failed requests (`failed`) and from checks (`is_up`).

    A failure makes the store count as down until a check succeeds. The first failure is logged at once, and
    so is one for another cause; while it lasts, there is a line every ten seconds, and one at its end.
    """

    def __init__(self, open_studies: OpenStudies, clock: Callable[[], float] = time.monotonic) -> None:
        self._studies, self._clock = open_studies, clock
        self._lock = threading.Lock()
        self._checking: asyncio.Task[None] | None = None
        self._checked = self._logged = -math.inf
        self._down_since: float | None = None
        self._cause, self._unlogged = "", 0
        self.failures = 0

    @property
    def up(self) -> bool:
        """Could the store be used last time?"""
        return self._down_since is None

    async def is_up(self) -> bool:
        """Can the store be used? It is checked at most once a second, and waited for two seconds at most."""
        checking = self._checking
        if checking is None and self._clock() - self._checked >= SECONDS_BETWEEN_CHECKS:
            checking = self._checking = asyncio.create_task(asyncio.to_thread(self._check))
            checking.add_done_callback(self._has_checked)
        if checking is not None:
            done, _ = await asyncio.wait({checking}, timeout=LONGEST_CHECK)
            if not done:
                self.failed(StoreFailed(f"no answer within {LONGEST_CHECK:g} s"))
        return self.up

    async def end(self) -> None:
        """Waits for a check that is under way, but not for long."""
        if self._checking is not None:
            await asyncio.wait({self._checking}, timeout=LONGEST_CHECK)

    def _has_checked(self, checking: asyncio.Task[None]) -> None:
        self._checking, self._checked = None, self._clock()
        if not checking.cancelled():
            checking.result()  # an error that is no failure of the store goes to the loop, which logs it

    def _check(self) -> None:
        """Reads the store by its address; after a failure, also writes what a failed commit has left."""
        failures = self.failures
        try:
            names = studies(self._studies.url)
            missing = [calls.study.name for calls in self._studies if calls.study.name not in names]
            if missing:
                raise StoreFailed(f"the database does not have the open study {missing[0]!r} any more")
            if not self.up:
                for calls in self._studies:
                    calls.study.flush()
        except InfexError as error:
            self.failed(error)
        else:
            self._worked(failures)

    def failed(self, error: InfexError) -> None:
        """Counts and logs a failure of the store."""
        cause = str(error)
        with self._lock:
            now = self._clock()
            self.failures += 1
            self._unlogged += 1
            if self._down_since is None:
                self._down_since = now
            elif cause == self._cause and now - self._logged < SECONDS_BETWEEN_LINES:
                return
            count, self._unlogged, self._logged, self._cause = self._unlogged, 0, now, cause
        SERVICE_LOG.error(
            "the database cannot be used (failures since the last line: %d): %s. Requests that need it get "
            "503; nothing acknowledged is lost. %s; the service then goes on by itself",
            count,
            cause,
            self._advice,
        )

    @property
    def _advice(self) -> str:
        if self._studies.shared:
            return "Bring PostgreSQL back, or make it reachable from here"
        return "Make room on the disk, and see that the database file is there and can be read and written"

    def _worked(self, failures: int) -> None:
        """The store could be used, and counts as up, unless there were more failures meanwhile."""
        with self._lock:
            if self.failures != failures:
                return
            since, self._down_since = self._down_since, None
        if since is not None:
            SERVICE_LOG.warning("the database can be used again, after %.0f s", self._clock() - since)
