"""Entries of a journal entered together: the state is to the last bit that of entering one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

from infex.bandit.entering_many import EnteredTogether, enters_together, wait_for
from infex.errors import DamagedJournal, InfexError
from infex.policies.choice import Turn
from infex.study.cases import DECISION_KIND, REWARD_KIND, RewardState
from infex.study.contents import DecisionContent, RewardContent, content_of, decided_from, ground_of
from infex.study.entries import Entry
from infex.study.known_keys import numbers_of
from infex.study.plain_requests import digest_of
from infex.study.standing import Standing
from infex.study.tallies import DAY, Learnt

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


Begun = tuple[Entry, DecisionContent]
"""A decision of a passage that has no reward yet."""
DecidedAlike = tuple[int, str, bool, bool]
"""What decisions are counted by: their day, reason, whether they explored, and played another than greedy."""


@final
class Passage:
    """Decisions and rewards that follow each other in a journal, with nothing else in between."""

    __slots__ = (
        "_begun",
        "_cases",
        "_course",
        "_decided",
        "_keys",
        "_learnt",
        "_residues",
        "_standing",
        "_tallies",
    )

    def __init__(self, standing: Standing) -> None:
        self._standing, self._course = standing, EnteredTogether(standing.bandit)
        self._cases, self._residues, self._tallies = standing.cases, standing.residues, standing.tallies
        self._begun: dict[str, Begun] = {}
        self._keys: list[str] = []
        self._decided: dict[DecidedAlike, int] = {}
        self._learnt: list[Learnt] = []

    def takes(self, entry: Entry) -> bool:
        """Takes an entry; False if it must be entered by itself."""
        number, kind, key, _, at, content, _, _, _ = entry
        if content is None or number in self._residues:
            return False
        if kind == DECISION_KIND:
            takes = self._decides(entry, key, at, content_of(DecisionContent, number, content))
        elif kind == REWARD_KIND:
            takes = self._rewards(key, at, content_of(RewardContent, number, content))
        else:
            return False
        if takes:
            self._standing.number = number
        return takes

    def _decides(self, entry: Entry, key: str, at: int, content: DecisionContent) -> bool:
        if content.note is not None or content.features is not None:
            return False
        if not self._is_rest(key, content):
            if key in self._begun:
                raise DamagedJournal(f"entry {entry.number} decides for {key!r} a second time")
            self._course.decide(decided_from(key, content))
        self._keys.append(key)
        self._count(at, content)
        self._begun[key] = entry, content
        return True

    def _count(self, at: int, content: DecisionContent) -> None:
        """Counts a decision: those that tallies count alike together."""
        c = content
        alike = at // DAY, c.reason, c.explored, c.arm != c.greedy
        self._decided[alike] = self._decided.get(alike, 0) + 1

    def _is_rest(self, key: str, content: DecisionContent) -> bool:
        """Takes a plain greedy round in the shortest way; False if it is another, or does not fit."""
        c = content
        if c.turn != REST_WORD or c.explored or c.noticed or c.loss != 0.0:
            return False
        if key in self._begun or key in self._cases:
            return False
        place, row = ground_of(c.on)
        return self._course.rest(c.t, c.changes, place, 0 if row is None else len(row))

    def _rewards(self, key: str, at: int, content: RewardContent) -> bool:
        """Takes the first reward of a decision; False if it is another, or nothing is learnt."""
        reward = content.reward
        if reward is None:
            return False
        begun = self._begun.pop(key, None)
        if begun is None:
            return self._rewards_waiting(key, at, reward, content.counted)
        entry, decided = begun
        self._course.tell(decided, ground_of(decided.on), reward, content.counted)
        self._learnt.append((entry.at, decided, reward, at))
        return True

    def _rewards_waiting(self, key: str, at: int, reward: float, counted: float) -> bool:
        """Takes the reward of a decision from before this passage."""
        case = self._cases.get(key)
        if case is None or case.held:
            return False
        waiting = self._course.tell_waiting(key, reward, counted)
        del self._cases[key]
        self._learnt.append((case.at, waiting, reward, at))
        return True

    def finish(self) -> None:
        """Learns what was told; decisions without a reward are cases that wait for theirs."""
        self._course.finish()
        self._standing.keys.add_all(numbers_of(self._keys))
        for (day, reason, explored, different), count in self._decided.items():
            self._tallies.decided_on(day, reason, explored, different, count)
        self._tallies.learnt_all(self._learnt)
        self._tallies.moved(RewardState.PENDING, RewardState.REWARDED, len(self._learnt))
        for key, (entry, content) in self._begun.items():
            unit, decided = entry.unit or "", decided_from(key, content)
            wait_for(self._standing.bandit, decided)
            digest = digest_of(bytes(content.request), unit)
            self._standing.await_decided(entry.number, key, unit, entry.at, decided, digest)
