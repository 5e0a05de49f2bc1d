"""Decisions: what was chosen and why, one by one and as columns, and the record that is applied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, final, overload

import numpy as np

from infex.arrays import Bools, Floats, Integers, Label, shown
from infex.checks import real, whole
from infex.errors import DamagedFile, InfexError, InvalidRecord
from infex.models.layout import DesignRow
from infex.policies.choice import MOST_LIKELY, Reason, ScheduleStatus
from infex.registry import (
    CONVERTERS,
    Converter,
    policy_state_from_record,
    policy_state_to_record,
    reason_of,
    row_of,
    row_record,
)

RECORD_VERSION = 1
LARGEST_FLOAT = 1e308
ENDLESS = ("inf", "-inf")


class Decision(NamedTuple):
    """One decision, which cannot be changed: which arm, explored or greedy, and what was known of it.

    `id` is what to tell its reward by, `t` its round; `arm` is an index, and `label` that arm's label.
    Indices are among all arms, also where a request offers but some of them.

    `low` and `high` are estimate -+ radius width, with the confidence radius of the policy (that of LinUCB's
    default settings if it has none), which its `scale` does not change. `greedy` is the arm of the largest
    estimate among those on offer; in a greedy round it is the arm played, ties may be random, unless the
    policy has estimates of its own (least squares, LASSO). `reason` says why it explored or why not: one of
    `Reason`, or a text of your own policy's.

    `propensity` is the chance of this arm in this round, given the rounds before it, over all draws, those of
    a jittered schedule included; an arm that is not on offer has none. `explore_probability` is that of
    exploring in this round, and `base_propensity` that of this arm given that the round explores. Each is
    None where it is not known; `base_propensity` is also None where the round could not explore.
    `bandit.interval(decision)` is narrower than `low` and `high`, which hold in all rounds at once: it goes
    by the noise that was seen.
    """

    id: str
    t: int
    arm: int
    label: Label | None
    explored: bool
    greedy: int
    estimate: float
    low: float
    high: float
    propensity: float | None
    reason: Reason | str
    explore_probability: float | None
    base_propensity: float | None


class DecisionRecord(NamedTuple):
    """A `decision` that is not applied yet, and all that applying it changes.

    `bandit.enter(record)` applies it. `on` is what its reward will be learnt on, `schedule_status` what
    became of the round's exploration, `policy_state` the policy's new state (None: as it was), `loss` the
    estimated cost of exploring, `noticed` the rules that it took to read the context, such as "age
    clipped". `own_id`: did the caller choose its id? `changes`: how often arms or the policy had changed
    before it was decided; after another change it cannot be applied any more. `played` are the features
    of its arm, where arms are fixed: a bandit that has others there refuses it. `infex.to_record(record)`
    is all of it as plain data, for a journal, and `infex.from_record` gives it back.
    """

    decision: Decision
    on: DesignRow
    schedule_status: ScheduleStatus | None = None
    policy_state: Any = None
    loss: float = 0.0
    noticed: tuple[str, ...] = ()
    own_id: bool = False
    changes: int = 0
    played: tuple[float, ...] | None = None


@final
class Decisions(Sequence[Decision]):
    """Decisions, with columns; one by one they are `Decision`s, and a slice is some of them.

    `t`, `arm`, `greedy`, `explored`, `estimate`, `low`, `high`, `propensity`, `explore_probability` and
    `base_propensity` are arrays, in which a number that is not known is NaN; `ids`, `labels` and `reasons`
    are lists.

    >>> from infex import Bandit, Infex, LinUCB, every
    >>> bandit = Bandit([[1.0, 0.0], [0.6, 0.8]], Infex(LinUCB(), every(2)), labels=["plain", "rich"])
    >>> decisions: Decisions = bandit.ask_many(3)
    >>> decisions.t.tolist(), decisions.explored.tolist()
    ([1, 2, 3], [False, True, False])
    >>> bandit.tell_many(decisions, [0.0, 1.0, 0.5])
    >>> decisions[0].label, len(decisions[1:]), len(bandit.pending)
    ('plain', 2, 0)
    """

    __slots__ = ("_every",)

    def __init__(self, decisions: Iterable[Decision] = ()) -> None:
        self._every = tuple(decisions)

    def __len__(self) -> int:
        return len(self._every)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._every)

    def __repr__(self) -> str:
        return f"Decisions({len(self)}, {int(self.explored.sum())} of them explored)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Decisions) and self._every == other._every

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, place: int) -> Decision: ...

    @overload
    def __getitem__(self, place: slice) -> Decisions: ...

    def __getitem__(self, place: int | slice) -> Decision | Decisions:
        return Decisions(self._every[place]) if isinstance(place, slice) else self._every[place]

    @property
    def t(self) -> Integers:
        """The rounds."""
        return shown(np.array([each.t for each in self._every], dtype=np.int64))

    @property
    def arm(self) -> Integers:
        """The arms played."""
        return shown(np.array([each.arm for each in self._every], dtype=np.int64))

    @property
    def greedy(self) -> Integers:
        """The arms of the largest estimates."""
        return shown(np.array([each.greedy for each in self._every], dtype=np.int64))

    @property
    def explored(self) -> Bools:
        """Which of them explored."""
        return shown(np.array([each.explored for each in self._every], dtype=bool))

    @property
    def estimate(self) -> Floats:
        """What was known of each arm played."""
        return _floats(each.estimate for each in self._every)

    @property
    def low(self) -> Floats:
        """The lower ends of their intervals."""
        return _floats(each.low for each in self._every)

    @property
    def high(self) -> Floats:
        """The upper ends."""
        return _floats(each.high for each in self._every)

    @property
    def propensity(self) -> Floats:
        """The chance of each arm played, NaN where it is not known."""
        return _floats(each.propensity for each in self._every)

    @property
    def explore_probability(self) -> Floats:
        """The chance of exploring, NaN where it is not known."""
        return _floats(each.explore_probability for each in self._every)

    @property
    def base_propensity(self) -> Floats:
        """The chance of each arm if the round explores, NaN where it could not, or that is not known."""
        return _floats(each.base_propensity for each in self._every)

    @property
    def ids(self) -> list[str]:
        """What to tell each reward by."""
        return [each.id for each in self._every]

    @property
    def labels(self) -> list[Label | None]:
        """The labels of the arms played."""
        return [each.label for each in self._every]

    @property
    def reasons(self) -> list[Reason | str]:
        """Why each explored, or why not."""
        return [each.reason for each in self._every]

    def columns(self) -> dict[str, Any]:
        """All of them by the names of a `Decision`'s fields, for a log or a table: arrays and lists."""
        return {
            "id": self.ids, "t": self.t, "arm": self.arm, "label": self.labels, "explored": self.explored,
            "greedy": self.greedy, "estimate": self.estimate, "low": self.low, "high": self.high,
            "propensity": self.propensity, "reason": [str(reason) for reason in self.reasons],
            "explore_probability": self.explore_probability, "base_propensity": self.base_propensity,
        }  # fmt: skip

    def to_arrow(self) -> Any:
        """The same as a table of pyarrow, which has to be installed; what is not known is null there."""
        import pyarrow as pa

        columns = self.columns()
        columns["label"] = [None if label is None else str(label) for label in columns["label"]]
        return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def _floats(values: Iterable[float | None]) -> Floats:
    return shown(np.array(list(values), dtype=np.float64))  # None becomes NaN


