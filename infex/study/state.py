"""The state of a study: what applying the events of its journal gives, live and in replay alike."""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple, final

import msgspec
import numpy as np

from infex.arrays import Label
from infex.bandit import Bandit, Decision
from infex.bandit.bandit import Correction
from infex.bandit.reshape import Reshaping, reshaping_of
from infex.errors import AlreadyTold, DamagedFile, DamagedJournal, NotReady, UnknownDecision
from infex.features import Encoded
from infex.logs.log import Fingerprint
from infex.models.layout import GONE, DesignRow
from infex.policies.choice import ScheduleStatus
from infex.registry import policy_state_from_record
from infex.study.events import (
    DECISIONS,
    REWARDS,
    Amended,
    Assigned,
    Decided,
    Event,
    EventKind,
    Forgotten,
    LearntLog,
    Observation,
    Residue,
    Rewarded,
    RowAsJSON,
    event_of,
    row_from_json,
    row_to_json,
)
from infex.study.journal import Entry, check_seal
from infex.study.known_keys import KnownKeys
from infex.study.metrics import Sums, figures_of
from infex.study.requests import request_digest
from infex.study.settings import (
    ARM_CHANGES,
    RULE_DEFAULTS,
    Rules,
    Settings,
    amend,
    bandit_of,
    own_objects,
)

History = Callable[[Iterable[str]], list[Entry]]
"""Finds the entries of some keys in the journal."""


class RewardState(StrEnum):
    """How far the reward of a decision has come."""

    PENDING = "pending"
    REWARDED = "rewarded"
    DEFAULTED = "defaulted"  # its time had passed: it took the default reward, or stays unlearnt
    LATE = "late"  # a reward came after that: it is kept, and not learnt
    CORRECTED = "corrected"
    ERASED = "erased"


STATE_AFTER = {
    EventKind.REWARD: RewardState.REWARDED,
    EventKind.DEFAULTED: RewardState.DEFAULTED,
    EventKind.LATE: RewardState.LATE,
    EventKind.CORRECTION: RewardState.CORRECTED,
}
NO_PARTS: Mapping[str, float] = MappingProxyType({})


