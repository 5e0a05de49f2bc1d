"""One decision and its reward: how far it has come, in memory or read back from its entries."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import final

import msgspec

from infex.bandit.decision import Decision
from infex.errors import AlreadyTold, DamagedJournal, UnknownDecision
from infex.models.layout import DesignRow
from infex.study.contents import (
    DecisionContent,
    HeldContent,
    RewardContent,
    content_of,
    held_decision_from,
    record_from,
)
from infex.study.entries import Entry, refuse_changed
from infex.study.plain_requests import digest_of


class RewardState(StrEnum):
    """How far the reward of a decision has come."""

    PENDING = "pending"
    REWARDED = "rewarded"
    DEFAULTED = "defaulted"  # its time had passed: it took the default reward, or stays unlearnt
    LATE = "late"  # a reward came after that: it is kept, and not learnt
    CORRECTED = "corrected"
    ERASED = "erased"


class EntryKind(StrEnum):
    """What an entry of a journal tells of."""

    OPENED = "opened"
    DECISION = "decision"
    HELD = "held"  # a decision of the fixed policy, for who is held out
    REWARD = "reward"
    DEFAULTED = "defaulted"
    LATE = "late"
    CORRECTION = "correction"
    AMENDMENT = "amendment"
    FORGOTTEN = "forgotten"


DECISION_KIND, REWARD_KIND = EntryKind.DECISION.value, EntryKind.REWARD.value
"""As entries have them: a look at a member of an enum takes longer."""
FORGOTTEN_KEY = "infex:forgotten"
"""The key of entries that tell what was erased."""


STATE_AFTER = {
    EntryKind.REWARD: RewardState.REWARDED,
    EntryKind.DEFAULTED: RewardState.DEFAULTED,
    EntryKind.LATE: RewardState.LATE,
    EntryKind.CORRECTION: RewardState.CORRECTED,
}


NO_PARTS: Mapping[str, float] = MappingProxyType({})


@final
class Case(msgspec.Struct, gc=False):
    """A decision, what was asked for it (as a digest), and its reward as far as there is one.

    `on` is what its reward is learnt on, as arms and features were when it was decided or, if that is later,
    after the entry `on_since`. `number` is the entry of its last change, `decided` that of its decision.
    `reward` is what counts now, None for none; `late` is one that came too late.
    """

    decision: Decision | None
    on: DesignRow | None
    digest: bytes
    unit: str
    at: int
    number: int
    decided: int
    state: RewardState = RewardState.PENDING
    reward: float | None = None
    weight: float = 1.0
    counted: float = 1.0
    turns: tuple[int, int | None] = (0, None)
    told_at: int | None = None
    late: float | None = None
    parts: Mapping[str, float] = NO_PARTS
    held: bool = False
    on_since: int = 0

    @property
    def is_open(self) -> bool:
        """Does it still wait for its reward?"""
        return self.state is RewardState.PENDING

    def told(self, kind: EntryKind, content: RewardContent, number: int, at: int) -> None:
        """What an entry about its reward changes."""
        summed = kind is EntryKind.REWARD and self.reward is not None and content.reward is not None
        self.state = self.state if summed else STATE_AFTER[kind]
        self.number, self.told_at = number, at
        if kind is EntryKind.LATE:
            self.late = content.reward
        elif self.reward is not None:
            self.reward = self.after(kind, content)
        else:
            self.reward, self.weight, self.counted = content.reward, content.weight, content.counted
            self.turns = content.turn, content.own_turn
        if content.part is not None and content.reward is not None:
            self.parts = {**self.parts, content.part: content.reward}

    def after(self, kind: EntryKind, content: RewardContent) -> float:
        """What counts for it once this was told: a correction, or what a further reward adds up to."""
        value = content.reward or 0.0
        return value if self.reward is None or kind is EntryKind.CORRECTION else self.reward + value

    def erase(self, number: int) -> None:
        """Its content was taken out."""
        self.decision, self.on, self.reward, self.late, self.unit = None, None, None, None, ""
        self.number, self.state = number, RewardState.ERASED
        self.parts = NO_PARTS

    def repeats(self, key: str, reward: float, weight: float, part: str | None, sums: bool) -> bool:
        """Was this very reward told before? AlreadyTold is raised if another one was."""
        if self.is_open:
            return False
        if self.state is RewardState.ERASED:
            raise UnknownDecision(f"decision {key!r} was erased: nothing can be told of it")
        if sums and self.state in (RewardState.REWARDED, RewardState.CORRECTED):
            return self._repeats_part(key, reward, weight, part)
        if self.state is RewardState.DEFAULTED:
            return False
        known = self.late if self.state is RewardState.LATE else self.reward
        if known == reward and self.weight == weight:
            return True
        raise AlreadyTold(
            f"decision {key!r} has the reward {known!r} already, got {reward!r}: correct it if that was wrong"
        )

    def _repeats_part(self, key: str, reward: float, weight: float, part: str | None) -> bool:
        if weight != self.weight:
            raise AlreadyTold(f"all rewards of {key!r} have the weight of the first, {self.weight:g}")
        if part is None or part not in self.parts:
            return False
        if self.parts[part] == reward:
            return True
        raise AlreadyTold(f"{part!r} of decision {key!r} was {self.parts[part]!r} already, got {reward!r}")


def case_of(key: str, entries: list[Entry]) -> Case | None:
    """What the entries of one key tell; None if it has no decision."""
    case: Case | None = None
    for entry in map(refuse_changed, entries):
        kind = kind_of(entry)
        if kind in (EntryKind.DECISION, EntryKind.HELD):
            case = begun_case(key, entry)
        elif case is None:
            raise DamagedJournal(f"entry {entry.number} tells of {key!r}, which was never decided")
        elif entry.content is None:
            case.erase(entry.number)
        else:
            case.told(kind, content_of(RewardContent, entry.number, entry.content), entry.number, entry.at)
    return case


def kind_of(entry: Entry) -> EntryKind:
    """What an entry tells of; DamagedJournal if that is nothing known."""
    try:
        return EntryKind(entry.kind)
    except ValueError:
        raise DamagedJournal(f"entry {entry.number} is of an unknown kind, {entry.kind!r}") from None


def begun_case(key: str, entry: Entry) -> Case:
    """The case that an entry of a decision begins."""
    if entry.content is None:
        return Case(None, None, b"", "", entry.at, entry.number, entry.number, RewardState.ERASED)
    if entry.kind == EntryKind.HELD:
        held = content_of(HeldContent, entry.number, entry.content)
        return held_case(key, entry.unit or "", entry.at, entry.number, held)
    content = content_of(DecisionContent, entry.number, entry.content)
    digest = digest_of(bytes(content.request), entry.unit or "")
    record = record_from(key, content)
    return Case(record.decision, record.on, digest, entry.unit or "", entry.at, entry.number, entry.number)


def held_case(key: str, unit: str, at: int, number: int, content: HeldContent) -> Case:
    """The case of somebody who is held out."""
    decision = held_decision_from(key, content)
    digest = digest_of(bytes(content.request), unit)
    return Case(decision, None, digest, unit, at, number, number, held=True)
