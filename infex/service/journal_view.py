"""What a journal tells of its past, in little room: for the page, read from the journal alone."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from typing import Any, final

import msgspec

from infex.errors import DamagedJournal, InfexError
from infex.service.kept_pasts import MOST_BYTES, KeptPast, PastTable, packed, unpacked
from infex.service.past_sums import PastSums, SeenDecision
from infex.study.events import Decided, EventKind, Forgotten, Rewarded, content_of
from infex.study.journal import BEGINNING, Entry, Mark
from infex.study.stores.base import Store, open_store

LATEST_KEPT = 1000
DECISIONS_BETWEEN_KEPT = 2 * LATEST_KEPT
PAGE_OF_HISTORY = 2000
DECISION_KIND, REWARD_KIND = EventKind.DECISION.value, EventKind.REWARD.value
AMENDMENT_KIND, FORGOTTEN_KIND = EventKind.AMENDMENT.value, EventKind.FORGOTTEN.value
STATE_OF_ENTRY = {
    REWARD_KIND: "rewarded",
    EventKind.DEFAULTED.value: "defaulted",
    EventKind.LATE.value: "late",
    EventKind.CORRECTION.value: "corrected",
}


@final
class JournalView:
    """Reads a journal to its end, again and again, and keeps what the page shows of it.

    Rounds are summed (`PastSums`); the latest decisions are kept one by one. `catch_up` reads what was
    appended since; a thread of its own calls it. When something is erased that was read before, all is read
    again without it. With a table, the sums are kept there, and the next view goes on from them.
    """

    def __init__(self, url: str, name: str, table: PastTable | None = None) -> None:
        self.url, self.name, self._table = url, name, table
        self._store: Store | None = None
        self._lock, self._reading, self._closed = threading.Lock(), threading.Lock(), False
        self._erased: set[int] = set()
        self._sought = table is None  # were sums looked for that were kept?
        self._begin()

    def _begin(self) -> None:
        self._mark, self._sums = BEGINNING, PastSums()
        self._latest: OrderedDict[str, SeenDecision] = OrderedDict()
        self._unkept, self._to_keep = 0, b""  # decisions since the sums were packed, and these

    @property
    def entries(self) -> int:
        """How many entries were read."""
        return self._mark.number

    def catch_up(self, most: int = PAGE_OF_HISTORY) -> bool:
        """Reads up to so many entries; False when there are no more. The lock is held for short times."""
        with self._reading:
            if self._closed:
                return False
            page = self._page(most)
            if not self._entered(page):
                self._put(b"")
                return True
            self._keep()
            return len(page) == most

    def _page(self, most: int) -> list[Entry]:
        store = self._store = self._store or open_store(self.url, reading=True)
        try:
            self._go_on_from_kept(store)
            return list(store.read(self.name, self._mark, most))
        except DamagedJournal:
            raise
        except InfexError:
            self._let_go()  # it is opened anew next time
            raise

    def _entered(self, page: list[Entry]) -> bool:
        """Enters a page; False if something was erased, so that all is to be read again."""
        with self._lock:
            for entry in page:
                if self._forgets(entry):
                    self._begin()
                    return False
                self._enter(entry)
        return True

    def _forgets(self, entry: Entry) -> bool:
        """Does an entry tell of something erased that is in the sums?"""
        if entry.kind != FORGOTTEN_KIND or entry.content is None:
            return False
        told = content_of(Forgotten, entry)
        new = {residue.number for residue in told.residues} - self._erased
        self._erased |= new
        return bool(new)

    def _go_on_from_kept(self, store: Store) -> None:
        """Takes over sums that were kept, if they are of this journal; what came after them is read."""
        if self._sought or self._table is None:
            return
        self._sought = True
        found = _found(self._table, self.name)
        if found is not None and _is_of(found, store, self.name):
            with self._lock:
                self._mark, self._sums = found.mark, found.sums

    def _keep(self) -> None:
        """Packs the sums now and then, and keeps those packed before: `latest` needs what came since."""
        if self._unkept >= DECISIONS_BETWEEN_KEPT and not self._sums.tells_of_single_rounds:
            if 0 < len(self._to_keep) <= MOST_BYTES:
                self._put(self._to_keep)
            self._unkept, self._to_keep = 0, packed(self._mark, self._sums)

    def _put(self, content: bytes) -> None:
        """Keeps packed sums; if that fails, the next start takes longer."""
        if self._table is not None:
            with contextlib.suppress(InfexError):
                self._table.put(self.name, content)

    def close(self) -> None:
        """Lets go of the store, and reads no more."""
        with self._reading:
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            with contextlib.suppress(InfexError):
                store.close()

    def latest(self, **wanted: Any) -> list[SeenDecision]:
        """The latest decisions, the newest first, of which all wanted fields are so."""
        with self._lock:
            seen = list(reversed(self._latest.values()))
        return [each for each in seen if _is_so(each, wanted)]

    def per_minute(self, now: float) -> float:
        """Rounds a minute, by the latest ones: those of the last minute, or as many as are kept."""
        with self._lock:
            recent = [each.at for each in self._latest.values() if now - 60.0 < each.at <= now]
            kept_all = len(recent) < LATEST_KEPT
        if kept_all or not recent:
            return float(len(recent))
        return 60.0 * len(recent) / max(now - recent[0], 1e-3)

    def past(self) -> dict[str, Any]:
        """Stretches, marks of exploration, what was skipped and why, and amendments; plain data."""
        with self._lock:
            return {"entries": self._mark.number, **self._sums.plain()}

    def _enter(self, entry: Entry) -> None:
        number, kind, key, _, at, content, _, _, link = entry
        self._mark = Mark(number, link)
        if content is None or number in self._erased:
            self._erased.add(number)
        elif kind == DECISION_KIND:
            self._decided(key, at, content_of(Decided, entry))
        elif kind in STATE_OF_ENTRY:
            self._told(entry, content_of(Rewarded, entry))
        elif kind == AMENDMENT_KIND:
            said: dict[str, Any] = msgspec.json.decode(content)
            words = {"what": said.get("what"), "reason": said.get("reason")}
            self._sums.add_amendment({"entry": number, "at": at / 1e6, **words})

    def _decided(self, key: str, at: int, content: Decided) -> None:
        self._latest[key] = seen = _seen(key, at, content)
        if len(self._latest) > LATEST_KEPT:
            self._latest.popitem(last=False)
        self._sums.add_decision(seen, content.loss)
        self._unkept += 1

    def _told(self, entry: Entry, content: Rewarded) -> None:
        seen = self._latest.get(entry.key)
        if seen is not None:
            seen.state, seen.reward = STATE_OF_ENTRY[entry.kind], content.reward
        if content.reward is not None and entry.kind == REWARD_KIND:
            self._sums.add_reward(content.reward)


def _found(table: PastTable, name: str) -> KeptPast | None:
    """What is kept and can be used; a table that cannot be read keeps nothing."""
    with contextlib.suppress(InfexError):
        return unpacked(table.find(name) or b"")
    return None


def _is_of(kept: KeptPast, store: Store, name: str) -> bool:
    """Does a journal go on where the sums end? Another one may have been put in its place."""
    end = store.end(name)
    if kept.number >= end.number:
        return kept.mark == end
    try:
        return bool(list(store.read(name, kept.mark, 1)))
    except DamagedJournal:
        return False


def _seen(key: str, at: int, content: Decided) -> SeenDecision:
    c = content
    arm = str(c.arm if c.label is None else c.label)
    ends = _number(c.low), _number(c.high)
    different = c.explored and c.arm != c.greedy
    kept = different, c.reason, c.turn or "", c.estimate, *ends, c.probability
    return SeenDecision(key, c.t, arm, c.greedy, c.explored, *kept, at / 1e6)


def _is_so(seen: SeenDecision, wanted: dict[str, Any]) -> bool:
    fields = msgspec.structs.asdict(seen)
    return all(value is None or fields[name] == value for name, value in wanted.items())


def _number(end: float | str) -> float | None:
    return end if type(end) is float else None