@final
class TrackedDecision(msgspec.Struct, gc=False):
    """A decision, what was asked for it (as a digest), and its reward as far as there is one.

    `number` is the entry of its last change, `decided` that of its decision. `reward` is what counts now,
    None for none; `late` is one that came too late, of `late_weight`. `on` is what its reward is learnt on,
    as arms and features were after the entry `on_since`; None of one that is held out. A decision that was
    erased is None. `kind` is that of the event that decided.
    """

    key: str
    decision: Decision | None
    on: DesignRow | None
    digest: bytes
    unit: str
    at: int
    decided: int
    number: int
    on_since: int
    kind: EventKind = EventKind.DECISION
    state: RewardState = RewardState.PENDING
    reward: float | None = None
    weight: float = 1.0
    learnt: Correction = Correction(1.0, (0, None))
    rewarded_at: int | None = None
    late: float | None = None
    late_weight: float = 1.0
    parts: Mapping[str, float] = NO_PARTS

    @staticmethod
    def begun(number: int, event: Event, decision: Decision, on: DesignRow | None) -> TrackedDecision:
        """The decision of an event, which waits for its reward."""
        content = event.content
        assert isinstance(content, Decided | Assigned)
        digest = request_digest(bytes(content.request), event.unit)
        fields = event.key, decision, on, digest, event.unit, event.at, number, number, number
        return TrackedDecision(*fields, event.kind)

    @staticmethod
    def assigned(number: int, event: Event, content: Assigned) -> TrackedDecision:
        """A decision that the policy did not take."""
        on = None if content.on is None else row_from_json(content.on)
        return TrackedDecision.begun(number, event, content.decision(event.key, event.kind), on)

    @staticmethod
    def without_decision(
        number: int, event: Event, state: RewardState = RewardState.PENDING
    ) -> TrackedDecision:
        """The key, unit and time of a decision that was erased, or of which only the reward is wanted."""
        fields = event.key, None, None, b"", event.unit, event.at, number, number, number
        return TrackedDecision(*fields, event.kind, state)

    @property
    def is_round(self) -> bool:
        """Did the policy decide, in one of its rounds?"""
        return self.kind is EventKind.DECISION

    @property
    def held_out(self) -> bool:
        """Is it for a unit that is held out?"""
        return self.kind is EventKind.HELD

    @property
    def is_open(self) -> bool:
        """Does it still wait for its reward?"""
        return self.state is RewardState.PENDING

    def apply(self, number: int, event: Event) -> None:
        """What an event about its reward changes."""
        self.number = number
        content = event.content
        if not isinstance(content, Rewarded):
            self.decision, self.on, self.reward, self.late, self.unit = None, None, None, None, ""
            self.state, self.parts = RewardState.ERASED, NO_PARTS
            return
        adds_up = event.kind is EventKind.REWARD and self.reward is not None and content.reward is not None
        self.state = self.state if adds_up else STATE_AFTER[event.kind]
        self.rewarded_at = event.at
        if event.kind is EventKind.LATE:
            self.late, self.late_weight = content.reward, content.weight
        elif self.reward is not None:
            self.reward = self.reward_after(event.kind, content)
        else:
            self.reward, self.weight = content.reward, content.weight
            self.learnt = Correction(content.counted, (content.turn, content.own_turn))
        if content.part is not None and content.reward is not None:
            self.parts = {**self.parts, content.part: content.reward}

    def reward_after(self, kind: EventKind, content: Rewarded) -> float:
        """What counts once this is told: a correction, or what a further reward adds up to."""
        value = content.reward or 0.0
        return value if self.reward is None or kind is EventKind.CORRECTION else self.reward + value

    def repeats(self, content: Rewarded, sums: bool) -> bool:
        """Was this very reward told before? AlreadyTold is raised if another one was."""
        if self.is_open:
            return False
        if self.state is RewardState.ERASED:
            raise UnknownDecision(f"decision {self.key!r} was erased: nothing can be told of it")
        if sums and self.state in (RewardState.REWARDED, RewardState.CORRECTED):
            return self._repeats_part(content)
        if self.state is RewardState.DEFAULTED:
            return False
        is_late = self.state is RewardState.LATE
        known, weight = (self.late, self.late_weight) if is_late else (self.reward, self.weight)
        if known == content.reward and weight == content.weight:
            return True
        raise AlreadyTold(
            f"decision {self.key!r} has the reward {known!r} already, got {content.reward!r}: correct it if "
            "that was wrong"
        )

    def _repeats_part(self, content: Rewarded) -> bool:
        if content.weight != self.weight:
            raise AlreadyTold(f"all rewards of {self.key!r} have the weight of the first, {self.weight:g}")
        if content.part is None or content.part not in self.parts:
            return False
        known = self.parts[content.part]
        if known == content.reward:
            return True
        raise AlreadyTold(
            f"{content.part!r} of decision {self.key!r} was {known!r} already, got {content.reward!r}"
        )


def tracked_decisions(entries: Iterable[Entry]) -> dict[str, TrackedDecision]:
    """The decisions of some entries by their keys, as far as these entries tell."""
    found: dict[str, TrackedDecision] = {}
    for entry in entries:
        check_seal(entry)
        event = event_of(entry)
        if event.kind in REWARDS:
            if event.key not in found:
                raise DamagedJournal(f"entry {entry.number} tells of {event.key!r}, which was never decided")
            found[event.key].apply(entry.number, event)
        elif isinstance(event.content, Decided):
            record = event.content.record(event.key)
            found[event.key] = TrackedDecision.begun(entry.number, event, record.decision, record.on)
        elif isinstance(event.content, Assigned):
            found[event.key] = TrackedDecision.assigned(entry.number, event, event.content)
        else:
            found[event.key] = TrackedDecision.without_decision(entry.number, event, RewardState.ERASED)
    return found


