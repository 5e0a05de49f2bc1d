"""The history of a study over its rounds, read from its journal: what the page draws, in little memory.

Totals are not here: `Study.metrics` has them, for the page and for Prometheus alike.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, OrderedDict
from typing import Any, final

import msgspec

from infex.errors import DamagedJournal, InfexError
from infex.study.events import Amended, Decided, EventKind, Forgotten, Rewarded, content_of
from infex.study.journal import BEGINNING, Entry, Mark
from infex.study.stores.base import Store, open_store

MOST_SPANS, MOST_MARKS, MOST_AMENDMENTS, MOST_RECENT = 120, 600, 50, 1000
PAGE = 2000  # entries that are read at once
SKIPPED = ("owed", "dropped")  # statuses of a schedule where exploration was due and did not happen
STATE_AFTER = {
    EventKind.REWARD.value: "rewarded",
    EventKind.DEFAULTED.value: "defaulted",
    EventKind.LATE.value: "late",
    EventKind.CORRECTION.value: "corrected",
}


class RecentDecision(msgspec.Struct, gc=False):
    """One of the latest decisions, without its context."""

    key: str
    round: int
    arm: str
    greedy: int
    explored: bool
    different: bool
    reason: str
    turn: str
    estimate: float
    low: float | None
    high: float | None
    probability: float | None
    at: float
    state: str = "pending"
    reward: float | None = None


class Span(msgspec.Struct, kw_only=True):
    """Rounds that follow each other: what was decided in them, and what rewards came meanwhile."""

    first: int
    last: int
    begun: float
    ended: float
    arms: dict[str, int] = {}
    explored: int = 0
    different: int = 0
    skipped: int = 0
    cost: float = 0.0
    rewards: int = 0
    reward: float = 0.0

    def joined(self, other: Span) -> Span:
        """Both as one; the other comes after this one."""
        sums = ("explored", "different", "skipped", "cost", "rewards", "reward")
        one, two = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        arms = dict(Counter(self.arms) + Counter(other.arms))
        last = {"last": other.last, "ended": other.ended}
        return Span(**(one | last | {"arms": arms} | {name: one[name] + two[name] for name in sums}))


@final
class History:
    """Reads a journal to its end, again and again, and keeps what the page shows of it.

    Rounds are summed in at most 120 spans of equal width; when there are more, neighbours become one. The
    latest decisions and marks of exploration are kept one by one. `read_on` reads what was appended since; a
    thread of its own calls it. When something is erased that was read before, all is read again without it.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name
        self._store: Store | None = None
        self._lock, self._reading, self._closed = threading.Lock(), threading.Lock(), False
        self._erased: set[int] = set()  # entries
        self._begin()

    def _begin(self) -> None:
        self._end, self._width = BEGINNING, 1
        self._spans: list[Span] = []
        self._marks: list[dict[str, Any]] = []  # rounds in which exploration was due or happened
        self._skipped: Counter[str] = Counter()  # by reason
        self._amendments: list[dict[str, Any]] = []
        self._recent: OrderedDict[str, RecentDecision] = OrderedDict()

    @property
    def entries(self) -> int:
        """How many entries were read."""
        return self._end.number

    def read_on(self, most: int = PAGE) -> bool:
        """Reads up to so many entries; False when there are no more. What is shown waits for a short time."""
        with self._reading:
            if self._closed:
                return False
            page = self._page(most)
            with self._lock:
                for entry in page:
                    if self._forgets(entry):
                        self._begin()
                        return True
                    self._enter(entry)
            return len(page) == most

    def _page(self, most: int) -> list[Entry]:
        self._store = self._store or open_store(self._url, reading=True)
        try:
            return list(self._store.read(self._name, self._end, most))
        except DamagedJournal:
            raise
        except InfexError:
            self._let_go()  # it is opened anew next time
            raise

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

    def recent(self, **wanted: Any) -> list[RecentDecision]:
        """The latest decisions, the newest first, whose fields are as wanted; None is any value."""
        with self._lock:
            found = list(reversed(self._recent.values()))
        fields = {name: value for name, value in wanted.items() if value is not None}
        return [each for each in found if fields.items() <= msgspec.structs.asdict(each).items()]

    def per_minute(self, now: float) -> float:
        """Rounds a minute, by the latest ones: those of the last minute, or as many as are kept."""
        with self._lock:
            times = [each.at for each in self._recent.values() if now - 60.0 < each.at <= now]
        if len(times) < MOST_RECENT:
            return float(len(times))
        return 60.0 * len(times) / max(now - times[0], 1e-3)

    def plain(self) -> dict[str, Any]:
        """Spans, marks of exploration, what was skipped and why, and amendments, as plain data."""
        with self._lock:
            return {
                "entries": self._end.number,
                "stretches": msgspec.to_builtins(self._spans),
                "marks": list(self._marks),
                "skipped": dict(self._skipped),
                "amendments": list(self._amendments),
            }

    def _forgets(self, entry: Entry) -> bool:
        """Does an entry tell of something erased that was read before?"""
        if entry.kind != EventKind.FORGOTTEN or entry.content is None:
            return False
        content = content_of(Forgotten, entry)
        new = {residue.number for residue in content.residues} - self._erased
        self._erased |= new
        return bool(new)

    def _enter(self, entry: Entry) -> None:
        self._end = Mark(entry.number, entry.link)
        if entry.content is None or entry.number in self._erased:
            self._erased.add(entry.number)
        elif entry.kind == EventKind.DECISION:
            self._enter_decision(entry, content_of(Decided, entry))
        elif entry.kind in STATE_AFTER:
            self._enter_reward(entry, content_of(Rewarded, entry))
        elif entry.kind == EventKind.AMENDMENT:
            change = content_of(Amended, entry)
            self._amendments.append(
                {"entry": entry.number, "at": entry.at / 1e6, "what": change.what, "reason": change.reason}
            )
            del self._amendments[:-MOST_AMENDMENTS]

    def _enter_decision(self, entry: Entry, content: Decided) -> None:
        arm, at = str(content.arm if content.label is None else content.label), entry.at / 1e6
        different = content.explored and content.arm != content.greedy
        skipped = not content.explored and content.turn in SKIPPED
        self._recent[entry.key] = RecentDecision(
            entry.key, content.t, arm, content.greedy, content.explored, different, content.reason,
            content.turn or "", content.estimate, _finite(content.low), _finite(content.high),
            content.probability, at,
        )  # fmt: skip
        if len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)
        span = self._span(content.t, at)
        span.arms[arm] = span.arms.get(arm, 0) + 1
        span.explored += content.explored
        span.different += different
        span.skipped += skipped
        span.cost += content.loss if content.explored else 0.0
        if skipped:
            self._skipped[content.reason] += 1
        if content.explored or skipped:
            known = {"reason": content.reason, "explored": content.explored, "different": different}
            self._marks.append({"round": content.t, "at": at, "arm": arm, **known})
            del self._marks[:-MOST_MARKS]

    def _enter_reward(self, entry: Entry, content: Rewarded) -> None:
        known = self._recent.get(entry.key)
        if known is not None:
            known.state, known.reward = STATE_AFTER[entry.kind], content.reward
        if content.reward is not None and entry.kind == EventKind.REWARD and self._spans:
            self._spans[-1].rewards += 1
            self._spans[-1].reward += content.reward

    def _span(self, t: int, at: float) -> Span:
        """The span of a round, made if there is none yet."""
        if len(self._spans) == MOST_SPANS and t - self._spans[-1].first >= self._width:
            pairs = zip(self._spans[::2], self._spans[1::2], strict=True)
            self._spans, self._width = [one.joined(other) for one, other in pairs], 2 * self._width
        if not self._spans or t - self._spans[-1].first >= self._width:
            self._spans.append(Span(first=t, last=t, begun=at, ended=at))
        span = self._spans[-1]
        span.last, span.ended = t, at
        return span


def _finite(end: float | str) -> float | None:
    return end if isinstance(end, float) else None
