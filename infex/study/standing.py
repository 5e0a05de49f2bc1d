"""The state of a study: what entering the entries of its journal gives, live and in replay alike."""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Mapping
from typing import Any, final

from infex.bandit import Bandit, Decision, DecisionRecord
from infex.bandit.bandit import Correction
from infex.bandit.reshape import Reshaping
from infex.errors import DamagedJournal, InfexError
from infex.models.layout import DesignRow
from infex.policies.choice import ScheduleStatus
from infex.registry import policy_state_from_record
from infex.study.amending import ARM_CHANGES, amended
from infex.study.cases import Case, EntryKind, RewardState, case_of, held_case
from infex.study.contents import (
    AmendmentContent,
    DecisionContent,
    HeldContent,
    OpenedContent,
    Residue,
    RewardContent,
    content_of,
    record_from,
)
from infex.study.entries import Entry
from infex.study.known_keys import KnownKeys
from infex.study.plain_requests import digest_of
from infex.study.rules import REWARD_RULES, RewardRules
from infex.study.study_settings import Settings, bandit_of
from infex.study.tallies import Tallies

History = Callable[[str], list[Entry]]
"""The entries of a key."""


ABOUT_REWARDS = (EntryKind.REWARD, EntryKind.DEFAULTED, EntryKind.LATE, EntryKind.CORRECTION)


