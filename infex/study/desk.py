"""Where work on a study is done: one at a time in memory, in the order of the journal, then to the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar, final

from infex.errors import DamagedJournal, InfexError, StoreFailed
from infex.study.cases import Case, EntryKind, case_of
from infex.study.contents import Content, encoded
from infex.study.entries import Draft, Mark
from infex.study.rules import MICROSECONDS
from infex.study.standing import Standing
from infex.study.state_snapshots import snapshot_of
from infex.study.store import Snapshot, Store
from infex.study.writer import Ticket, Writer

Answer = TypeVar("Answer")
CLOSED_KEPT = 4096  # cases that were closed last, which are likely to be asked for again
ENTRIES_BETWEEN_SNAPSHOTS = 50_000


class Desk(Protocol):
    """Holds the state of a study, and does work on it, one piece at a time, in the order of the journal."""

    store: Store
    name: str
    standing: Standing

    def now(self) -> int:
        """The time, in microseconds since 1970."""

    def run(self, work: Callable[[], tuple[Answer, int]], durable: bool) -> Answer:
        """Does the work, which gives an answer and the entry that it rests on, and waits for the disk."""

    def look(self, work: Callable[[], Answer]) -> Answer:
        """What reading the state gives; nothing changes."""

    def write(self, kind: EntryKind, key: str, unit: str, at: int, content: Content) -> int:
        """Adds an entry; its number."""

    def find(self, key: str) -> Case | None:
        """The case of a key, open or closed."""

    def close_case(self, key: str, case: Case) -> None:
        """Remembers a case that was closed, until it is on disk."""

    def holding(self) -> AbstractContextManager[object]:
        """While it lasts, nobody else changes the state."""

    def replace(self, standing: Standing) -> None:
        """Goes on from another state of the same journal."""

    def flush(self) -> None:
        """Returns when all that was added is on disk."""

    def keep_snapshot(self) -> None:
        """Keeps the state for a quick start; if that fails, the next start takes longer."""

    def close(self) -> None:
        """Writes what is left, keeps the state, and ends; StoreFailed if something could not be written."""


def is_time(number: int, last: int) -> bool:
    """Is it time for another snapshot? The longer a journal is, the more entries go between two."""
    return number - last >= max(ENTRIES_BETWEEN_SNAPSHOTS, number // 10)


def kept_case(store: Store, name: str, key: str) -> Case:
    """The case of a key that has a decision, from its entries."""
    case = case_of(key, store.of_key(name, key))
    if case is None:
        raise DamagedJournal(f"there is a decision {key!r}, and the store does not find it: verify the study")
    return case


@final
class LocalDesk:
    """That of a journal which this process alone writes.

    `run` does a piece of work under the lock, and returns what it gives once the entries it rests on are on
    disk. Entries go to the disk in their order, so that nothing is acknowledged before what it rests on. If
    the disk fails, whoever waits is told, and what was decided stays decided: it goes to the disk with the
    next entries, or when it is asked for again, or never, if the process ends before.
    """

    def __init__(
        self, store: Store, name: str, standing: Standing, mark: Mark, clock: Callable[[], float]
    ) -> None:
        self.store, self.name, self.standing = store, name, standing
        self._clock = clock
        self._lock = threading.RLock()
        self._closed: dict[str, Case] = {}
        self._writer = Writer(store, name, mark)
        self._ticket = Ticket(0, None)  # the last
        self._snapshot_at = mark.number
        self.snapshots_failed = 0

    def now(self) -> int:
        return int(self._clock() * MICROSECONDS)

    def run(self, work: Callable[[], tuple[Answer, int]], durable: bool) -> Answer:
        writer = self._writer
        with self._lock:
            writer.refuse_more()
            answer, number = work()
            ticket = self._ticket if self._is_new(number) else writer.again(number)
        if durable:
            writer.wait(ticket)
        if is_time(self.standing.number, self._snapshot_at):
            self.keep_snapshot()
        return answer

    def _is_new(self, number: int) -> bool:
        """Is this the last entry, and its batch still on its way?"""
        last, batch = self._ticket
        return number == last and batch is not None and not batch.done.is_set()

    def look(self, work: Callable[[], Answer]) -> Answer:
        with self._lock:
            return work()

    def write(self, kind: EntryKind, key: str, unit: str, at: int, content: Content) -> int:
        self._ticket = self._writer.add(Draft(kind.value, key, unit, at, encoded(content)))
        return self._ticket.number

    def find(self, key: str) -> Case | None:
        case = self.standing.cases.get(key) or self._closed.get(key)
        if case is None and key in self.standing.keys:
            case = kept_case(self.store, self.name, key)
        return case

    def close_case(self, key: str, case: Case) -> None:
        closed = self._closed
        closed.pop(key, None)
        closed[key] = case
        if len(closed) > 2 * CLOSED_KEPT:
            written = self._writer.mark.number
            for old in list(closed)[:CLOSED_KEPT]:
                if closed[old].number <= written:
                    del closed[old]

    def holding(self) -> AbstractContextManager[object]:
        return self._lock

    def replace(self, standing: Standing) -> None:
        self.standing = standing
        self._closed.clear()

    def flush(self) -> None:
        with self._lock:
            ticket = self._writer.again(self.standing.number)
        self._writer.wait(ticket)

    def keep_snapshot(self) -> None:
        try:
            with self._lock:
                self._snapshot_at = self.standing.number
                self.flush()
                kept = Snapshot(self._writer.mark, snapshot_of(self.standing))
            self.store.keep(self.name, kept)
        except InfexError:
            self.snapshots_failed += 1

    def close(self) -> None:
        with self._lock:
            failed: StoreFailed | None = None
            try:
                self.flush()
            except StoreFailed as error:
                failed = error
            if failed is None and self._writer.mark.number == self.standing.number:
                self.keep_snapshot()
            self._writer.close()
