"""Drafts on their way to the store: many threads wait for one commit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, final

from infex.checks import quick
from infex.errors import JournalMoved, StoreFailed
from infex.study.entries import Draft, Entry, Mark, linked
from infex.study.store import Store

WRITER_LOG = logging.getLogger("infex.study")
MOST_UNWRITTEN = 100_000  # drafts; with more, nothing new is taken before the disk obeys again


@final
class Batch:
    """Drafts that go to the disk together, `is_done` when they are there, or could not be brought there.

    `calls` are made then, of all who wait.
    """

    __slots__ = ("calls", "drafts", "is_done", "last")

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self.calls: list[Callable[[], None]] = []
        self.is_done = False
        self.last = 0  # the number of the last entry in it, once it is under way


class Ticket(NamedTuple):
    """The number of an entry, and the batch whose end tells whether it is on disk."""

    number: int
    batch: Batch | None


@final
class Writer:
    """Writes drafts in the order in which they are added, all that wait in one commit.

    `add` gives a ticket, and `wait` returns when these drafts are on disk: all of them go in one commit. If
    the store fails, those who wait are told (StoreFailed), and what they added is tried again with the next:
    it is never left out, so that what was decided since stays true.
    """

    def __init__(self, store: Store, name: str, mark: Mark) -> None:
        self._store, self._name, self._mark = store, name, mark
        self._begun: list[Entry] = []  # of a commit that failed, or is under way
        self._taken: list[Draft] = []  # behind these, which are no entries yet
        self._added = self._written = mark.number  # the last of each
        self._failures, self._doubtful = 0, False
        self._error: BaseException = Exception("")
        self._next, self._current, self._retries = Batch(), Batch(), False
        self._closing = self._broke_off = False
        self._lock = threading.Lock()
        self._called = threading.Condition(self._lock)  # there is something to write, or nothing any more
        self._thread = threading.Thread(target=self._work, name=f"infex writer of {name}", daemon=True)
        self._thread.start()

    @property
    def mark(self) -> Mark:
        """The place behind the last entry that is on disk."""
        with self._lock:
            return self._mark

    def refuse_more(self) -> None:
        """Raises StoreFailed if nothing should be added now."""
        self._refuse_closed()
        if self._added - self._written >= MOST_UNWRITTEN:
            raise StoreFailed(f"{MOST_UNWRITTEN} entries wait for the disk: {self._error}")

    def _refuse_closed(self) -> None:
        if self._broke_off:
            raise StoreFailed(f"the study {self._name!r} writes no more, open it again: {self._error!r}")
        if self._closing:
            raise StoreFailed(f"the study {self._name!r} was closed")

    @property
    def added(self) -> int:
        """The number of the last draft that was added."""
        return self._added

    def add(self, drafts: Sequence[Draft], calls: Sequence[Callable[[], None]] = ()) -> Ticket:
        """Takes drafts, behind those before, and what to call after their commit; the ticket of the last."""
        with self._lock:
            self._refuse_closed()
            if drafts and not self._next.drafts:
                self._called.notify()
            self._next.drafts.extend(drafts)
            self._next.calls.extend(calls)
            self._added += len(drafts)
            return quick(Ticket, (self._added, self._next))

    def again(self, number: int) -> Ticket:
        """Another ticket for an entry that was added before; if its commit failed, it is tried again."""
        with self._lock:
            if number <= self._written:
                return Ticket(number, None)
            if number <= self._current.last and not self._current.is_done:
                return Ticket(number, self._current)
            self._retries = True
            self._called.notify()
            return Ticket(number, self._next)

    def call(self, ticket: Ticket, done: Callable[[], None]) -> None:
        """Calls `done` once the commit of this ticket has come to its end, well or not."""
        batch = ticket.batch
        with self._lock:
            if batch is not None and not batch.is_done:
                batch.calls.append(done)
                return
        done()

    def refuse_unwritten(self, number: int) -> None:
        """Raises StoreFailed unless this entry is on disk."""
        failed = self.failure_of(number)
        if failed is not None:
            raise failed

    def failure_of(self, number: int) -> StoreFailed | None:
        """Why this entry is not on disk; None if it is."""
        if self._written >= number:
            return None
        failed = StoreFailed(f"not acknowledged: {self._error}")
        failed.__cause__ = self._error
        return failed

    def wait(self, ticket: Ticket) -> None:
        """Returns when what has this ticket is on disk."""
        turnstile = threading.Lock()
        turnstile.acquire()
        self.call(ticket, turnstile.release)
        turnstile.acquire()
        self.refuse_unwritten(ticket.number)

    def _finish(self, batch: Batch) -> None:
        """Tells all who wait for a batch that its commit has come to an end."""
        with self._lock:
            batch.is_done = True
        for call in batch.calls:
            try:
                call()
            except Exception:  # whose call it was is not known, and all others wait for theirs
                WRITER_LOG.exception("what was to be called after a commit of %r has failed", self._name)

    def close(self) -> None:
        """Writes what is left, and ends; StoreFailed if it cannot be written."""
        with self._lock:
            self._closing = True
            self._called.notify()
        self._thread.join()
        if self._written < self._added:
            raise StoreFailed(f"{self._added - self._written} entries were not written: {self._error}")

    def _work(self) -> None:
        """Writes until it is closed; if anything ends it, all who wait or come are told."""
        try:
            while self._goes_on():
                pass
        except BaseException as error:
            with self._lock:
                self._broke_off, self._error = True, error
            if not self._current.is_done:
                self._finish(self._current)
        self._finish(self._next)

    def _goes_on(self) -> bool:
        """Writes all that waits in one commit; False if there is nothing more to be done."""
        with self._lock:
            self._called.wait_for(lambda: bool(self._next.drafts) or self._retries or self._closing)
            if self._closing and not (self._next.drafts or self._begun or self._taken):
                return False
            batch, self._next, self._retries = self._next, Batch(), False
            self._current, batch.last = batch, self._added
            self._taken += batch.drafts
        goes_on = self._commit()
        self._finish(batch)
        return goes_on

    def _commit(self) -> bool:
        """Tries to write what failed before, and what was taken since; False if it is no use to go on."""
        try:
            self._link()
            if self._begun:
                self._append()
        except Exception as error:  # whatever it is, those who wait must hear of it
            with self._lock:
                self._doubtful, self._failures, self._error = True, self._failures + 1, error
                return not self._closing
        with self._lock:
            self._doubtful = False
            if self._begun:
                self._mark, self._begun = self._begun[-1].mark, []
                self._written = self._mark.number
        return True

    def _link(self) -> None:
        """Makes entries of the drafts that were taken."""
        last = self._begun[-1].mark if self._begun else self._mark
        entries = self._begun + linked(self._taken, last)
        with self._lock:
            self._begun, self._taken = entries, []

    def _append(self) -> None:
        """Appends what was begun, but for what is there: a commit that failed may have come through."""
        there = self._store.end(self._name) if self._doubtful else self._mark
        came = [entry for entry in self._begun if entry.number <= there.number]
        if came and came[-1].mark != there:
            raise JournalMoved(f"somebody else has appended to the journal of {self._name!r}")
        self._store.append(self._name, self._begun[len(came) :])
