"""The history of a study over days and hours, read from its journal: what the page shows, in little memory.

Totals are not here: `Study.metrics` has them, for the page and for Prometheus alike.
"""

from __future__ import annotations

import contextlib
import threading
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, final

import msgspec

from infex.errors import DamagedJournal, InfexError, NotReady
from infex.features.base import encoder_of
from infex.features.table import ContextTable
from infex.registry import from_record_quietly
from infex.service.segments import OTHER_ARMS, Segments
from infex.study.events import (
    ASSIGNED,
    DECISIONS,
    REWARDS,
    Amended,
    Assigned,
    Decided,
    EventKind,
    Forgotten,
    Opened,
    content_of,
    event_of,
)
from infex.study.journal import BEGINNING, Entry
from infex.study.lift import Lift, lift_of
from infex.study.settings import Rules
from infex.study.snapshot import without_erased
from infex.study.state import TrackedDecision
from infex.study.stores.base import Store, open_store, reading

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86_400, 7 * 86_400  # seconds
WIDTHS = ((WEEK, 8 * WEEK), (DAY, 4 * DAY), (HOUR, HOUR))  # of spans that ended so long ago
MONDAY = 4 * DAY  # the first one since 1970
MOST_MARKS, MOST_AMENDMENTS, MOST_RECENT = 600, 50, 1000
CONFIDENCE = 0.95
PAGE = 2000  # entries that are read at once
SKIPPED = ("owed", "dropped")  # statuses of a schedule where exploration was due and did not happen


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
    """A minute, an hour, a day or a week (UTC): its decisions, and what rewards came for them, whenever.

    `decisions` are all but those for units that are held out, of which there are sums apart. `at` is the time
    of the last decision, and `last` how many rounds there were by then.
    """

    begin: int
    end: int
    at: float = 0.0
    last: int = 0
    decisions: int = 0
    arms: dict[str, int] = {}
    explored: int = 0
    different: int = 0
    skipped: int = 0
    cost: float = 0.0
    rewards: int = 0
    reward: float = 0.0
    held: int = 0
    held_rewards: int = 0
    held_reward: float = 0.0

    def joined(self, other: Span) -> Span:
        """Both as one; the other comes after this one."""
        one, two = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        sums = {name: one[name] + two[name] for name in SUMS}
        latest = {name: max(one[name], two[name]) for name in ("end", "at", "last")}
        return Span(begin=self.begin, arms=dict(Counter(self.arms) + Counter(other.arms)), **latest, **sums)


SUMS = tuple(name for name in Span.__struct_fields__ if name not in ("begin", "end", "at", "last", "arms"))


class KnownDecision(NamedTuple):
    """A decision of the journal as far as rewards ask for it."""

    content: Decided | Assigned
    tracked: TrackedDecision
    arm: str
    values: list[tuple[str, str]]
    """The columns of its context, each with its value."""