def decision_record(decision: Decision) -> dict[str, Any]:
    """A decision as plain data; an interval may have no end, which JSON has no number for."""
    ends = {
        name: end if math.isfinite(end) else str(end)
        for name, end in (("low", decision.low), ("high", decision.high))
    }
    return decision._asdict() | {"reason": str(decision.reason)} | ends


def decision_from(kept: object) -> Decision:
    """The decision of such a record, each field checked."""
    if not isinstance(kept, dict) or set(kept) != set(Decision._fields):
        raise DamagedFile("a decision lacks what it needs")
    name, label = kept["id"], kept["label"]
    if not isinstance(name, str) or not isinstance(kept["reason"], str) or not name:
        raise DamagedFile("a decision has an id or a reason that is no text")
    if label is not None and not isinstance(label, str):
        whole("a label", label, error=DamagedFile)
    _truth("explored", kept["explored"])
    numbers: dict[str, Any] = {
        "t": whole("t", kept["t"], least=1, error=DamagedFile),
        "arm": whole("arm", kept["arm"], least=0, error=DamagedFile),
        "greedy": whole("greedy", kept["greedy"], least=0, error=DamagedFile),
        "estimate": _real("estimate", kept["estimate"], -LARGEST_FLOAT),
    }
    for end in ("low", "high"):
        endless = kept[end] in ENDLESS
        numbers[end] = float(kept[end]) if endless else _real(end, kept[end], -LARGEST_FLOAT)
    for share in ("propensity", "explore_probability", "base_propensity"):
        numbers[share] = None if kept[share] is None else _real(share, kept[share], 0.0, MOST_LIKELY)
    return Decision(**kept | numbers | {"reason": reason_of(kept["reason"])})


