"""The parts of a bandit as plain data and back; nothing of a file is believed unchecked."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from infex.arrays import Floats, Label, fitting_rows
from infex.bandit.decision import Decided, Decision
from infex.bandit.waiting import Waiting
from infex.checks import real, whole
from infex.errors import DamagedFile, InfexError, InvalidRecord
from infex.linear import InBlock, Layout, Separate
from infex.linear.offers import GONE
from infex.policies.choice import MOST_LIKELY
from infex.records.notes import reason_of, taken_of, taken_record
from infex.records.settings import KEPT, Kept
from infex.rounds import Account

COUNTS = ("t", "planned", "done", "made_up", "owed", "dropped", "forgotten")
LARGEST_FLOAT = 1e308
DECIDED_VERSION = 1
MOST_ROUNDS_KEPT = 10**15
ENDLESS = ("inf", "-inf")


def decision_record(decision: Decision) -> dict[str, Any]:
    """A decision as plain data; an interval may have no end, which JSON has no number for."""
    ends = {"low": _ended(decision.low), "high": _ended(decision.high)}
    return decision._asdict() | {"reason": str(decision.reason)} | ends


def decision_of(kept: object) -> Decision:
    """The decision that a record is of."""
    if not isinstance(kept, dict) or set(kept) != set(Decision._fields):
        raise DamagedFile("a decision lacks what it needs")
    text, label = kept["id"], kept["label"]
    if not isinstance(text, str) or not isinstance(kept["reason"], str) or not text:
        raise DamagedFile("a decision has an id or a reason that is no text")
    if label is not None and not isinstance(label, str):
        whole("a label", label, error=DamagedFile)
    _truth("explored", kept["explored"])
    counts = {name: _whole(name, kept[name]) for name in ("arm", "greedy")}
    figures = {"estimate": _real("estimate", kept["estimate"], -LARGEST_FLOAT)}
    figures |= {
        name: float(kept[name]) if kept[name] in ENDLESS else _real(name, kept[name], -LARGEST_FLOAT)
        for name in ("low", "high")
    }
    chances = {
        name: None if kept[name] is None else _real(name, kept[name], 0.0, MOST_LIKELY)
        for name in ("probability", "chance", "law")
    }
    t = whole("t", kept["t"], least=1, error=DamagedFile)
    return Decision(**kept | counts | figures | chances | {"t": t, "reason": reason_of(kept["reason"])})


def decided_record(decided: Decided) -> dict[str, Any]:
    """What was decided as plain data, for a journal: `decided_of` gives it back, to be entered."""
    parts = {"decision": decision_record(decided.decision), "taken": taken_record(decided.taken)}
    played = None if decided.played is None else list(decided.played)
    more = {"own_id": decided.own_id, "changes": decided.changes, "played": played}
    return {"kind": "Decided", "version": DECIDED_VERSION} | parts | more


def decided_of(kept: dict[str, Any]) -> Decided:
    """What a record says was decided."""
    if not isinstance(kept, dict):
        raise InvalidRecord(f"a decision to be entered must be a mapping, got a {type(kept).__name__}")
    if kept.get("kind") != "Decided" or kept.get("version") != DECIDED_VERSION:
        found = f"{kept.get('kind')!r} of version {kept.get('version')!r}"
        raise InvalidRecord(f"a decision to be entered must be of version {DECIDED_VERSION}, got {found}")
    try:
        own_id, changes = _truth("own_id", kept["own_id"]), _whole("changes", kept["changes"])
        row = kept.get("played")
        played = None if row is None else tuple(_real("a feature", x, -LARGEST_FLOAT) for x in row)
        decided = Decided(decision_of(kept["decision"]), taken_of(kept["taken"]), own_id, changes, played)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, InfexError) as error:
        raise InvalidRecord(f"what was decided cannot be read: {error}") from None
    if not decided.agrees:
        raise InvalidRecord(f"the decision {decided.decision.id!r} is not what was taken")
    return decided


def decision_alone(decision: Decision) -> dict[str, Any]:
    """A decision as a record of its own."""
    return {"kind": "Decision", "version": DECIDED_VERSION} | decision_record(decision)


def decision_read(kept: dict[str, Any]) -> Decision:
    """The decision of such a record."""
    if kept.get("version") != DECIDED_VERSION:
        found = kept.get("version")
        raise InvalidRecord(f"version {found!r} of Decision is not known, only {DECIDED_VERSION}")
    try:
        return decision_of({name: part for name, part in kept.items() if name not in ("kind", "version")})
    except (KeyError, TypeError, ValueError, InfexError) as error:
        raise InvalidRecord(f"a decision cannot be read: {error}") from None


KEPT[Decision] = Kept(decision_alone, decision_read)
KEPT[Decided] = Kept(decided_record, decided_of)


def account_record(account: Account) -> dict[str, Any]:
    """What rounds have added up to, as plain data."""
    return {
        "t": account.t, "changes": account.changes, "planned": account.planned,
        "scheduled": account.scheduled, "done": account.done,
        "made_up": account.made_up, "owed": account.owed, "dropped": account.dropped,
        "different": account.different, "cost": account.cost, "forgotten": account.forgotten,
        "recent": [list(exploration) for exploration in account.recent],
        "noticed": dict(sorted(account.noticed.items())),
    }  # fmt: skip


def restore_account(account: Account, kept: Mapping[str, Any]) -> None:
    """Takes the totals of a record, which must fit together."""
    counts = {name: _whole(name, kept[name]) for name in COUNTS}
    cost = _real("cost", kept["cost"], 0.0)
    recent = deque((_whole("round", t), _real("loss", loss, 0.0)) for t, loss in kept["recent"])
    rounds = [t for t, _ in recent]
    different = None if kept["different"] is None else _whole("different", kept["different"])
    fits = (
        max(counts.values()) == counts["t"] <= MOST_ROUNDS_KEPT
        and counts["done"] + counts["dropped"] + counts["owed"] <= counts["t"]
        and counts["made_up"] <= counts["done"]
        and rounds == sorted(set(rounds))
        and all(counts["forgotten"] < t <= counts["t"] for t in rounds)
        and len(rounds) <= counts["done"]
        and (different is None or different <= counts["done"])
        and counts["planned"] <= counts["done"] + counts["owed"] + counts["dropped"]
        and isinstance(kept["scheduled"], bool)
    )
    if not fits:
        raise DamagedFile("the totals of its rounds do not fit together")
    changes = _whole("changes", kept.get("changes", 0))
    noticed = {str(rule): _whole(rule, times) for rule, times in kept.get("noticed", {}).items()}
    if not all(0 < times <= MOST_ROUNDS_KEPT for times in noticed.values()):  # rows of logs count as well
        raise DamagedFile("what was noticed of contexts is not counted by whole numbers above 0")
    account.noticed.update(noticed)
    account.restore(
        **counts, changes=changes, scheduled=kept["scheduled"], cost=cost, different=different, recent=recent
    )


def rows_array(rows: list[Any]) -> Floats:
    """Rows of features as one array, which may have none."""
    return np.array(rows, dtype=np.float64) if rows else np.zeros((0, 0))


def waiting_of(kept: Iterable[dict[str, Any]], rows: Floats, layout: Layout, t: int) -> Waiting:
    """Pending decisions; each learns on a fixed arm, on a row of features, or on an arm in a context."""
    waiting = Waiting()
    apart = isinstance(layout, Separate)
    dim, arms = (layout.row, layout.arms) if isinstance(layout, Separate) else layout.shape
    checked_rows = fitting_rows("rows of pending decisions", rows, dim) if len(rows) else np.zeros((0, dim))
    for packed in kept:
        row, place = packed.pop("row"), packed.pop("place")
        decision = decision_of(packed)
        if decision.t > t:
            raise DamagedFile(f"decision {decision.id!r} is of round {decision.t}, and only {t} were taken")
        waiting.refuse(decision.id)
        if row is None and not apart:
            waiting.add(decision, _below("an arm that is learnt on", place, arms))
            continue
        x = np.array(checked_rows[_below("a row that is learnt on", row, len(checked_rows))])
        arm = GONE if place is None else _below("an arm that is learnt on", place, arms)
        waiting.add(decision, InBlock(arm, x) if apart else x)
    return waiting


def labels_kept(kept: object) -> tuple[Label, ...] | None:
    """Labels of arms from a file."""
    if kept is not None and not isinstance(kept, list):
        raise DamagedFile("its labels are no list")
    return None if kept is None else tuple(kept)


def lives_kept(kept: object) -> dict[str, int]:
    """Names of earlier lives from a file."""
    if not isinstance(kept, dict):
        raise DamagedFile("its earlier lives are no mapping")
    return {str(name): _whole("a round", t) for name, t in kept.items()}


def _ended(end: float) -> float | str:
    return end if math.isfinite(end) else str(end)


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise DamagedFile(f"{name} must be True or False, got {value!r}")
    return value


def _whole(name: str, value: object) -> int:
    return whole(name, value, least=0, error=DamagedFile)


def _real(name: str, value: object, least: float, most: float = LARGEST_FLOAT) -> float:
    return real(name, value, least=least, most=most, error=DamagedFile)


def _below(name: str, value: object, count: int) -> int:
    place = _whole(name, value)
    if place >= count:
        raise DamagedFile(f"{name} is number {place} of {count}")
    return place
