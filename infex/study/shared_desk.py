"""Work on a study that several processes share: by turns, each on the journal of all."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import final

from infex.checks import quick
from infex.errors import InfexError, StoreFailed
from infex.study.cases import Case, EntryKind
from infex.study.contents import Content, encoded
from infex.study.desk import Answer, Settled, is_time, kept_case
from infex.study.entries import Draft, Mark, linked
from infex.study.jobs import Job
from infex.study.opening import PAGE_ENTERED, replayed
from infex.study.rules import MICROSECONDS
from infex.study.standing import Standing
from infex.study.state_snapshots import snapshot_of
from infex.study.store import Snapshot, Store


@final
class SharedDesk:
    """That of a journal which several processes write.

    All work that waits is done in one turn: nobody else appends, the state takes in what others appended
    since, everything is decided on it, and all entries go into one transaction, in which the counter of the
    journal moves. So rounds have no gaps, explorations are those of the schedule, and limits hold over all
    processes together. If the transaction fails, nothing of it was acknowledged, and the state is built anew
    from the journal. Every answer waits for the disk, also with `durable=False`.
    """

    def __init__(
        self, store: Store, name: str, standing: Standing, mark: Mark, clock: Callable[[], float]
    ) -> None:
        self.store, self.name, self.standing = store, name, standing
        self._mark, self._clock = mark, clock
        self._drafts: list[Draft] = []
        self._closed: dict[str, Case] = {}
        self._lock = threading.RLock()  # of the state
        self._ahead = False  # has the state taken in what the journal may not have?
        self._settled = Settled(0, standing.number)
        self._snapshot_at = mark.number
        self._jobs: list[Job] = []
        self._called = threading.Condition()
        self._closing = False
        self._error: BaseException | None = None  # which ended the turns
        self._thread = threading.Thread(target=self._work, name=f"infex turns of {name}", daemon=True)
        self._thread.start()

    def now(self) -> int:
        return int(self._clock() * MICROSECONDS)

    def run(self, work: Callable[[], tuple[Answer, int]], durable: bool) -> Answer:
        job = Job(work)
        with self._called:
            self._refuse_closed()
            self._jobs.append(job)
            self._called.notify()
        job.wait()
        answer: Answer = job.answer
        return answer

    def _refuse_closed(self) -> None:
        if self._error is not None:
            raise StoreFailed(f"the study {self.name!r} takes no more turns, open it again: {self._error!r}")
        if self._closing:
            raise StoreFailed(f"the study {self.name!r} was closed")

    def look(self, work: Callable[[], Answer]) -> Answer:
        with self._lock:
            self._catch_up()
            return work()

    def write(self, kind: EntryKind, key: str, unit: str, at: int, content: Content) -> int:
        self._drafts.append(quick(Draft, (kind._value_, key, unit, at, encoded(content))))
        self._ahead = True
        return self._mark.number + len(self._drafts)

    def settle(self) -> None:
        self._settled = quick(Settled, (len(self._drafts), self.standing.number))

    def find(self, key: str) -> Case | None:
        case = self.standing.cases.get(key) or self._closed.get(key)
        if case is None and key in self.standing.keys:
            case = kept_case(self.store, self.name, key)
        return case

    def close_case(self, key: str, case: Case) -> None:
        self._closed[key] = case

    def replace(self, standing: Standing) -> None:
        self.standing = standing

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        with self._lock, self.store.turn(self.name):
            self._catch_up()
            try:
                yield
                self.flush()
            except BaseException:
                self._drafts.clear()
                self._ahead = True  # the state may have what the journal has not: it is built anew
                raise
            finally:
                self._closed.clear()

    def flush(self) -> None:
        """Appends what was written in this turn; between turns there is nothing that waits."""
        with self._lock:  # somebody else's turn may last: what it has written is its own to append
            if self._drafts:
                entries = linked(self._drafts, self._mark)
                self.store.append(self.name, entries)
                self._mark = entries[-1].mark
                self._drafts.clear()
                self._ahead = False

    def when_flushed(self, call: Callable[[StoreFailed | None], None]) -> None:
        try:
            self.flush()
        except StoreFailed as error:
            call(error)
        else:
            call(None)

    def keep_snapshot(self) -> None:
        with contextlib.suppress(InfexError), self._lock:
            self._snapshot_at = self._mark.number
            if not self._ahead:
                self.store.keep(self.name, Snapshot(self._mark, snapshot_of(self.standing)))

    def close(self) -> None:
        with self._called:
            self._closing = True
            self._called.notify()
        self._thread.join()
        self.keep_snapshot()

    def _catch_up(self) -> None:
        """Takes in what others have appended."""
        if self._ahead:
            self._renew()
        entries = self.store.read(self.name, self._mark)
        while page := list(islice(entries, PAGE_ENTERED)):
            if any(entry.kind == EntryKind.FORGOTTEN for entry in page):
                self._renew()  # what was learnt from it is to go
                return
            self._ahead = True  # until all of the page is entered
            for entry in page:
                self.standing.enter(entry)
            self._mark, self._ahead = page[-1].mark, False

    def _renew(self) -> None:
        self.standing, self._mark = replayed(self.store, self.name, self.standing.given)
        self._closed.clear()  # cases as they would be, had what is dropped been told
        self._ahead = False

    def _work(self) -> None:
        """Takes turns until it is closed; if anything ends it, all who wait or come are told."""
        try:
            while self._takes_turn():
                pass
        except BaseException as error:
            with self._called:
                self._error, jobs = error, self._jobs
            _tell_all(jobs, error)

    def _takes_turn(self) -> bool:
        """Does all that waits in one turn; False if there is nothing more to be done."""
        with self._called:
            self._called.wait_for(lambda: bool(self._jobs) or self._closing)
            if not self._jobs:
                return False
        jobs: list[Job] = []
        try:
            self._turn(jobs)
        except BaseException as error:  # whatever it is, those who wait must hear of it
            jobs = jobs or self._come()
            _say(jobs, error)
            if not isinstance(error, Exception):
                raise
        finally:
            for job in jobs:
                job.end()
        if is_time(self._mark.number, self._snapshot_at, len(self.standing.cases)):
            self.keep_snapshot()
        return True

    def _turn(self, jobs: list[Job]) -> None:
        """Does all that waits once it is this process's turn: also what came while others had theirs."""
        with self.holding():
            jobs += self._come()
            for job in jobs:
                self._do(job)

    def _come(self) -> list[Job]:
        """The jobs that have come; others will have to wait for another turn."""
        with self._called:
            jobs, self._jobs = self._jobs, []
        return jobs

    def _do(self, job: Job) -> None:
        """One piece of work; what is refused is that one's own, and nothing of it stays."""
        self.settle()
        job.do()
        if job.error is not None:
            del self._drafts[self._settled.drafts :]
            if job.broke_off or self.standing.number != self._settled.number:
                self.flush()  # what was done before
                self._renew()


def _say(jobs: list[Job], error: BaseException) -> None:
    """Tells all who do not know better that nothing was acknowledged."""
    for job in jobs:
        if job.error is None:
            job.error = StoreFailed(f"not acknowledged: {error}")
            job.error.__cause__ = error


def _tell_all(jobs: list[Job], error: BaseException) -> None:
    """The same, of jobs that nobody will do."""
    _say(jobs, error)
    for job in jobs:
        job.end()
