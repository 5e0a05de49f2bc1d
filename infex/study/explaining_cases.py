"""Why a decision was taken: read from the journal, and decided once more to prove it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, final

import msgspec
import numpy as np

from infex.bandit import Decision
from infex.errors import UnknownDecision
from infex.registry import label_of, policy_state_to_record
from infex.study.cases import Case, RewardState, case_of
from infex.study.contents import (
    DecisionContent,
    HeldContent,
    content_of,
    decision_content,
    held_content,
    record_from,
)
from infex.study.entries import Entry
from infex.study.holding_out import held_decision, offered_truths
from infex.study.opening import replayed
from infex.study.rules import MICROSECONDS
from infex.study.standing import Standing
from infex.study.store import Store
from infex.study.study_settings import Settings


class OfferSeen(NamedTuple):
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
    it, 0 for none. `software` is the infex that decided, `digest` that of the state before.

    `proven` says that deciding once more, on the state that the journal gives, came to the same to the last
    bit; None where that cannot be: something that the state rested on was erased since. `request` and `unit`
    are shown if they are asked for.
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
    offers: tuple[OfferSeen, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    digest: str = ""
    proven: bool | None = None
    request: dict[str, Any] | None = None
    unit: str | None = None

    def plain(self) -> dict[str, Any]:
        """All of it as plain data, for JSON."""
        found: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        decision = None if self.decision is None else _plain_decision(self.decision)
        return found | {"decision": decision, "offers": [offer._asdict() for offer in self.offers]}


def _plain_decision(decision: Decision) -> dict[str, Any]:
    ends = {"low": _finite(decision.low), "high": _finite(decision.high)}
    return decision._asdict() | {"reason": str(decision.reason)} | ends


def _finite(end: float) -> float | str:
    return end if np.isfinite(end) else str(end)


def explanation_of(
    store: Store, name: str, given: Settings, key: str, contents: bool = False, prove: bool = True
) -> Explanation:
    """That of a key; with `prove`, the journal is replayed up to the decision."""
    entries = store.of_key(name, key)
    case = case_of(key, entries)
    if case is None:
        raise UnknownDecision(f"the study {name!r} never took a decision {key!r}")
    told = _what_became(key, case, contents)
    if case.decision is None or entries[0].content is None:
        return Explanation(**told)
    content: DecisionContent | HeldContent
    if case.held:
        content = content_of(HeldContent, entries[0].number, entries[0].content)
    else:
        content = content_of(DecisionContent, entries[0].number, entries[0].content)
    request = msgspec.json.decode(content.request)
    told |= {"software": content.by, "request": request if contents else None}
    if isinstance(content, DecisionContent):
        told |= {"turn": content.turn, "loss": content.loss, "noticed": tuple(content.noticed)}
    if prove:
        told |= _looked_back(store, name, given, entries[0], content, request)
    return Explanation(**told)


def _what_became(key: str, case: Case, contents: bool) -> dict[str, Any]:
    return {
        "key": key,
        "state": case.state,
        "decision": case.decision,
        "entry": case.decided,
        "at": time_of(case.at),
        "reward": case.reward,
        "told_at": None if case.told_at is None else time_of(case.told_at),
        "late": case.late,
        "unit": (case.unit or None) if contents else None,
    }


def _looked_back(
    store: Store,
    name: str,
    given: Settings,
    entry: Entry,
    content: DecisionContent | HeldContent,
    request: Any,
) -> dict[str, Any]:
    """What the state was before an entry, and whether it decides the same."""
    standing, _ = replayed(store, name, given, snapshots=False, before=entry.number)
    bandit, shares = standing.bandit, {}
    if isinstance(content, HeldContent):
        proven = holds_out_again(standing, entry.key, content, request)
    else:
        shares = bandit.contributions(record_from(entry.key, content).on)
        proven = decides_again(standing, entry.key, content, request)
    asked = {word: request.get(word) for word in ("arms", "labels", "context")}
    offers = bandit.estimates(**asked)
    mask = offered_truths(request, offers.label.tolist())
    return {
        "policy": label_of(bandit.policy),
        "amendment": standing.amendments[-1] if standing.amendments else 0,
        "exploration": bandit.exploration()._asdict(),
        "controls": policy_state_to_record(bandit.policy_state),
        "offers": tuple(
            OfferSeen(arm, label, float(estimate), float(low), float(high), mask[arm])
            for arm, (label, estimate, low, high, _) in enumerate(offers.tolist())
        ),
        "shares": shares,
        "digest": bandit.digest(),
        "proven": proven,
    }


def decides_again(standing: Standing, key: str, content: DecisionContent, request: Any) -> bool | None:
    """Does this state decide so too? None if it cannot, as some of what it rested on was erased since."""
    if standing.is_erased_after(standing.number):
        return None
    again = standing.bandit.decide(**request, id=key)
    return decision_content(again, bytes(content.request), content.by) == content


def holds_out_again(standing: Standing, key: str, content: HeldContent, request: Any) -> bool | None:
    """The same for a decision of the fixed rule, for somebody who is held out."""
    if standing.is_erased_after(standing.number):
        return None
    again = held_decision(standing.bandit, standing.frozen, standing.rules.holdout_policy, key, request)
    if content.greedy is None:  # an entry from before the model's figures were kept
        return (again.t, again.arm, again.label) == (content.t, content.arm, content.label)
    return held_content(again, bytes(content.request), content.by) == content


def time_of(at: int) -> datetime:
    """A time of the journal."""
    return datetime.fromtimestamp(at / MICROSECONDS, UTC)
