"""Entries of a journal entered together: the state is to the last bit that of entering one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, final

from infex.bandit.entering_many import EnteredTogether, enters_together, wait_for
from infex.errors import DamagedJournal, InfexError
from infex.policies.choice import Turn
from infex.study.cases import EntryKind, RewardState
from infex.study.contents import DecisionContent, RewardContent, content_of, decided_from, ground_of
from infex.study.entries import Entry
from infex.study.plain_requests import digest_of
from infex.study.standing import Standing

DECISION_KIND, REWARD_KIND = EntryKind.DECISION.value, EntryKind.REWARD.value
REST_WORD = Turn.REST.value


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


class Begun(NamedTuple):
    """A decision of a passage that has no reward yet."""

    entry: Entry
    content: DecisionContent


@final
class Passage:
    """Decisions and rewards that follow each other in a journal, with nothing else in between."""

    __slots__ = ("_begun", "_course", "_standing")

    def __init__(self, standing: Standing) -> None:
        self._standing, self._course = standing, EnteredTogether(standing.bandit)
        self._begun: dict[str, Begun] = {}

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
        if content.note is not None or content.features is not None:
            return False
        key = entry.key
        if not self._is_rest(key, content):
            if key in self._begun:
                raise DamagedJournal(f"entry {entry.number} decides for {key!r} a second time")
            self._course.decide(decided_from(key, content))
        standing = self._standing
        standing.keys.add(key)
        standing.tallies.decided(entry.at, content, content.reason)
        standing.number = entry.number
        self._begun[key] = Begun(entry, content)
        return True

    def _is_rest(self, key: str, content: DecisionContent) -> bool:
        """Takes a plain greedy round in the shortest way; False if it is another, or does not fit."""
        c = content
        if c.turn != REST_WORD or c.explored or c.noticed or c.loss != 0.0 or key in self._begun:
            return False
        place, row = ground_of(c.on)
        return self._course.rest(key, c.t, c.changes, place, 0 if row is None else len(row))

    def _rewards(self, entry: Entry, content: RewardContent) -> bool:
        standing, key, reward = self._standing, entry.key, content.reward
        begun, case = self._begun.get(key), standing.cases.get(key)
        if reward is None or (begun is None and (case is None or case.held)):
            return False
        if begun is not None:
            at, decided = begun.entry.at, begun.content
            self._course.tell(decided, ground_of(decided.on), reward, content.counted)
            del self._begun[key]
            standing.tallies.learnt(at, decided, reward, entry.at)
        elif case is not None:
            waiting = self._course.tell_waiting(key, reward, content.counted)
            del standing.cases[key]
            standing.tallies.learnt(case.at, waiting, reward, entry.at)
        standing.tallies.moved(RewardState.PENDING, RewardState.REWARDED)
        standing.number = entry.number
        return True

    def finish(self) -> None:
        """Learns what was told; decisions without a reward are cases that wait for theirs."""
        self._course.finish()
        for key, (entry, content) in self._begun.items():
            unit, decided = entry.unit or "", decided_from(key, content)
            wait_for(self._standing.bandit, decided)
            digest = digest_of(bytes(content.request), unit)
            self._standing.await_decided(entry.number, key, unit, entry.at, decided, digest)
