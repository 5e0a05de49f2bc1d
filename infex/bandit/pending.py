"""Decisions that wait for their reward, by their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers, fitting, fitting_rows
from infex.bandit.decision import Decision, Decisions
from infex.checks import whole
from infex.errors import DamagedFile, DuplicateId
from infex.models.base import Arrays
from infex.models.layout import NO_PLACE, DesignRow, DesignRows, Layout, PerArm
from infex.models.pending import PendingBatch
from infex.policies.choice import MOST_LIKELY
from infex.registry import reason_of

MOST_ARMS = 2**53
WHOLES = ("t", "arm", "greedy")
ENDS = ("low", "high")
SHARES = ("propensity", "explore_probability", "base_propensity")


class PendingEntry(NamedTuple):
    """A pending decision, and what its reward is learnt on."""

    decision: Decision
    on: DesignRow


@final
class Pending:
    """Pending decisions, oldest first."""

    __slots__ = ("_by_id",)

    def __init__(self, by_id: Mapping[str, PendingEntry] | None = None) -> None:
        self._by_id = dict(by_id or {})

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[PendingEntry]:
        return iter(self._by_id.values())

    @property
    def oldest(self) -> int | None:
        """The round of the oldest decision; None if there is none."""
        first = next(iter(self._by_id.values()), None)
        return None if first is None else first.decision.t

    def refuse(self, key: str) -> None:
        """Refuses an id that a pending decision has."""
        if key in self._by_id:
            raise DuplicateId(f"decision {key!r} waits for its reward already: ids may not come twice")

    def add(self, decision: Decision, on: DesignRow) -> None:
        """One more."""
        self._by_id[decision.id] = PendingEntry(decision, on)

    def find(self, key: str) -> PendingEntry | None:
        """The one with that id, if it is pending."""
        return self._by_id.get(key)

    def remove(self, key: str) -> None:
        """One less."""
        del self._by_id[key]

    def remove_after(self, t: int) -> None:
        """Decisions of rounds after t were never taken."""
        while self._by_id and next(reversed(self._by_id.values())).decision.t > t:
            self._by_id.popitem()

    def change(self, changed: Callable[[DesignRow], DesignRow]) -> None:
        """Brings what rewards are learnt on to other arms or features."""
        self._by_id = {key: PendingEntry(each, changed(on)) for key, (each, on) in self._by_id.items()}

    def batch(self) -> PendingBatch:
        """What all of them are learnt on, which of them explored, and their estimates."""
        decisions = Decisions(decision for decision, _ in self)
        return PendingBatch(DesignRows.of(on for _, on in self), decisions.explored, decisions.estimate)

    def arrays(self, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """All of them: texts as plain data, numbers as arrays whose names begin with `prefix`."""
        decisions, design = Decisions(decision for decision, _ in self), DesignRows.of(on for _, on in self)
        texts = {
            "ids": decisions.ids,
            "labels": decisions.labels,
            "reasons": list(map(str, decisions.reasons)),
        }
        columns: Arrays = {
            name: column for name, column in decisions.columns().items() if isinstance(column, np.ndarray)
        }
        columns |= {"place": design.place, "row": design.row, "rows": design.rows}
        return texts, {f"{prefix} {name}": array for name, array in columns.items()}

    @staticmethod
    def restored(texts: Mapping[str, Any], arrays: Arrays, prefix: str, layout: Layout, t: int) -> Pending:
        """Those of a file of t rounds, each checked."""
        columns = {
            name.removeprefix(f"{prefix} "): array
            for name, array in arrays.items()
            if name.startswith(f"{prefix} ")
        }
        ids, labels, reasons = (_texts(texts, name) for name in ("ids", "labels", "reasons"))
        count = len(ids)
        if not len(labels) == len(reasons) == count or len(set(ids)) < count:
            raise DamagedFile("ids, labels and reasons of pending decisions do not fit together")
        rounds, arm, greedy = (_wholes(name, columns[name], count, 0) for name in WHOLES)
        if (np.diff(rounds) <= 0).any() or (count and not 1 <= rounds[0] <= rounds[-1] <= t):
            raise DamagedFile(f"the rounds of pending decisions do not go up from 1 to {t}")
        explored = columns["explored"]
        if explored.dtype != np.bool_ or explored.shape != (count,):
            raise DamagedFile(f"which of {count} decisions explored is {explored.dtype} of {explored.shape}")
        estimate: Floats = fitting("the estimates of pending decisions", columns["estimate"], (count,))
        low, high = (_numbers(name, columns[name], count) for name in ENDS)
        if np.isnan(low).any() or np.isnan(high).any():
            raise DamagedFile("an end of the interval of a pending decision is no number")
        shares = [_shares(columns[name], count) for name in SHARES]
        design = _design(columns, count, layout)
        found = {}
        for place in range(count):
            propensity, explore_probability, base_propensity = (share[place] for share in shares)
            decision = Decision(
                ids[place], int(rounds[place]), int(arm[place]), labels[place], bool(explored[place]),
                int(greedy[place]), float(estimate[place]), float(low[place]), float(high[place]),
                propensity, reason_of(reasons[place]), explore_probability, base_propensity,
            )  # fmt: skip
            found[decision.id] = PendingEntry(decision, design.on(place))
        return Pending(found)


def _texts(texts: Mapping[str, Any], name: str) -> list[Any]:
    found = texts[name]
    if not isinstance(found, list):
        raise DamagedFile(f"the {name} of pending decisions are no list")
    for text in found:
        if name == "labels" and (text is None or isinstance(text, int)):
            whole("a label", 0 if text is None else text, error=DamagedFile)
        elif not isinstance(text, str) or (name == "ids" and not text):
            raise DamagedFile(f"one of the {name} of pending decisions is no text")
    return found


def _wholes(name: str, array: Any, count: int, least: int) -> Integers:
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise DamagedFile(f"{name} of {count} pending decisions is {array.dtype} of {array.shape}")
    if count and not (int(array.min()) >= least and int(array.max()) <= MOST_ARMS):
        raise DamagedFile(f"{name} of a pending decision must be from {least} to {MOST_ARMS}")
    found: Integers = array.astype(np.int64)
    return found


def _numbers(name: str, array: Any, count: int) -> Floats:
    if array.dtype != np.float64 or array.shape != (count,):
        raise DamagedFile(f"{name} of {count} pending decisions is {array.dtype} of {array.shape}")
    found: Floats = array
    return found


def _shares(array: Any, count: int) -> list[float | None]:
    shares = _numbers("a probability", array, count)
    if not (np.isnan(shares) | ((shares >= 0.0) & (shares <= MOST_LIKELY))).all():
        raise DamagedFile("a probability of a pending decision is not from 0 to 1")
    return [None if share != share else share for share in shares.tolist()]  # NaN is not known


def _design(columns: Arrays, count: int, layout: Layout) -> DesignRows:
    apart = isinstance(layout, PerArm)
    dim, arms = (layout.row, layout.arms) if isinstance(layout, PerArm) else layout.shape
    place, row = (_wholes(name, columns[name], count, -1) for name in ("place", "row"))
    given = columns["rows"]
    rows = fitting_rows("rows of pending decisions", given, dim) if given.size else np.zeros((0, dim))
    for name, numbers, most in (("an arm", place, arms), ("a row", row, len(rows))):
        if count and not int(numbers.max()) < most:
            raise DamagedFile(f"{name} that a pending decision is learnt on is not there")
    if ((row < 0) if apart else (place >= 0) == (row >= 0)).any():
        raise DamagedFile("a pending decision is learnt on both an arm and a row, or on neither")
    return DesignRows(np.maximum(place, NO_PLACE), row, rows, apart)
