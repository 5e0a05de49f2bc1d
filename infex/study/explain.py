"""Why a decision was taken: read from the journal, and decided once more to prove it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, final

import msgspec
import numpy as np

from infex.bandit import Decision
from infex.errors import UnknownDecision
from infex.registry import label_of, policy_state_to_record
from infex.study.assigned import Offer
from infex.study.commands import decision_event
from infex.study.events import Assigned, Decided, Event, event_of, time_of
from infex.study.snapshot import load_state, without_erased
from infex.study.state import RewardState, StudyState, tracked_decisions
from infex.study.stores.base import Store


class OfferedArm(NamedTuple):
    """An arm: its estimate, the interval of the theory, and whether it was on offer then."""

    arm: int
    label: int | str | None
    estimate: float
    low: float
    high: float
    offered: bool = True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A decision with all that was known when it was taken, and what became of it.

    `entry` is that of the decision in the journal, `at` its time. `reward` is what counts for it now, `late`
    one that came too late. `offers` are all arms with their estimates; `shares` is what each feature added
    to the estimate of the arm that was played. `exploration` are the counts of the schedule before it,
    `controls` what limits and other controls had noted. `amendment` is the entry of the last change before
    it, 0 for none. `software` is the infex that decided, `digest` that of the bandit before.

    `proven` says that deciding once more, on the state that the journal gives, came to the same to the last
    bit; None where that cannot be: something that the state rested on was erased since. Then `offers` and
    `shares` are of a state without what was erased, which the decision never had; its own estimate and
    interval, in `decision`, stay as they were. `request` and `unit` are shown if they are asked for.
    """

    key: str
    state: RewardState
    decision: Decision | None
    entry: int
    at: datetime
    reward: float | None
    told_at: datetime | None
    late: float | None
    software: str = ""
    policy: str = ""
    amendment: int = 0
    turn: str | None = None
    loss: float = 0.0
    noticed: tuple[str, ...] = ()
    exploration: dict[str, Any] = field(default_factory=dict)
    controls: Any = None
    offers: tuple[OfferedArm, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    digest: str = ""
    proven: bool | None = None
    request: dict[str, Any] | None = None
    unit: str | None = None

    def plain(self) -> dict[str, Any]:
        """All of it as plain data, for JSON; the end of an interval that has none is None."""
        found: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        decision = None if self.decision is None else self.decision._asdict()
        if decision is not None:
            decision |= {"reason": str(decision["reason"])} | _ends(decision)
        offers = [offer._asdict() for offer in self.offers]
        return found | {"decision": decision, "offers": [offer | _ends(offer) for offer in offers]}


def _ends(interval: dict[str, Any]) -> dict[str, float | None]:
    return {end: interval[end] if np.isfinite(interval[end]) else None for end in ("low", "high")}


def explain(
    store: Store, name: str, given: Mapping[str, object], key: str, contents: bool = False, prove: bool = True
) -> Explanation:
    """The explanation of a key's decision; with `prove`, the journal is replayed up to it from a snapshot."""
    entries = list(without_erased(store, name, store.of_keys(name, [key])))
    tracked = tracked_decisions(entries).get(key)
    if tracked is None:
        raise UnknownDecision(f"the study {name!r} never took a decision {key!r}")
    found: dict[str, Any] = {
        "key": key,
        "state": tracked.state,
        "decision": tracked.decision,
        "entry": tracked.decided,
        "at": time_of(tracked.at),
        "reward": tracked.reward,
        "told_at": None if tracked.rewarded_at is None else time_of(tracked.rewarded_at),
        "late": tracked.late,
        "unit": (tracked.unit or None) if contents else None,
    }
    event = event_of(entries[0])
    content = event.content
    if tracked.decision is None or not isinstance(content, Decided | Assigned):
        return Explanation(**found)
    request = msgspec.json.decode(content.request)
    found |= {"software": content.by, "request": request if contents else None}
    if isinstance(content, Decided):
        found |= {"turn": content.turn, "loss": content.loss, "noticed": tuple(content.noticed)}
    if prove:
        state, _ = load_state(store, name, given, before=tracked.decided, with_keys=False)
        found |= _state_before(state, event, request)
    return Explanation(**found)


def _state_before(state: StudyState, event: Event, request: dict[str, Any]) -> dict[str, Any]:
    """What was known before a decision, and whether the same is decided once more."""
    bandit, content = state.bandit, event.content
    offer = Offer.of(bandit, request)
    offered = set(offer.places)
    shares = bandit.contributions(content.record(event.key).on) if isinstance(content, Decided) else {}
    return {
        "policy": label_of(bandit.policy),
        "amendment": state.amendments[-1] if state.amendments else 0,
        "exploration": bandit.exploration()._asdict(),
        "controls": policy_state_to_record(bandit.policy_state),
        "offers": tuple(
            OfferedArm(arm, label, estimate, low, high, arm in offered)
            for arm, (label, estimate, low, high, _) in enumerate(offer.table.tolist())
        ),
        "shares": shares,
        "digest": bandit.digest(),
        "proven": decides_again(state, event),
    }


def decides_again(state: StudyState, event: Event) -> bool | None:
    """Does this state decide so, too? None if it cannot, as some of what it rested on was erased since."""
    content = event.content
    if state.rests_on_erased() or not isinstance(content, Decided | Assigned):
        return None
    raw = bytes(content.request)
    options = msgspec.json.decode(raw)
    return decision_event(state, event.key, event.unit, event.at, options, raw, content.by) == event
