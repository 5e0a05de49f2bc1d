"""Drafts on their way to the store: many threads wait for one commit."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple, final

from infex.errors import JournalMoved, StoreFailed
from infex.study.entries import Draft, Entry, Mark, linked
from infex.study.store import Store

MOST_UNWRITTEN = 100_000  # drafts; with more, nothing new is taken before the disk obeys again


class Ticket(NamedTuple):
    """Which draft it was, and how often the store had failed before."""

    number: int
    failures: int


@final
class Writer:
    """Writes drafts in the order in which they are added, all that wait in one commit.

    `add` gives a ticket, and `wait` returns when that draft is on disk. If the store fails, those who wait
    are told (StoreFailed), and what they added is tried again with the next: it is never left out, so that
    what was decided since stays true.
    """

    def __init__(self, store: Store, name: str, mark: Mark) -> None:
        self._store, self._name, self._mark = store, name, mark
        self._waiting: list[Draft] = []
        self._begun: list[Entry] = []  # of a commit that failed, or is under way
        self._added = self._failed = self._written = 0  # the last of each
        self._failures, self._doubtful, self._error = 0, False, Exception("")
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name=f"infex writer of {name}", daemon=True)
        self._thread.start()

    @property
    def mark(self) -> Mark:
        """The place behind the last entry that is on disk."""
        with self._changed:
            return self._mark

    def add(self, draft: Draft) -> Ticket:
        """Takes a draft, behind those before; its ticket."""
        with self._changed:
            if self._closing:
                raise StoreFailed(f"the study {self._name!r} was closed")
            if self._added - self._written >= MOST_UNWRITTEN:
                raise StoreFailed(f"{MOST_UNWRITTEN} entries wait for the disk: {self._error}")
            self._waiting.append(draft)
            self._added += 1
            self._changed.notify_all()
            return Ticket(self._added, self._failures)

    def wait(self, ticket: Ticket) -> None:
        """Returns when what has this ticket is on disk."""

        def is_decided() -> bool:
            failed = self._failures > ticket.failures and self._failed >= ticket.number
            return self._written >= ticket.number or failed

        with self._changed:
            self._changed.wait_for(is_decided)
            if self._written < ticket.number:
                raise StoreFailed(f"not acknowledged: {self._error}") from self._error

    def close(self) -> None:
        """Writes what is left, and ends; StoreFailed if it cannot be written."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._written < self._added:
            raise StoreFailed(f"{self._added - self._written} entries were not written: {self._error}")

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._closing)
                if not self._waiting and not self._begun:
                    return
                drafts, self._waiting = self._waiting, []
            if not self._commit(drafts):
                return

    def _commit(self, drafts: Sequence[Draft]) -> bool:
        """Tries to write what failed before, and these; False if it is no use to go on."""
        last = self._begun[-1].mark if self._begun else self._mark
        self._begun += linked(drafts, last)
        try:
            self._append()
        except Exception as error:  # whatever it is, those who wait must hear of it
            with self._changed:
                self._doubtful, self._failures, self._error = True, self._failures + 1, error
                self._failed = self._written + len(self._begun)
                self._changed.notify_all()
                return not self._closing
        with self._changed:
            self._doubtful, self._written = False, self._written + len(self._begun)
            self._mark, self._begun = self._begun[-1].mark, []
            self._changed.notify_all()
        return True

    def _append(self) -> None:
        """Appends what was begun, but for what is there: a commit that failed may have come through."""
        there = self._store.end(self._name) if self._doubtful else self._mark
        came = [entry for entry in self._begun if entry.number <= there.number]
        if came and came[-1].mark != there:
            raise JournalMoved(f"somebody else has appended to the journal of {self._name!r}")
        self._store.append(self._name, self._begun[len(came) :])
