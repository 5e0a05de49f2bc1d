"""What the page shows of the past, in little room: sums over spans of rounds, and marks of exploration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

MOST_SPANS = 120
MOST_MARKS = 600
MOST_AMENDMENTS = 50
SKIPPED_TURNS = ("owed", "dropped")


class SeenDecision(msgspec.Struct, gc=False):
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


class RoundSpan(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
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


class Marked(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A round in which exploration was due or happened; `arm` is "" where it is not known any more."""

    round: int
    at: float
    explored: bool
    different: bool
    reason: str
    arm: str = ""


class PastSums(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Rounds in at most 120 spans of `width` rounds; when there are more, neighbours become one."""

    width: int = 1
    spans: list[RoundSpan] = []
    marks: list[Marked] = []
    skipped: dict[str, int] = {}
    amendments: list[dict[str, Any]] = []

    def add_decision(self, seen: SeenDecision, loss: float) -> None:
        """Counts a decision; `loss` is what exploring cost by the estimates."""
        span = self._span(seen.round, seen.at)
        span.arms[seen.arm] = span.arms.get(seen.arm, 0) + 1
        if seen.explored:
            span.explored += 1
            span.different += seen.different
            span.cost += loss
            self._mark(seen)
        elif seen.turn in SKIPPED_TURNS:
            span.skipped += 1
            self.skipped[seen.reason] = self.skipped.get(seen.reason, 0) + 1
            self._mark(seen)

    def add_reward(self, reward: float) -> None:
        """Counts a reward, in the span of the round that was decided last."""
        if self.spans:
            self.spans[-1].rewards += 1
            self.spans[-1].reward += reward

    def add_amendment(self, amendment: dict[str, Any]) -> None:
        """Notes an amendment; the last fifty are kept."""
        self.amendments.append(amendment)
        del self.amendments[:-MOST_AMENDMENTS]

    @property
    def tells_of_single_rounds(self) -> bool:
        """Is there a span of one round, whose arm and reward would be those of somebody?"""
        return any(span.first == span.last for span in self.spans)

    def plain(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "stretches": msgspec.to_builtins(self.spans),
            "marks": msgspec.to_builtins(self.marks),
            "skipped": dict(self.skipped),
            "amendments": list(self.amendments),
        }

    def without_single_arms(self) -> PastSums:
        """The same without the arm of any single round: what stays of a round when its unit is erased."""
        marks = [msgspec.structs.replace(mark, arm="") for mark in self.marks]
        return msgspec.structs.replace(self, marks=marks)

    def _mark(self, seen: SeenDecision) -> None:
        self.marks.append(_marked(seen))
        del self.marks[:-MOST_MARKS]

    def _span(self, t: int, at: float) -> RoundSpan:
        """That of a round, made if there is none yet."""
        if not self._reaches(t):
            while len(self.spans) >= MOST_SPANS:
                self.spans, self.width = list(_joined(self.spans)), 2 * self.width
            if not self._reaches(t):
                self.spans.append(RoundSpan(first=t, last=t, begun=at, ended=at))
        span = self.spans[-1]
        span.last, span.ended = t, at
        return span

    def _reaches(self, t: int) -> bool:
        """Is a round one of the last span's?"""
        return bool(self.spans) and t - self.spans[-1].first < self.width


def _marked(seen: SeenDecision) -> Marked:
    return Marked(
        round=seen.round,
        at=seen.at,
        explored=seen.explored,
        different=seen.different,
        reason=seen.reason,
        arm=seen.arm,
    )


def _joined(spans: Sequence[RoundSpan]) -> Iterator[RoundSpan]:
    """Each two neighbours as one."""
    for first in range(0, len(spans), 2):
        yield _sum_of(spans[first : first + 2])


def _sum_of(spans: Sequence[RoundSpan]) -> RoundSpan:
    arms: Counter[str] = Counter()
    for span in spans:
        arms.update(span.arms)
    return RoundSpan(
        first=spans[0].first,
        last=spans[-1].last,
        begun=spans[0].begun,
        ended=spans[-1].ended,
        arms=dict(arms),
        explored=sum(span.explored for span in spans),
        different=sum(span.different for span in spans),
        skipped=sum(span.skipped for span in spans),
        cost=sum(span.cost for span in spans),
        rewards=sum(span.rewards for span in spans),
        reward=sum(span.reward for span in spans),
    )