@final
class History:
    """Reads a journal to its end, again and again, and keeps what the page shows of it.

    Decisions are summed by minutes, those of more than an hour ago by hours, of more than four days ago by
    days, and of more than eight weeks ago by weeks. The latest decisions and marks of exploration are kept
    one by one, without contexts. `read_on` reads what was appended since; a thread of its own calls it. When
    something is erased that was read before, all is read again without it.
    """

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name
        self._store: Store | None = None
        self._lock, self._reading, self._closed = threading.Lock(), threading.Lock(), False
        self._measuring = threading.Lock()
        self._erased: set[int] = set()  # entries
        self._begin()

    def _begin(self) -> None:
        self._end = BEGINNING
        self._spans: list[Span] = []
        self._hour = 0  # of the latest decision
        self._segments = Segments()
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
            page, known = self._page(most)
            with self._lock:
                for entry in page:
                    if self._forgets(entry):
                        self._begin()
                        return True
                    self._enter(entry, known)
            return len(page) == most

    def _page(self, most: int) -> tuple[list[Entry], dict[str, KnownDecision]]:
        """The next entries, and the decisions before them of which they tell rewards."""
        with self._opened() as store:
            page = list(store.read(self._name, self._end, most))
            keys = {entry.key for entry in page if entry.kind in REWARDS}
            keys -= {entry.key for entry in page if entry.kind in DECISIONS}
            known: dict[str, KnownDecision] = {}
            for entry in store.of_keys(self._name, keys) if keys else []:
                if entry.number > self._end.number or entry.content is None or entry.number in self._erased:
                    continue
                if entry.kind in DECISIONS:
                    known[entry.key] = self._known(entry)
                elif entry.key in known:
                    known[entry.key].tracked.apply(entry.number, event_of(entry))
            return page, known

    def _known(self, entry: Entry) -> KnownDecision:
        """A decision that waits for its reward."""
        event = event_of(entry)
        content = event.content
        assert isinstance(content, Decided | Assigned)
        arm = str(content.arm if content.label is None else content.label)
        values = self._segments.values(entry.number, msgspec.json.decode(content.request).get("context"))
        return KnownDecision(content, TrackedDecision.without_decision(entry.number, event), arm, values)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Store]:
        """The store, while it is read; after a failure it is opened anew next time."""
        self._store = self._store or open_store(self._url, reading=True)
        try:
            yield self._store
        except DamagedJournal:
            raise
        except InfexError:
            self._let_go()
            raise

    def close(self) -> None:
        """Lets go of the store, and reads no more."""
        self._closed = True
        with self._reading, self._measuring:
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

    def requests(self, most: int) -> list[bytes]:
        """What was asked for the latest decisions, at most so many, as the journal has it: with contexts."""
        with self._lock:
            keys = list(self._recent)[-most:]
        with self._reading:
            if self._closed or not keys:
                return []
            with self._opened() as store:
                entries = list(without_erased(store, self._name, store.of_keys(self._name, keys)))
        contents = (event_of(entry).content for entry in entries if entry.kind in DECISIONS)
        return [bytes(content.request) for content in contents if isinstance(content, Decided | Assigned)]

    def lift(self, rules: Rules, now: float) -> Lift:
        """What `Study.lift` gives for a study of these rules; NotReady if the history is closed meanwhile."""
        with self._measuring, contextlib.ExitStack() as ending:
            if self._closed:
                raise NotReady("the service is closing down")
            store = ending.enter_context(reading(self._url, self._name))
            entries = without_erased(store, self._name, store.read(self._name))
            return lift_of(self._until_closed(entries), rules, int(now * 1e6), CONFIDENCE)

    def _until_closed(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        for entry in entries:
            if self._closed:
                raise NotReady("the service is closing down")
            yield entry

    def per_minute(self, now: float) -> float:
        """Decisions a minute, without those held out: those of the last minute, or as many as are kept."""
        with self._lock:
            times = [each.at for each in self._recent.values() if now - 60.0 < each.at <= now]
        if len(times) < MOST_RECENT:
            return float(len(times))
        return 60.0 * len(times) / max(now - times[0], 1e-3)

    def plain(self) -> dict[str, Any]:
        """Spans, arms, segments, marks of exploration, what was skipped and why, and amendments."""
        with self._lock:
            return {
                "entries": self._end.number,
                "spans": msgspec.to_builtins(self._spans),
                "arms": {arm: sums.plain() for arm, sums in self._segments.arms.items()},
                "segments": self._segments.plain(),
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

    def _enter(self, entry: Entry, known: dict[str, KnownDecision]) -> None:
        self._end = entry.mark
        if entry.content is None or entry.number in self._erased:
            self._erased.add(entry.number)
        elif entry.kind in DECISIONS:
            known[entry.key] = self._known(entry)
            self._enter_decision(entry, known[entry.key])
        elif entry.kind in REWARDS:
            if entry.key in known:  # else its decision was erased
                self._enter_reward(entry, known[entry.key])
        elif entry.kind == EventKind.OPENED:
            self._enter_columns(entry.number, content_of(Opened, entry).settings["features"])
        elif entry.kind == EventKind.AMENDMENT:
            change = content_of(Amended, entry)
            if change.what == "extend":
                columns = (change.to.get(word) or {} for word in ("numbers", "categories"))
                self._segments.extend(entry.number, *columns)
            self._amendments.append(
                {"entry": entry.number, "at": entry.at / 1e6, "what": change.what, "reason": change.reason}
            )
            del self._amendments[:-MOST_AMENDMENTS]

    def _enter_columns(self, number: int, features: Any) -> None:
        """Contexts have columns if a table reads them, and not a user's code."""
        if features is not None and features["record"] is not None:
            encoder = encoder_of(from_record_quietly(features["record"]))
            if isinstance(encoder, ContextTable):
                self._segments.begin(number, encoder)

    def _enter_decision(self, entry: Entry, known: KnownDecision) -> None:
        content, arm, at = known.content, known.arm, entry.at / 1e6
        span = self._span(at)
        span.at, span.last = max(span.at, at), max(span.last, content.t)
        if known.tracked.kind is EventKind.HELD:
            span.held += 1
            return
        self._segments.add_decision(arm, known.values)
        name = arm if arm in self._segments.arms else OTHER_ARMS
        span.arms[name] = span.arms.get(name, 0) + 1
        span.decisions += 1
        if isinstance(content, Decided):
            explored, reason, turn = content.explored, content.reason, content.turn or ""
        else:  # a unit keeps its arm, or an apprentice looks on: it is no round
            explored, reason, turn = False, ASSIGNED[known.tracked.kind], ""
        greedy = content.arm if content.greedy is None else content.greedy
        different = explored and content.arm != greedy
        self._recent[entry.key] = RecentDecision(
            entry.key, content.t, arm, greedy, explored, different, reason, turn, content.estimate or 0.0,
            _finite(content.low), _finite(content.high), content.probability, at,
        )  # fmt: skip
        if len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)
        if not isinstance(content, Decided):
            return
        skipped = not explored and turn in SKIPPED
        span.explored += content.explored
        span.different += different
        span.skipped += skipped
        span.cost += content.loss if content.explored else 0.0
        if skipped:
            self._skipped[content.reason] += 1
        if content.explored or skipped:
            words = {"reason": content.reason, "explored": content.explored, "different": different}
            self._marks.append({"round": content.t, "at": at, "arm": arm, **words})
            del self._marks[:-MOST_MARKS]

    def _enter_reward(self, entry: Entry, known: KnownDecision) -> None:
        tracked, is_late = known.tracked, entry.kind == EventKind.LATE
        before = tracked.reward
        tracked.apply(entry.number, event_of(entry))
        if (shown := self._recent.get(entry.key)) is not None:
            shown.state, shown.reward = tracked.state.value, tracked.late if is_late else tracked.reward
        if tracked.reward is None or is_late:
            return
        span, is_first, more = self._span(tracked.at / 1e6), before is None, tracked.reward - (before or 0.0)
        if tracked.kind is EventKind.HELD:
            span.held_rewards += is_first
            span.held_reward += more
        else:
            span.rewards += is_first
            span.reward += more
            self._segments.add_reward(known.arm, known.values, is_first, more)

    def _span(self, at: float) -> Span:
        """The span of a time, made if there is none yet."""
        place = bisect_right(self._spans, at, key=lambda span: span.begin)
        if place and at < self._spans[place - 1].end:
            return self._spans[place - 1]
        hour = int(at // HOUR) * HOUR
        if hour > self._hour:
            self._hour, self._spans = hour, _joined(self._spans, hour)
        begin, end = _block(at, self._hour)
        span = Span(begin=begin, end=end)
        self._spans.insert(bisect_right(self._spans, begin, key=lambda each: each.begin), span)
        return span


def _block(at: float, hour: int) -> tuple[int, int]:
    """Beginning and end of the minute of a time; of its hour, day or week if that ended long before."""
    for width, kept in WIDTHS:
        begin = int((at - MONDAY) // width) * width + MONDAY
        if begin + width <= hour - kept:
            return begin, begin + width
    begin = int(at // MINUTE) * MINUTE
    return begin, begin + MINUTE


def _joined(spans: list[Span], hour: int) -> list[Span]:
    """The same with those joined that are in the same hour, day or week, and old enough."""
    found: list[Span] = []
    for span in spans:
        span.begin, span.end = _block(span.begin, hour)
        if found and found[-1].begin == span.begin:
            found[-1] = found[-1].joined(span)
        else:
            found.append(span)
    return found


def _finite(end: float | str) -> float | None:
    return end if isinstance(end, float) else None