def _record_of(record: DecisionRecord) -> dict[str, Any]:
    kept = {
        "kind": "DecisionRecord", "version": RECORD_VERSION,
        "decision": decision_record(record.decision),
        "on": row_record(record.on),
        "turn": None if record.schedule_status is None else record.schedule_status.value,
        "note": policy_state_to_record(record.policy_state),
        "loss": record.loss,
        "own_id": record.own_id,
        "changes": record.changes,
        "played": None if record.played is None else list(record.played),
    }  # fmt: skip
    return kept | ({"noticed": list(record.noticed)} if record.noticed else {})


def _record_from(kept: object) -> DecisionRecord:
    if not isinstance(kept, dict):
        raise InvalidRecord(f"a decision to be applied must be a mapping, got a {type(kept).__name__}")
    if kept.get("kind") != "DecisionRecord" or kept.get("version") != RECORD_VERSION:
        found = f"{kept.get('kind')!r} of version {kept.get('version')!r}"
        raise InvalidRecord(f"a decision to be applied must be of version {RECORD_VERSION}, got {found}")
    try:
        row = kept["played"]
        return DecisionRecord(
            decision_from(kept["decision"]),
            row_of(kept["on"]),
            None if kept["turn"] is None else ScheduleStatus(kept["turn"]),
            policy_state_from_record(kept["note"]),
            _real("loss", kept["loss"], 0.0),
            tuple(kept.get("noticed", ())),
            _truth("own_id", kept["own_id"]),
            whole("changes", kept["changes"], least=0, error=DamagedFile),
            None if row is None else tuple(_real("a feature", x, -LARGEST_FLOAT) for x in row),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, InfexError) as error:
        raise InvalidRecord(f"a decision to be applied cannot be read: {error}") from None


def _decision_alone(decision: Decision) -> dict[str, Any]:
    return {"kind": "Decision", "version": RECORD_VERSION} | decision_record(decision)


def _decision_read(kept: dict[str, Any]) -> Decision:
    if kept.get("version") != RECORD_VERSION:
        found = kept.get("version")
        raise InvalidRecord(f"version {found!r} of Decision is not known, only {RECORD_VERSION}")
    try:
        return decision_from({name: part for name, part in kept.items() if name not in ("kind", "version")})
    except (KeyError, TypeError, ValueError, InfexError) as error:
        raise InvalidRecord(f"a decision cannot be read: {error}") from None


CONVERTERS[Decision] = Converter(_decision_alone, _decision_read)
CONVERTERS[DecisionRecord] = Converter(_record_of, _record_from)


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise DamagedFile(f"{name} must be True or False, got {value!r}")
    return value


def _real(name: str, value: object, least: float, most: float = LARGEST_FLOAT) -> float:
    return real(name, value, least=least, most=most, error=DamagedFile)