@final
class Standing:
    """A bandit, the cases that wait for their rewards, and sums: all that a journal has come to.

    `number` is the last entry that was entered. `given` are policies, estimators and maps with a user's code.
    `history` finds the entries of a key in the journal; `residues` are what is left of what was erased.
    """

    def __init__(
        self, settings: Settings, given: Mapping[str, object], history: History, bandit: Bandit | None = None
    ) -> None:
        self.settings, self.given, self.history = settings, given, history
        self.residues: dict[int, Residue] = {}
        self.forgotten: list[tuple[int, int]] = []
        self.rules = RewardRules(**{name: settings[name] for name in REWARD_RULES})
        self.patience = self.rules.patience
        self.bandit = bandit_of(settings, given) if bandit is None else bandit
        if self.rules.default is not None:
            self.bandit.refuse_reward(self.rules.default)
        greedy = bool(self.rules.holdout) and self.rules.holdout_policy == "greedy"
        self.frozen = bandit_of(settings, given) if greedy and bandit is None else None
        self.cases: dict[str, Case] = {}
        self.keys = KnownKeys()
        self.tallies = Tallies()
        self.number = 1  # the entry that has the settings
        self.amendments: list[int] = []  # the entries of changes, oldest first
        self.relocations: list[tuple[int, Reshaping]] = []  # by the entries that moved arms or features
        self.due: list[tuple[int, int, str]] = []  # when the time of a decision has passed; a heap

    @staticmethod
    def begun(entry: Entry, given: Mapping[str, object], history: History) -> Standing:
        """That after the first entry of a journal."""
        if entry.kind != EntryKind.OPENED or entry.content is None:
            raise DamagedJournal(
                f"entry 1 of the journal is a {entry.kind}, and not how the study was opened"
            )
        return Standing(content_of(OpenedContent, 1, entry.content).settings, given, history)

    def enter(self, entry: Entry) -> None:
        """Takes the next entry of the journal."""
        kind, content = entry.kind, entry.content
        try:
            if entry.number in self.residues:
                self._enter_residue(entry, self.residues[entry.number])
            elif content is None:
                raise DamagedJournal(f"entry {entry.number} was erased, and nothing says what is left of it")
            elif kind == EntryKind.DECISION:
                self._decide_again(entry, content_of(DecisionContent, entry.number, content))
            elif kind == EntryKind.HELD:
                held = content_of(HeldContent, entry.number, content)
                self.hold(entry.key, held_case(entry.key, entry.unit or "", entry.at, entry.number, held))
            elif kind in ABOUT_REWARDS:
                reward = content_of(RewardContent, entry.number, content)
                self.reward(EntryKind(kind), entry.number, entry.key, entry.at, reward, self._case(entry))
            elif kind == EntryKind.AMENDMENT:
                self.amend(entry.number, content_of(AmendmentContent, entry.number, content))
                self.bandit.silence_reward_warnings()
            elif kind == EntryKind.FORGOTTEN:
                self.number = entry.number  # what it tells was known before the first entry was read
            else:
                raise DamagedJournal(f"entry {entry.number} is of an unknown kind, {kind!r}")
        except (InfexError, KeyError, ValueError, TypeError) as error:
            if isinstance(error, DamagedJournal):
                raise
            raise DamagedJournal(f"entry {entry.number} of the journal cannot be entered: {error}") from error

    def _enter_residue(self, entry: Entry, residue: Residue) -> None:
        """Counts a round that was erased; of a reward that was, nothing is left."""
        self.number = residue.number
        if entry.kind in (EntryKind.DECISION, EntryKind.HELD):
            self.keys.add(entry.key)
        if residue.t:
            note = None if residue.note is None else policy_state_from_record(residue.note)
            turn = None if residue.turn is None else ScheduleStatus(residue.turn)
            counts = residue.t, residue.explored, turn, residue.loss, residue.different
            self.bandit.enter_erased(*counts, note)
            self.tallies.moved(RewardState.PENDING, RewardState.ERASED)

    def is_erased_after(self, number: int) -> bool:
        """Did the state after an entry rest on something that was erased since?"""
        return any(first <= number < last for first, last in self.forgotten)

    def _case(self, entry: Entry) -> Case:
        """The case that an entry tells of, as it was before."""
        case = self.cases.get(entry.key)
        if case is None:
            case = case_of(
                entry.key, [each for each in self.history(entry.key) if each.number < entry.number]
            )
        if case is None:
            raise DamagedJournal(f"entry {entry.number} tells of {entry.key!r}, which was never decided")
        return case

    def _decide_again(self, entry: Entry, content: DecisionContent) -> None:
        record = record_from(entry.key, content)
        self.bandit.enter(record)
        unit = entry.unit or ""
        self.begin(entry.number, entry.key, unit, entry.at, record, digest_of(bytes(content.request), unit))

    def begin(self, number: int, key: str, unit: str, at: int, record: DecisionRecord, digest: bytes) -> None:
        """Takes a decision that the bandit has applied, which begins to wait for its reward."""
        self.keys.add(key)
        self.number = number
        self.tallies.decided(at, record.decision, str(record.decision.reason))
        self.await_reward(key, Case(record.decision, record.on, digest, unit, at, number, number))

    def hold(self, key: str, case: Case) -> None:
        """Takes a decision for somebody who is held out: no round, and nothing will be learnt."""
        self.keys.add(key)
        self.await_reward(key, case)
        self.number = case.number
        self.tallies.tally.held += 1

    def await_reward(self, key: str, case: Case) -> None:
        """A case begins to wait for its reward."""
        self.cases[key] = case
        if self.patience is not None:
            heapq.heappush(self.due, (case.at + self.patience, case.decided, key))

    def reward(
        self, kind: EntryKind, number: int, key: str, at: int, content: RewardContent, case: Case
    ) -> None:
        """Takes what is told of a case, which is closed then."""
        if kind is not EntryKind.LATE:
            self._learn(kind, key, case, content, at)
        before = case.state
        case.told(kind, content, number, at)
        self.tallies.moved(before, case.state)
        self.cases.pop(key, None)
        self.number = number

    def _learn(self, kind: EntryKind, key: str, case: Case, content: RewardContent, at: int) -> None:
        """Learns a first reward, or nothing where there is none; for a closed case, that it is another."""
        if case.decision is None:
            raise DamagedJournal(f"a reward is told of {key!r}, which was erased")
        if case.held:
            self.tallies.held(case.reward, None if content.reward is None else case.after(kind, content))
        elif key not in self.cases:
            self._revise(kind, case, case.decision, content, at)
        elif content.reward is None:
            self.bandit.drop(key)
        else:
            self.bandit.tell(key, content.reward, weight=content.weight)
            self.tallies.learnt(case.at, case.decision, content.reward, at)

    def _revise(
        self, kind: EntryKind, case: Case, decision: Decision, content: RewardContent, at: int
    ) -> None:
        after = case.after(kind, content)
        known = case.reward is not None
        learnt = Correction(case.counted, case.turns) if known else Correction(content.weight, (0, None))
        self.bandit.correct(decision, *self.placed(case), case.reward, after, learnt)
        if case.reward is None:
            self.tallies.learnt(case.at, decision, after, at)
        else:
            self.tallies.changed(case.at, decision, case.reward, after)

    def placed(self, case: Case) -> tuple[int, DesignRow]:
        """Where the arm of a decision is now, and what its reward is learnt on now."""
        assert case.decision is not None
        assert case.on is not None
        arm, on = case.decision.arm, case.on
        for number, moved in self.relocations:
            arm = moved.place(arm) if number > case.decided else arm
            on = moved.on(on) if number > max(case.decided, case.on_since) else on
        return arm, on

    def amend(self, number: int, content: AmendmentContent) -> None:
        """Takes a change of settings."""
        if content.what == "freeze":
            self.frozen = copy.deepcopy(self.bandit)
        else:
            moved = amended(self.bandit, self.settings, content.what, content.to)
            if moved is not None:
                self.relocations.append((number, moved))
        if content.what in ARM_CHANGES and self.frozen is not None:
            amended(self.frozen, dict(self.settings), content.what, content.to)
        self.number = number
        self.amendments.append(number)

    def passed(self, now: int) -> list[str]:
        """The keys of open cases whose time has passed."""
        found = []
        while self.due and self.due[0][0] <= now:
            _, number, key = heapq.heappop(self.due)
            case = self.cases.get(key)
            if case is not None and case.decided == number:
                found.append(key)
        return found

    def record(self) -> dict[str, Any]:
        """All but the bandit and what follows from it, as plain data."""
        kept = [
            [key, case.digest, case.unit, case.at, case.decided, _held(case)]
            for key, case in self.cases.items()
        ]
        return {
            "settings": self.settings,
            "number": self.number,
            "amendments": self.amendments,
            "relocations": [[number, moved.plain()] for number, moved in self.relocations],
            "cases": kept,
            "tallies": self.tallies.plain(),
        }


def _held(case: Case) -> list[Any] | None:
    """What a snapshot must hold of a decision that is not the bandit's."""
    decision = case.decision
    if not case.held or decision is None:
        return None
    d = decision
    return [d.t, d.arm, d.label, d.propensity, d.greedy, d.estimate, d.low, d.high]
