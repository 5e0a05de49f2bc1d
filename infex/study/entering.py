"""Entries of a journal entered together: the state is to the last bit that of entering one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from infex.bandit import Decided
from infex.bandit.entering_many import EnteredTogether, enters_together, is_plain
from infex.errors import DamagedJournal, InfexError
from infex.study.cases import EntryKind, RewardState
from infex.study.contents import DecisionContent, RewardContent, content_of, decided_from
from infex.study.entries import Entry
from infex.study.plain_requests import digest_of
from infex.study.standing import Standing

DECISION_KIND, REWARD_KIND = EntryKind.DECISION.value, EntryKind.REWARD.value


def enter_many(standing: Standing, entries: Iterable[Entry]) -> None:
    """Enters entries: decisions and first rewards together as far as they go, others one by one."""
    if not enters_together(standing.bandit):
        for entry in entries:
            standing.enter(entry)
        return
    stretch = Passage(standing)
    for entry in entries:
        try:
            if stretch.takes(entry):
                continue
        except (InfexError, KeyError, ValueError, TypeError) as error:
            if isinstance(error, DamagedJournal):
                raise
            raise DamagedJournal(f"entry {entry.number} of the journal cannot be entered: {error}") from error
        stretch.finish()
        standing.enter(entry)
        stretch = Passage(standing)
    stretch.finish()


@final
class Passage:
    """Decisions and rewards that follow each other in a journal, with nothing else in between."""

    __slots__ = ("_begun", "_course", "_standing")

    def __init__(self, standing: Standing) -> None:
        self._standing, self._course = standing, EnteredTogether(standing.bandit)
        self._begun: dict[str, tuple[Entry, DecisionContent, Decided]] = {}

    def takes(self, entry: Entry) -> bool:
        """Takes an entry; False if it must be entered by itself."""
        content = entry.content
        if content is None or entry.number in self._standing.residues:
            return False
        if entry.kind == DECISION_KIND:
            return self._decides(entry, content_of(DecisionContent, entry.number, content))
        if entry.kind == REWARD_KIND:
            return self._rewards(entry, content_of(RewardContent, entry.number, content))
        return False

    def _decides(self, entry: Entry, content: DecisionContent) -> bool:
        decided = decided_from(entry.key, content)
        if not is_plain(decided):
            return False
        self._course.decide(decided)
        standing, key = self._standing, entry.key
        standing.keys.add(key)
        standing.tallies.decided(entry.at, decided.decision, content.reason)
        standing.number = entry.number
        self._begun[key] = entry, content, decided
        return True

    def _rewards(self, entry: Entry, content: RewardContent) -> bool:
        standing, key = self._standing, entry.key
        begun = self._begun.get(key)
        case = standing.cases.get(key) if begun is None else None
        if content.reward is None or (begun is None and (case is None or case.held)):
            return False
        decision = self._course.tell(key, content.reward, content.counted)
        at = begun[0].at if case is None and begun is not None else 0 if case is None else case.at
        standing.tallies.learnt(at, decision, content.reward, entry.at)
        standing.tallies.moved(RewardState.PENDING, RewardState.REWARDED)
        standing.cases.pop(key, None)
        self._begun.pop(key, None)
        standing.number = entry.number
        return True

    def finish(self) -> None:
        """Learns what was told; decisions without a reward are cases that wait for theirs."""
        self._course.finish()
        for key, (entry, content, decided) in self._begun.items():
            unit = entry.unit or ""
            digest = digest_of(bytes(content.request), unit)
            self._standing.await_decided(entry.number, key, unit, entry.at, decided, digest)
