"""What a journal tells of its past, in little room: for the page, read from the journal alone."""

from __future__ import annotations

import contextlib
import math
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from typing import Any, final

import msgspec

from infex.errors import DamagedJournal, InfexError
from infex.study.addresses import opened_store
from infex.study.cases import EntryKind
from infex.study.contents import DecisionContent, ForgottenContent, RewardContent, content_of
from infex.study.entries import BEGINNING, Entry
from infex.study.store import Store

LATEST_KEPT = 1000
MOST_STRETCHES = 120
MOST_MARKS = 600
PAGE_OF_HISTORY = 2000
SECONDS_OF_A_DAY = 86_400.0
ABOUT_A_REWARD = (EntryKind.REWARD, EntryKind.DEFAULTED, EntryKind.LATE, EntryKind.CORRECTION)


class SeenDecision(msgspec.Struct, kw_only=True):
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


class RoundSpan(msgspec.Struct, kw_only=True):
    """Some rounds that follow each other: what was decided in them, and what rewards came meanwhile."""

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


class Marked(msgspec.Struct, kw_only=True):
    """A round in which exploration was due or happened."""

    round: int
    at: float
    explored: bool
    different: bool
    reason: str
    arm: str


@final
class JournalView:
    """Reads a journal to its end, again and again, and keeps what the page shows of it.

    Rounds are summed in at most 120 stretches: when there are more, neighbours become one. The latest
    decisions are kept one by one. `catch_up` reads what was appended since; a thread of its own calls it.
    When something is erased that was read before, all is read again without it.
    """

    def __init__(self, url: str, name: str) -> None:
        self.url, self.name = url, name
        self._store: Store | None = None
        self._lock = threading.Lock()
        self._erased: set[int] = set()
        self._begin()

    def _begin(self) -> None:
        self._mark = BEGINNING
        self._width = 1
        self._stretches: list[RoundSpan] = []
        self._latest: OrderedDict[str, SeenDecision] = OrderedDict()
        self._marks: deque[Marked] = deque(maxlen=MOST_MARKS)
        self._skipped: Counter[str] = Counter()
        self._amendments: deque[dict[str, Any]] = deque(maxlen=50)

    @property
    def entries(self) -> int:
        """How many entries were read."""
        return self._mark.number

    def catch_up(self, most: int = PAGE_OF_HISTORY) -> bool:
        """Reads up to so many entries; False when there are no more. The lock is held for short times."""
        store = self._store = self._store or opened_store(self.url, reading=True)
        try:
            page = list(store.read(self.name, self._mark, most))
        except DamagedJournal:
            raise
        except InfexError:
            self.close()  # it is opened anew next time
            raise
        with self._lock:
            for entry in page:
                if self._forgets(entry):
                    self._begin()
                    return True
                self._enter(entry)
        return len(page) == most

    def _forgets(self, entry: Entry) -> bool:
        """Does an entry tell of something erased that is in the sums?"""
        if entry.kind != EntryKind.FORGOTTEN or entry.content is None:
            return False
        told = content_of(ForgottenContent, entry.number, entry.content)
        new = {residue.number for residue in told.residues} - self._erased
        self._erased |= new
        return bool(new)

    def close(self) -> None:
        """Lets go of the store."""
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
        """Decisions a minute, by the latest ones: those of the last minute, or as many as are kept."""
        with self._lock:
            recent = [each.at for each in self._latest.values() if now - 60.0 < each.at <= now]
            kept_all = len(recent) < LATEST_KEPT
        if kept_all or not recent:
            return float(len(recent))
        return 60.0 * len(recent) / max(now - recent[0], 1e-3)

    def rounds_a_day(self) -> int:
        """How many rounds a day there are, by what the stretches of the last day tell; 0 if none does."""
        with self._lock:
            seen = self._stretches
            if not seen or seen[-1].ended <= seen[0].begun:
                return 0
            recent = [each for each in seen if each.ended > seen[-1].ended - SECONDS_OF_A_DAY]
            rounds, lasted = recent[-1].last - recent[0].first + 1, recent[-1].ended - recent[0].begun
            return math.ceil(rounds / max(lasted, 1.0) * SECONDS_OF_A_DAY)

    def past(self) -> dict[str, Any]:
        """Stretches, marks of exploration, what was skipped and why, and amendments; plain data."""
        with self._lock:
            return {
                "entries": self._mark.number,
                "stretches": msgspec.to_builtins(self._stretches),
                "marks": msgspec.to_builtins(list(self._marks)),
                "skipped": dict(self._skipped),
                "amendments": list(self._amendments),
            }

    def _enter(self, entry: Entry) -> None:
        self._mark = entry.mark
        if entry.content is None or entry.number in self._erased:
            self._erased.add(entry.number)
        elif entry.kind == EntryKind.DECISION:
            self._decided(entry, content_of(DecisionContent, entry.number, entry.content))
        elif entry.kind in ABOUT_A_REWARD:
            self._told(entry, content_of(RewardContent, entry.number, entry.content))
        elif entry.kind == EntryKind.AMENDMENT:
            said: dict[str, Any] = msgspec.json.decode(entry.content)
            words = {"what": said.get("what"), "reason": said.get("reason")}
            self._amendments.append({"entry": entry.number, "at": entry.at / 1e6, **words})

    def _decided(self, entry: Entry, content: DecisionContent) -> None:
        arm = str(content.arm if content.label is None else content.label)
        seen = SeenDecision(
            key=entry.key,
            round=content.t,
            arm=arm,
            greedy=content.greedy,
            explored=content.explored,
            different=content.different,
            reason=content.reason,
            turn=content.turn or "",
            estimate=content.estimate,
            low=_number(content.low),
            high=_number(content.high),
            probability=content.probability,
            at=entry.at / 1e6,
        )
        self._latest[entry.key] = seen
        if len(self._latest) > LATEST_KEPT:
            self._latest.popitem(last=False)
        self._mark_round(seen)
        stretch = self._stretch(content.t, seen.at)
        stretch.arms[arm] = stretch.arms.get(arm, 0) + 1
        stretch.explored += seen.explored
        stretch.different += seen.different
        stretch.cost += content.loss if seen.explored else 0.0
        stretch.skipped += seen.turn in ("owed", "dropped")

    def _mark_round(self, seen: SeenDecision) -> None:
        if seen.turn in ("owed", "dropped"):
            self._skipped[seen.reason] += 1
        if seen.explored or seen.turn in ("owed", "dropped"):
            self._marks.append(
                Marked(
                    round=seen.round,
                    at=seen.at,
                    explored=seen.explored,
                    different=seen.different,
                    reason=seen.reason,
                    arm=seen.arm,
                )
            )

    def _told(self, entry: Entry, content: RewardContent) -> None:
        seen = self._latest.get(entry.key)
        if seen is not None:
            seen.state, seen.reward = STATE_OF_ENTRY[EntryKind(entry.kind)], content.reward
        if content.reward is not None and entry.kind == EntryKind.REWARD and self._stretches:
            self._stretches[-1].rewards += 1
            self._stretches[-1].reward += content.reward

    def _stretch(self, t: int, at: float) -> RoundSpan:
        """That of a round, made if there is none yet."""
        last = self._stretches[-1] if self._stretches else None
        if last is None or t - last.first >= self._width:
            if len(self._stretches) >= MOST_STRETCHES:
                self._stretches = list(_joined(self._stretches))
                self._width *= 2
                return self._stretch(t, at)
            last = RoundSpan(first=t, last=t, begun=at, ended=at)
            self._stretches.append(last)
        last.last, last.ended = t, at
        return last