def tracked_rewards(entries: Iterable[Entry]) -> dict[str, TrackedDecision]:
    """Units, times and rewards that count of all decisions that were not erased; not the decisions."""
    found: dict[str, TrackedDecision] = {}
    for entry in entries:
        event = event_of(entry)
        if event.content is None:
            found.pop(event.key, None)
        elif event.kind in DECISIONS:
            found[event.key] = TrackedDecision.without_decision(entry.number, event)
        elif event.key in found and event.kind is not EventKind.LATE:
            found[event.key].apply(entry.number, event)
    return found


def learn_observations(bandit: Bandit, rows: Sequence[Observation]) -> None:
    """Has a bandit learn rows of a log, all of them or none."""
    if not rows:
        return
    contexts = [Encoded(np.array(row.context)) if row.encoded else row.context for row in rows]
    bandit.learn(
        None if rows[0].context is None else contexts,
        [row.arm for row in rows],
        [row.reward for row in rows],
        [row.weight for row in rows],
        explored=[row.explored for row in rows],
    )


class KeptArm(NamedTuple):
    """The arm that a unit has, since when, and the entry that decided it."""

    label: Label | None
    arm: int
    at: int
    number: int


@final
class StudyState:
    """A bandit, the decisions that wait for their rewards, and sums: all that a journal has come to.

    `apply` is the only change. `number` is the last entry that was applied. A decision is `open` until its
    reward is told; then the journal has it, and `find` reads it from there (`history`); of all decisions the
    `keys` are known. `given` are policies,
    estimators and maps with a user's code. `residues` are what is left of entries that were erased.

    How a reward was learnt stands in the journal with it. Where rewards before it were erased since, its
    number among rewards is another: `_relearnt` has these, by key. Ridge regression does not ask for them.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        given: Mapping[str, object],
        history: History,
        bandit: Bandit | None = None,
    ) -> None:
        settings = RULE_DEFAULTS | settings  # of a journal from before one of them
        self.name, self.settings, self.given, self._history = name, settings, given, history
        self.rules = Rules.of(settings)
        self._patience = self.rules.patience
        self.bandit = bandit_of(settings, given) if bandit is None else bandit
        if self.rules.default is not None:
            self.bandit.refuse_reward(self.rules.default)
        freezes = bool(self.rules.holdout) and self.rules.holdout_policy == "greedy"
        self.frozen = bandit_of(settings, given) if freezes and bandit is None else None
        self.number = 1  # the entry that has the settings
        self.open: dict[str, TrackedDecision] = {}
        self._closed: dict[str, TrackedDecision] = {}  # whose last event may not be on disk yet
        self._looked_up: dict[str, TrackedDecision] = {}
        self.keys = KnownKeys()  # of all decisions
        self._due: list[tuple[int, int, str]] = []  # when the time of a decision has passed; a heap
        self.sums = Sums()
        self._kept: dict[str, KeptArm] = {}  # by unit, where units keep their arms
        self.log: LearntLog | None = None  # that was learnt from, and how many of its rows:
        self.observations = 0
        self.amendments: list[int] = []  # the entries of changes, oldest first
        self.amendment_keys: dict[str, str | None] = {}  # and digests of what was asked under them
        self._reshapings: list[tuple[int, Reshaping]] = []  # by the entries that moved arms or features
        self._relearnt: dict[str, Correction] = {}
        self.residues: dict[int, Residue] = {}
        self.erased_spans: list[tuple[int, int]] = []  # from the first entry erased to the one that says so

    # Decisions

    def look_up(self, keys: Iterable[str]) -> None:
        """Reads decisions that are not open from the journal, all at once; `find` finds them then."""
        closed = (key for key in dict.fromkeys(keys) if key not in self.open and key not in self._closed)
        self._read([key for key in closed if key in self.keys])

    def _read(self, keys: list[str]) -> None:
        entries = [entry for entry in self._history(keys) if entry.number <= self.number] if keys else []
        self._looked_up = tracked_decisions(
            entry.erased() if entry.number in self.residues else entry for entry in entries
        )

    def find(self, key: str) -> TrackedDecision | None:
        """The decision of a key, open or not; None if it has none."""
        tracked = self._in_memory(key)
        if tracked is not None or key not in self.keys:
            return tracked
        self._read([key])
        if key not in self._looked_up:
            raise DamagedJournal(
                f"there is a decision {key!r}, and the store does not find it: verify the study"
            )
        return self._looked_up[key]

    def decision_of(self, key: str) -> TrackedDecision:
        """The decision of a key, as `find` gives it; UnknownDecision if it never had one."""
        tracked = self.find(key)
        if tracked is None:
            raise UnknownDecision(f"the study {self.name!r} never took a decision {key!r}")
        return tracked

    def _in_memory(self, key: str) -> TrackedDecision | None:
        return self.open.get(key) or self._closed.get(key) or self._looked_up.get(key)

    def forget_closed(self, number: int) -> None:
        """Drops closed decisions whose last event is on disk, up to an entry: the journal has them."""
        self._closed = {key: each for key, each in self._closed.items() if each.number > number}

    def next_due(self, now: int) -> TrackedDecision | None:
        """An open decision whose time has passed, if there is one."""
        while self._due and self._due[0][0] <= now:
            _, number, key = self._due[0]
            tracked = self.open.get(key)
            if tracked is not None and tracked.decided == number:
                return tracked
            heapq.heappop(self._due)
        return None

    def place_now(self, tracked: TrackedDecision) -> tuple[int, DesignRow]:
        """Where the arm of a decision is now, and what its reward is learnt on now."""
        assert tracked.decision is not None
        assert tracked.on is not None
        arm, on = tracked.decision.arm, tracked.on
        for number, moved in self._reshapings:
            arm = moved.place(arm) if number > tracked.decided else arm
            on = moved.on(on) if number > tracked.on_since else on
        return arm, on

    def kept_arm(self, unit: str, now: int) -> Label | None:
        """The arm that a unit keeps, by its label or, where arms have none, by its index; None for none."""
        kept, lasts = self._kept.get(unit), self.rules.stickiness
        if kept is None or (lasts is not None and now - kept.at >= lasts):
            return None
        if kept.label is not None:
            return kept.label
        arm = kept.arm
        for number, moved in self._reshapings:
            arm = moved.place(arm) if number > kept.number else arm
        return None if arm == GONE else arm

    def refuse_half_learnt(self) -> None:
        """Refuses to go on before the log that is awaited was learnt from, or while it is in part."""
        if self.rules.awaits_log and self.log is None:
            raise NotReady(f"the study {self.name!r} is to learn from a log before its first decision")
        if self.log is not None and self.observations < self.log.rows:
            raise NotReady(
                f"the study {self.name!r} has learnt {self.observations} of {self.log.rows} rows of the log "
                f"{self.log.digest}: let it learn from the same log once more"
            )

    # Events

    def apply(self, event: Event) -> None:
        """Takes the next event of the journal."""
        number, content = self.number + 1, event.content
        if number in self.residues:
            self._apply_residue(event, self.residues[number])
        elif isinstance(content, Decided):
            record = content.record(event.key)
            self.bandit.enter(record)
            self.sums.add_decision(event.at, record.decision)
            self._await_reward(TrackedDecision.begun(number, event, record.decision, record.on))
            if self.rules.sticky and event.unit:
                self._kept[event.unit] = KeptArm(record.decision.label, record.decision.arm, event.at, number)
        elif isinstance(content, Assigned):
            tracked = TrackedDecision.assigned(number, event, content)
            self.sums.add_assigned(event, content)
            self._await_reward(tracked)
        elif isinstance(content, Rewarded):
            tracked = self._decided_before(number, event.key)
            if event.kind is not EventKind.LATE:
                self._learn(tracked, event, content)
            before = tracked.state
            tracked.apply(number, event)
            self.sums.move(before.value, tracked.state.value)
            self.open.pop(event.key, None)
            self._closed[event.key] = tracked
        elif isinstance(content, Amended):
            self._amend(number, content)
        elif isinstance(content, LearntLog):
            self.log = content
            self.bandit.taught = self.bandit.taught + Fingerprint(content.marks)
        elif isinstance(content, Observation):
            self._observe(content)
        elif not isinstance(content, Forgotten):  # whose residues were known before the first entry was read
            raise DamagedJournal(f"entry {number} was erased, and nothing says what is left of it")
        self.number = number

    def _apply_residue(self, event: Event, residue: Residue) -> None:
        """Counts a round that was erased; of a reward that was, nothing is left."""
        if event.kind in DECISIONS:
            self.keys.add(event.key)
            self.sums.erase(event.kind)
        self.observations += event.kind is EventKind.OBSERVATION
        if residue.t:
            note = None if residue.note is None else policy_state_from_record(residue.note)
            status = None if residue.turn is None else ScheduleStatus(residue.turn)
            counts = residue.t, residue.explored, status, residue.loss, residue.different
            self.bandit.enter_erased(*counts, note)

    def _await_reward(self, tracked: TrackedDecision) -> None:
        self.open[tracked.key] = tracked
        self.keys.add(tracked.key)
        if self._patience is not None:
            heapq.heappush(self._due, (tracked.at + self._patience, tracked.decided, tracked.key))

    def _decided_before(self, number: int, key: str) -> TrackedDecision:
        """The decision that an entry tells of; a replay from a snapshot may not know its key."""
        if self._in_memory(key) is None:
            self._read([key])
        tracked = self._in_memory(key)
        if tracked is None:
            raise DamagedJournal(f"entry {number} tells of {key!r}, which was never decided")
        if tracked.decision is None:
            raise DamagedJournal(f"a reward is told of {key!r}, which was erased")
        return tracked

    def _learn(self, tracked: TrackedDecision, event: Event, content: Rewarded) -> None:
        """Learns a first reward, or nothing where there is none; of a closed decision, that it is another."""
        key, at, decision = tracked.key, tracked.at, tracked.decision
        assert decision is not None
        after = None if content.reward is None else tracked.reward_after(event.kind, content)
        if after is not None and tracked.reward is None:
            self._note_learnt(tracked, content, after)
        if tracked.held_out:
            self.sums.change_held_reward(tracked.reward, after)
        elif after is None:
            if tracked.is_round:
                self.bandit.drop(key)
        elif tracked.is_round and key in self.open:
            self.bandit.tell(key, after, weight=content.weight)
            self.sums.add_reward(at, decision, after, event.at)
        else:
            learnt = self._relearnt.get(key, tracked.learnt)
            if tracked.reward is None:
                learnt = Correction(content.weight, (0, None))
            self.bandit.correct(decision, *self.place_now(tracked), tracked.reward, after, learnt)
            if tracked.reward is None:
                self.sums.add_reward(at, decision, after, event.at)
            else:
                self.sums.change_reward(at, decision, tracked.reward, after)

    def _observe(self, content: Observation) -> None:
        """Learns a row of a log; so does the state that those held out are decided for by."""
        for bandit in (self.bandit, self.frozen):
            if bandit is not None:
                learn_observations(bandit, [content])
        self.observations += 1

    def _note_learnt(self, tracked: TrackedDecision, content: Rewarded, reward: float) -> None:
        """Notes how a first reward is about to be learnt, if that is not what the journal says."""
        if not self.residues or self.settings["estimator"] is None or tracked.held_out:
            return
        assert tracked.decision is not None
        is_pending = tracked.is_round and tracked.key in self.open
        on = None if is_pending else self.place_now(tracked)[1]
        learnt = self.bandit.correction(tracked.decision, reward, content.weight, on)
        if learnt != Correction(content.counted, (content.turn, content.own_turn)):
            self._relearnt[tracked.key] = learnt

    def _amend(self, number: int, content: Amended) -> None:
        if content.what == "freeze":
            self.frozen = copy.deepcopy(self.bandit)
        moved = amend(self.bandit, self.settings, content.what, content.to)
        if moved is not None:
            self._reshapings.append((number, moved))
        if content.what in ARM_CHANGES and self.frozen is not None:
            amend(self.frozen, dict(self.settings), content.what, content.to)
        self.rules = Rules.of(self.settings)
        self.amendments.append(number)
        if content.key is not None:
            self.amendment_keys[content.key] = content.digest

    def rests_on_erased(self) -> bool:
        """Does this state, in the middle of a replay, miss something that there was at the time?"""
        return any(first <= self.number < last for first, last in self.erased_spans)

    # Views

    def metrics(self) -> tuple[dict[str, Any], list[int]]:
        """The figures of `Study.metrics`, but for ages; and when each pending decision was taken."""
        figures = figures_of(self.bandit, self.sums, [state.value for state in RewardState], len(self.open))
        figures = {"entries": self.number, **figures, "amendments": len(self.amendments)}
        return figures, [tracked.at for tracked in self.open.values()]

    def to_plain(self) -> dict[str, Any]:
        """All but keys and bandits, as plain data; of an open decision what the bandit does not keep."""
        kept = [
            [each.key, each.digest, each.unit, each.at, each.decided, _assigned_fields(each)]
            for each in self.open.values()
        ]
        return {
            "settings": self.settings,
            "number": self.number,
            "amendments": self.amendments,
            "amendment_keys": self.amendment_keys,
            "reshapings": [[number, moved.plain()] for number, moved in self._reshapings],
            "relearnt": [[key, *learnt] for key, learnt in self._relearnt.items()],
            "open": kept,
            "sums": msgspec.to_builtins(self.sums, str_keys=True),
            "kept": [[unit, *kept] for unit, kept in self._kept.items()],
            "log": None if self.log is None else [msgspec.to_builtins(self.log), self.observations],
        }

    @staticmethod
    def from_plain(
        name: str,
        kept: Any,
        keys: KnownKeys,
        bandit: bytes,
        frozen: bytes | None,
        given: Mapping[str, object],
        history: History,
    ) -> StudyState:
        """The state that `to_plain` gave, with its keys and bandits."""
        own = own_objects(kept["settings"], given)
        state = StudyState(name, kept["settings"], given, history, Bandit.from_bytes(bandit, **own))
        state.frozen = None if frozen is None else Bandit.from_bytes(frozen, **own)
        state.number, state.amendments = kept["number"], list(kept["amendments"])
        state.amendment_keys = dict(kept["amendment_keys"])
        state._reshapings = [(number, reshaping_of(moved)) for number, moved in kept["reshapings"]]
        state._relearnt = {
            key: Correction(counted, (number, own)) for key, counted, (number, own) in kept["relearnt"]
        }
        state.sums = msgspec.convert(kept["sums"], Sums, str_keys=True)
        pending = {decision.id: (decision, on) for decision, on in state.bandit.pending_entries()}
        on: DesignRow | None
        for key, digest, unit, at, decided, assigned in kept["open"]:
            if assigned is None:
                kind, since = EventKind.DECISION, state.number
                decision, on = pending.pop(key)
            else:
                kind, decision, since = EventKind(assigned[0]), Decision(*assigned[1]), decided
                on = None if assigned[2] is None else row_from_json(msgspec.convert(assigned[2], RowAsJSON))
            fields = key, decision, on, digest, unit, at, decided, decided, since
            state._await_reward(TrackedDecision(*fields, kind))
        state._kept = {unit: KeptArm(*fields) for unit, *fields in kept["kept"]}
        if kept["log"] is not None:
            state.log = msgspec.convert(kept["log"][0], LearntLog)
            state.observations = kept["log"][1]
        state.keys = keys
        if pending:
            raise DamagedFile("decisions are pending in the snapshot that the study does not know")
        return state

    def digest(self) -> str:
        """A hash of all that matters: two states with the same go on in the same way."""
        body = msgspec.msgpack.encode(self.to_plain(), order="sorted")
        frozen = "" if self.frozen is None else self.frozen.digest()
        _, chain, recent = self.keys.summary()
        whole = body + chain + recent + self.bandit.digest().encode() + frozen.encode()
        return blake2b(whole, digest_size=32).hexdigest()


def _assigned_fields(tracked: TrackedDecision) -> list[Any] | None:
    """All of a decision that the bandit does not have, because it is none of its rounds."""
    if tracked.is_round or tracked.decision is None:
        return None
    on = None if tracked.on is None else row_to_json(tracked.on)
    return [tracked.kind.value, list(tracked.decision), on]
