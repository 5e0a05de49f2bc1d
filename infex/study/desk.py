"""Where work on a study is done: one at a time in memory, in the order of the journal, then to the disk."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar, final

from infex.checks import quick
from infex.errors import DamagedJournal, InfexError, StoreFailed
from infex.study.cases import Case, EntryKind, case_of
from infex.study.contents import Content, encoded
from infex.study.entries import Draft, Mark
from infex.study.jobs import Counter, Job
from infex.study.opening import replayed
from infex.study.rules import MICROSECONDS
from infex.study.standing import Standing
from infex.study.state_snapshots import snapshot_of
from infex.study.store import Snapshot, Store
from infex.study.writer import Ticket, Writer

Answer = TypeVar("Answer")
Keyed = tuple[str, str]
"""A key, and the unit that it is about."""
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

    def settle(self) -> None:
        """What was written so far stays, also if the work that goes on is refused."""

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

    def when_flushed(self, call: Callable[[StoreFailed | None], None]) -> None:
        """Calls when all that was added is on disk, or with why it is not; no matter which thread."""

    def keep_snapshot(self) -> None:
        """Keeps the state for a quick start; if that fails, the next start takes longer."""

    def close(self) -> None:
        """Writes what is left, keeps the state, and ends; StoreFailed if something could not be written."""


def is_time(number: int, last: int, pending: int) -> bool:
    """Is it time for another snapshot? The longer a journal is, the more entries go between two.

    A decision that is pending takes two thirds of the time to read from a snapshot that entering it again
    takes, and to write it takes as long as to decide: so most entries since the last are of no such decision.
    """
    return number - last >= max(ENTRIES_BETWEEN_SNAPSHOTS, number // 10, 2 * pending)


def kept_case(store: Store, name: str, key: str) -> Case:
    """The case of a key that has a decision, from its entries."""
    case = case_of(key, store.of_key(name, key))
    if case is None:
        raise DamagedJournal(f"there is a decision {key!r}, and the store does not find it: verify the study")
    return case


class Settled(NamedTuple):
    """What stays if a piece of work is refused: so many drafts, and a state after this entry."""

    drafts: int
    number: int


@final
class LocalDesk:
    """That of a journal which this process alone writes.

    `run` does a piece of work, and returns what it gives once the entries it rests on are on disk. Whoever
    works does the work of all who came since. Entries go to the disk in their order, so that nothing is
    acknowledged before what it rests on. If the disk fails, whoever waits is told, and what was decided stays
    decided: it goes to the disk with the next entries, or when it is asked for again, or never, if the
    process ends before. Work that breaks off leaves nothing behind: the state is built anew from the journal.
    """

    def __init__(
        self, store: Store, name: str, standing: Standing, mark: Mark, clock: Callable[[], float]
    ) -> None:
        self.store, self.name, self.standing = store, name, standing
        self._clock = clock
        self._counter = Counter(self._do_all)
        self._closed: dict[str, Case] = {}
        self._writer = Writer(store, name, mark)
        self._drafts: list[Draft] = []  # which the writer does not have yet
        self._settled = Settled(0, standing.number)
        self._ahead = False  # has the state taken in what the journal will not have?
        self._snapshot_at = mark.number
        self.snapshots_failed = 0

    def now(self) -> int:
        return int(self._clock() * MICROSECONDS)

    def run(self, work: Callable[[], tuple[Answer, int]], durable: bool) -> Answer:
        job = Job(work, durable)
        self._counter.bring(job)
        job.wait()
        if durable:
            self._writer.refuse_unwritten(job.number)
        if is_time(self.standing.number, self._snapshot_at, len(self.standing.cases)):
            self.keep_snapshot()
        answer: Answer = job.answer
        return answer

    def _do_all(self, jobs: list[Job]) -> None:
        """Does pieces of work one after the other; who waits for the disk is called when it has them all."""
        interrupted: BaseException | None = None
        for job in jobs:
            try:
                self._do(job)
            except BaseException as error:  # such as Ctrl-C, which is not for whoever wants this done
                interrupted, job.error = error, StoreFailed("broken off: the same call again is safe")
                self._drop(broke_off=True)
            if job.error is not None or not job.durable:
                job.end()
        self._hand_over_or_say([job for job in jobs if job.durable and job.error is None])
        if interrupted is not None:
            raise interrupted

    def _do(self, job: Job) -> None:
        """One piece of work: if it is refused, nothing of it stays."""
        try:
            self._renew_if_ahead()
            self._writer.refuse_more()
        except StoreFailed as error:
            job.error = error
            return
        self.settle()
        job.do()
        if job.error is not None:
            self._drop(job.broke_off)

    def settle(self) -> None:
        self._settled = quick(Settled, (len(self._drafts), self.standing.number))

    def _drop(self, broke_off: bool) -> None:
        """What was written since the last settling is not; if the state has it, that is built anew."""
        del self._drafts[self._settled.drafts :]
        self._ahead = self._ahead or broke_off or self.standing.number != self._settled.number

    def _renew_if_ahead(self) -> None:
        if self._ahead:
            self.flush()
            self.replace(replayed(self.store, self.name, self.standing.given)[0])
            self._ahead = False

    def _hand_over_or_say(self, jobs: list[Job]) -> None:
        """Gives the writer all drafts; if it takes none any more, those who wait are told."""
        try:
            self._hand_over(jobs)
        except StoreFailed as error:
            for job in jobs:
                job.error = error
                job.end()

    def _hand_over(self, jobs: list[Job]) -> None:
        """Gives the writer all drafts, in one piece; those of `jobs` are called when theirs are on disk."""
        before = self._writer.added
        new = [job.end for job in jobs if job.number > before]
        if self._drafts or new:
            self._writer.add(self._drafts, new)
            self._drafts = []
        for job in jobs:
            if job.number <= before:
                self._writer.call(self._writer.again(job.number), job.end)

    def look(self, work: Callable[[], Answer]) -> Answer:
        with self._counter.held():
            self._renew_if_ahead()
            return work()

    def write(self, kind: EntryKind, key: str, unit: str, at: int, content: Content) -> int:
        self._drafts.append(quick(Draft, (kind._value_, key, unit, at, encoded(content))))
        return self._writer.added + len(self._drafts)

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
        return self._counter.held()

    def replace(self, standing: Standing) -> None:
        self.standing = standing
        self._closed.clear()

    def flush(self) -> None:
        self._writer.wait(self._last_ticket())

    def when_flushed(self, call: Callable[[StoreFailed | None], None]) -> None:
        try:
            ticket = self._last_ticket()
        except StoreFailed as error:
            call(error)
        else:
            self._writer.call(ticket, lambda: call(self._writer.failure_of(ticket.number)))

    def _last_ticket(self) -> Ticket:
        with self._counter.held():
            self._hand_over([])
            return self._writer.again(self._writer.added)

    def keep_snapshot(self) -> None:
        try:
            with self._counter.held():
                self._snapshot_at = self.standing.number
                self._renew_if_ahead()
                self.flush()
                kept = Snapshot(self._writer.mark, snapshot_of(self.standing))
            self.store.keep(self.name, kept)
        except InfexError:
            self.snapshots_failed += 1

    def close(self) -> None:
        with self._counter.held():
            failed: StoreFailed | None = None
            try:
                self.flush()
            except StoreFailed as error:
                failed = error
            if failed is None and self._writer.mark.number == self.standing.number:
                self.keep_snapshot()
            self._writer.close()