STATE_OF_ENTRY = {
    EntryKind.REWARD: "rewarded",
    EntryKind.DEFAULTED: "defaulted",
    EntryKind.LATE: "late",
    EntryKind.CORRECTION: "corrected",
}


def _joined(stretches: list[RoundSpan]) -> Iterator[RoundSpan]:
    """Each two neighbours as one."""
    for first in range(0, len(stretches), 2):
        pair = stretches[first : first + 2]
        arms: Counter[str] = Counter()
        for each in pair:
            arms.update(each.arms)
        yield RoundSpan(
            first=pair[0].first,
            last=pair[-1].last,
            begun=pair[0].begun,
            ended=pair[-1].ended,
            arms=dict(arms),
            explored=sum(each.explored for each in pair),
            different=sum(each.different for each in pair),
            skipped=sum(each.skipped for each in pair),
            cost=sum(each.cost for each in pair),
            rewards=sum(each.rewards for each in pair),
            reward=sum(each.reward for each in pair),
        )


def _is_so(seen: SeenDecision, wanted: dict[str, Any]) -> bool:
    fields = msgspec.structs.asdict(seen)
    return all(value is None or fields[name] == value for name, value in wanted.items())


def _number(end: float | str) -> float | None:
    return None if isinstance(end, str) else end
