"""Does commands one at a time, in the order of the journal, and brings their events to the disk in groups."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar, final

from infex.errors import DamagedJournal, InfexError, JournalMoved, StoreFailed
from infex.study.commands import Command, Flush, apply_defaults
from infex.study.events import (
    CONTENT_VERSION,
    FORGOTTEN_KEY,
    MICROSECONDS,
    Event,
    EventKind,
    Forgotten,
    residues_of,
)
from infex.study.journal import Entry, Mark, linked
from infex.study.snapshot import (
    apply_entry,
    erased_entries,
    finish_erasing,
    is_snapshot_due,
    keep_snapshot,
    load_state,
    replay,
)
from infex.study.state import StudyState
from infex.study.stores.base import Store

Answer = TypeVar("Answer")
REFUSALS = (InfexError, TypeError, ValueError)
"""What a command is refused with, before it has changed anything."""
MOST_UNWRITTEN = 100_000  # entries; with more, nothing new happens before the disk obeys again


class Job(NamedTuple):
    """A command, whether its answer waits for the disk, and who waits for the answer."""

    command: Command[Any]
    durable: bool
    future: Future[Any]


class Group(NamedTuple):
    """Entries that go to the disk together, behind a mark, and who waits for them with which answers."""

    entries: list[Entry]
    after: Mark
    waiting: list[tuple[Future[Any], Any]]


@final
class Executor:
    """Holds the state of a study, does commands on it, and appends their events to the journal.

    A command is done in two steps. It is run on the state, which gives events that are applied at once; then
    one worker thread appends all events that have come together, in one commit, and everybody whose answer
    rests on them is answered. Entries go to the disk in their order, so nothing is acknowledged before what
    it rests on.

    Where this process alone may append (SQLite), a command runs in the thread that brings it, while the
    worker writes the events of those before. Where others may (a store that is `shared`), it waits in a
    queue, and the worker runs all that wait inside a transaction of the store, after it has applied what
    others have appended.

    If an append fails, those who wait are told (StoreFailed), and the events stay: they are appended with the
    next ones, or were appended after all. If somebody else's entries have taken their place, they are
    dropped. A command that breaks off half-way leaves nothing behind: the state is built anew from the
    journal.
    """

    def __init__(
        self, store: Store, name: str, state: StudyState, mark: Mark, clock: Callable[[], float]
    ) -> None:
        self.store, self.name, self._clock = store, name, clock
        self._state = state
        self._mark = mark  # behind the last entry that is known to be on disk
        self._unwritten: list[Entry] = []  # which the state has, and the disk may not
        self._waiting: list[tuple[Future[Any], Any]] = []  # for the disk, with their answers
        self._lock = threading.RLock()  # of all above
        self._running = False  # is a command being run?
        self._stale = False  # has the state taken in what the journal will not have?
        self._writing = False  # is an append under way?
        self._doubtful = False  # did the last append fail, which may have come through?
        self._error: BaseException = Exception("")  # of that append, or which ended the worker
        self._snapshot_at = next((place.mark.number for place in store.places(name)), 0)
        self._snapshot_size = 0  # bytes of the last one that was kept here
        self._queue: deque[Job] = deque()
        self._wake = threading.Condition()  # of the worker, and of those below
        self._requested = self._closing = self._ended = False
        self._worker = threading.Thread(target=self._work, name=f"infex study {name}", daemon=True)
        self._worker.start()

    def now(self) -> int:
        """The time, in microseconds since 1970."""
        return int(self._clock() * MICROSECONDS)

    @property
    def state(self) -> StudyState:
        """The state as it is, without what others may have appended."""
        return self._state

    def submit(self, command: Command[Answer], durable: bool = True) -> Future[Answer]:
        """Has a command done; with `durable` the answer comes when all that it rests on is on disk."""
        job = Job(command, durable or self.store.shared, Future())
        job.future.set_running_or_notify_cancel()  # it can no longer be cancelled
        if self.store.shared:
            self._request(job)
        else:
            with self._lock:
                self._refuse_ended()
                self._refuse_nested(self._running)  # whoever gets the lock meanwhile is who runs a command
                self._execute([job])
                if self._unwritten:
                    self._request()
        return job.future

    def _request(self, job: Job | None = None) -> None:
        """Wakes the worker: there is something to write, or a command to be run."""
        self._refuse_nested(threading.current_thread() is self._worker)
        with self._wake:
            self._refuse_ended()
            if job is not None:
                self._queue.append(job)
            self._requested = True
            self._wake.notify()

    def _refuse_nested(self, is_nested: bool) -> None:
        if is_nested:
            raise StoreFailed("work on a study cannot wait for other work on the same study")

    def run(self, command: Command[Answer], durable: bool = True) -> Answer:
        """What a command answers."""
        return self.submit(command, durable).result()

    def read(self, look: Callable[[StudyState], Answer]) -> Answer:
        """What a look at the state gives; nothing changes."""
        with self._lock:
            self._refresh(self.store.shared)
            return look(self._state)

    def flush(self) -> None:
        """Returns when all that was done is on disk."""
        self.run(Flush())

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """While it lasts, nobody else changes state or journal, and each has all of the other."""
        with self.store.transaction(self.name), self._lock:
            self._refresh(self.store.shared or self._doubtful)
            self._write()
            try:
                yield
            except BaseException:
                if self._unwritten:
                    self._unwritten.clear()
                    self._stale = True
                raise

    def _write(self) -> None:
        """Appends all events, inside `_exclusive`."""
        self._append(self._next_group())
        if self._unwritten:
            raise _not_acknowledged(self._error)

    def forget(self, unit: str, reason: str) -> int:
        """Erases the entries of a unit, and puts a state in place that never learnt from them; how many.

        The new state is built while the study goes on, from the last snapshot before the first of these
        entries, and leaves snapshots on its way in the place of those that have learnt from them; it is held
        to catch up with what came since. The event that says what was erased is written first: if erasing
        fails behind it, the state has forgotten the unit, and the contents go with the next snapshot, or when
        the study is opened again.
        """
        store, name, given = self.store, self.name, self._state.given
        with self._exclusive():
            finish_erasing(store, name)  # or snapshots that are laid down would say that it is done
            known, end = erased_entries(store, name).residues, store.end(name)
            entries = store.of_unit(name, unit)
        residues = residues_of(entries)
        if not residues:
            return 0
        left, built = known | residues, None
        with contextlib.suppress(DamagedJournal):  # if others erase something meanwhile
            built = load_state(
                store, name, given, residues=left, before=end.number + 1, with_keys=False, keep_snapshots=True
            )
        with self._exclusive():
            residues = residues_of(store.of_unit(name, unit))
            if not residues:  # another instance was quicker
                return 0
            now = erased_entries(store, name).residues | residues
            if built is None or now.keys() != left.keys():  # more was asked, told or erased since
                built = load_state(store, name, given, residues=now, with_keys=False)
            state, mark = built
            replay(state, store, mark)
            content = Forgotten(v=CONTENT_VERSION, residues=list(residues.values()), reason=reason)
            event = Event(EventKind.FORGOTTEN, FORGOTTEN_KEY, "", self.now(), content)
            entries = linked([event.draft()], self._mark)
            state.keys = self._state.keys
            state.apply(event)
            self._state, self._unwritten, self._stale = state, entries, False
            self._write()
            finish_erasing(store, name)
        self._keep_snapshot()
        return len(residues)

    def _keep_snapshot(self) -> None:
        """Keeps the state for a quick start; if that fails, the next start takes longer.

        What is left to be erased is erased first: with a snapshot, nobody would look for it any more. Nobody
        erases anything before the snapshot is kept: it would hold what was erased.
        """
        self._snapshot_at = self._mark.number
        with contextlib.suppress(InfexError), self._exclusive():
            finish_erasing(self.store, self.name)
            self._snapshot_size = keep_snapshot(self.store, self._state, self._mark)

    def close(self) -> None:
        """Writes what is left, keeps the state, and ends; StoreFailed if something could not be written."""
        with self._lock, self._wake:
            self._closing = self._requested = True
            self._wake.notify()
        self._worker.join()
        if self._unwritten:
            raise StoreFailed(f"{len(self._unwritten)} entries were not written: {self._error}")
        self._keep_snapshot()

    # Running commands, under the lock

    def _refuse_ended(self) -> None:
        if self._ended and not self._closing:
            raise StoreFailed(f"the study {self.name!r} writes no more, open it again: {self._error!r}")
        if self._closing:
            raise StoreFailed(f"the study {self.name!r} was closed")

    def _execute(self, jobs: Sequence[Job]) -> None:
        """Runs commands one after the other; each is answered, or waits for the disk."""
        for place, job in enumerate(jobs):
            try:
                self._refresh(False)
                if place == 0:
                    self._state.look_up(key for each in jobs for key in each.command.keys)
                answer, number = self._run(job.command)
            except Exception as error:
                job.future.set_exception(error)
            except BaseException as error:
                for each in jobs[place:]:
                    each.future.set_exception(_not_acknowledged(error))
                raise
            else:
                if job.durable and number > self._mark.number:
                    self._waiting.append((job.future, answer))
                else:
                    job.future.set_result(answer)

    def _run(self, command: Command[Answer]) -> tuple[Answer, int]:
        """Runs one command; if it is refused, nothing of it stays."""
        kept, number, now = len(self._unwritten), self._state.number, self.now()
        self._running = True
        try:
            if command.keys:  # which may be of a decision whose time has passed
                apply_defaults(self._state, now, self._record)
                kept, number = len(self._unwritten), self._state.number  # that stays
            return command.run(self._state, now, self._record)
        except BaseException as error:
            del self._unwritten[kept:]
            if self._state.number != number or not isinstance(error, REFUSALS):
                self._stale = True
            raise
        finally:
            self._running = False

    def _record(self, event: Event) -> None:
        """Applies an event, and has it written; if it cannot be written, nothing has changed yet."""
        if len(self._unwritten) >= MOST_UNWRITTEN:
            raise StoreFailed(f"{MOST_UNWRITTEN} entries wait for the disk: {self._error}")
        after = self._unwritten[-1].mark if self._unwritten else self._mark
        entries = linked([event.draft()], after)
        self._state.apply(event)
        self._unwritten += entries

    def _refresh(self, catch_up: bool) -> None:
        """Builds a stale state anew, and applies what others have appended."""
        if not self._writing and (catch_up or (self._stale and self._doubtful)):
            self._catch_up()
        if self._stale:
            self._state, mark = load_state(self.store, self.name, self._state.given)
            for entry in self._unwritten:
                if entry.number > self._state.number:
                    apply_entry(self._state, entry)
            self._mark = self._mark if self._unwritten else mark
            self._stale = False

    def _catch_up(self) -> None:
        """Applies entries that the state does not have, and finds those of ours that came through."""
        if self._doubtful:
            self.store.end(self.name)  # a store that has failed recovers first
        for entry in self.store.read(self.name, self._mark):
            if self._unwritten and entry == self._unwritten[0]:
                del self._unwritten[0]  # it came through
            elif self._unwritten and not self.store.shared:
                raise JournalMoved(f"somebody else has appended to the journal of {self.name!r}")
            elif self._unwritten or entry.kind == EventKind.FORGOTTEN or entry.is_erased or self._stale:
                self._unwritten.clear()  # others came first, and nothing of it was acknowledged
                self._stale = True  # and what was learnt from erased entries is to go
                break
            else:
                self._stale = True  # if the entry cannot be applied
                apply_entry(self._state, entry)
                self._stale = False
            self._mark = entry.mark
        self._state.forget_closed(self._mark.number)
        self._doubtful = False

    # The worker

    def _work(self) -> None:
        try:
            is_last = False
            while not is_last:
                with self._wake:
                    self._wake.wait_for(lambda: self._requested)
                    self._requested, is_last = False, self._closing
                self._cycle()
        except BaseException as error:
            self._error = error
        finally:
            with self._wake:
                self._ended = True
            self._fail(self._error)

    def _cycle(self) -> None:
        """Runs all that waits in the queue, and appends all events in one commit."""
        try:
            with self.store.transaction(self.name):
                with self._lock:
                    self._refresh(self.store.shared or self._doubtful)
                    self._execute([self._queue.popleft() for _ in range(len(self._queue))])
                    group = self._next_group()
                self._append(group)
        except Exception as error:  # whatever it is, those who wait must hear of it
            self._error = error
            self._fail(error)
            return
        last, size = self._snapshot_at, self._snapshot_size
        is_due = is_snapshot_due(self._mark.number, last, len(self._state.open), size)
        if is_due and not self._doubtful:
            self._keep_snapshot()

    def _next_group(self) -> Group:
        """Under the lock: all that is to be written now."""
        group = Group(list(self._unwritten), self._mark, self._waiting)
        self._waiting, self._writing = [], True
        return group

    def _append(self, group: Group) -> None:
        """Appends entries, and answers those who wait for them."""
        error: BaseException | None = None
        try:
            if group.entries:
                self.store.append(self.name, group.entries, group.after)
        except BaseException as failure:
            error = failure
        with self._lock:
            self._writing = False
            if error is not None:
                self._error, self._doubtful = error, True
            elif group.entries:
                del self._unwritten[: len(group.entries)]
                self._mark = group.entries[-1].mark
                self._state.forget_closed(self._mark.number)
        for future, answer in group.waiting:
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(_not_acknowledged(error))
        if error is not None and not isinstance(error, Exception):
            raise error

    def _fail(self, error: BaseException) -> None:
        """Tells all who wait that nothing was acknowledged."""
        with self._lock:
            futures = [future for future, _ in self._waiting] + [job.future for job in self._queue]
            self._waiting.clear()
            self._queue.clear()
        for future in futures:
            future.set_exception(_not_acknowledged(error))


def _not_acknowledged(error: BaseException) -> StoreFailed:
    failed = StoreFailed(f"not acknowledged: {error}; it may be done all the same")
    failed.__cause__ = error
    return failed
