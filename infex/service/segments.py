"""What was shown to whom: decisions and rewards counted by the values of named columns of contexts.

Contexts are personal data. Nothing is kept of them but counts, which are shown of ten decisions or more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, final

import msgspec

from infex.features.table import ContextTable, is_missing
from infex.features.vectors import values_of

FEWEST = 10  # decisions, and rewards, of which anything is shown
MOST_VALUES = 50  # of a column; further ones are "other"
MOST_ARMS = 1000
BINS = 4  # of numbers
OTHER, OTHER_ARMS, MISSING = "other", "other arms", "missing"


class ArmSums(msgspec.Struct):
    """What an arm was shown and brought."""

    decisions: int = 0
    rewards: int = 0
    reward: float = 0.0

    def add(self, other: ArmSums) -> None:
        """Both as one."""
        self.decisions += other.decisions
        self.rewards += other.rewards
        self.reward += other.reward

    def plain(self, fewest: int = 1) -> dict[str, Any]:
        """As plain data; the mean reward is None where it would be of fewer rewards."""
        mean = self.reward / self.rewards if self.rewards >= fewest else None
        return {"decisions": self.decisions, "rewards": self.rewards, "mean": mean}


ByArm = dict[str, ArmSums]


@final
class Segments:
    """Sums by arm, and by arm for each value of each column of contexts that have names.

    Numbers are counted in four equal parts of their range. `plain` follows in steps of at least ten decisions
    and, where there are any, ten rewards: whoever watches it cannot tell the context of a single decision.
    """

    def __init__(self) -> None:
        self.arms: ByArm = {}
        self._tables: list[tuple[int, ContextTable]] = []  # by the entries since which they are in force
        self._columns: dict[str, dict[str, ByArm]] = {}
        self._decisions = self._rewards = 0  # since what is shown was counted
        self._shown: dict[str, Any] = {}

    def begin(self, number: int, table: ContextTable) -> None:
        """From an entry on, contexts have these columns."""
        self._tables.append((number, table))

    def extend(self, number: int, numbers: Mapping[str, Any], categories: Mapping[str, Any]) -> None:
        """From an entry on, contexts have further columns, or values."""
        if self._tables:
            self.begin(number, self._tables[-1][1].extended(numbers, categories))

    def values(self, number: int, context: object) -> list[tuple[str, str]]:
        """The columns of the context of a decision, which is this entry, each with its value."""
        place = bisect_right(self._tables, number, key=lambda each: each[0])
        if not place or context is None:
            return []
        table = self._tables[place - 1][1]
        found = zip(table.inputs, values_of(context, table.inputs), strict=True)
        ranges, categories = dict(table.numbers), dict(table.categories)
        return [
            (name, _bin(value, *ranges[name]) if name in ranges else _category(value, categories[name]))
            for name, value in found
        ]

    def add_decision(self, arm: str, values: Iterable[tuple[str, str]]) -> None:
        """Counts a decision for a context of these values."""
        self._decisions += 1
        for sums in self._sums(arm, values):
            sums.decisions += 1

    def add_reward(self, arm: str, values: Iterable[tuple[str, str]], is_first: bool, reward: float) -> None:
        """Adds a reward of such a decision, or what was added to it."""
        self._rewards += 1
        for sums in self._sums(arm, values):
            sums.rewards += is_first
            sums.reward += reward

    def _sums(self, arm: str, values: Iterable[tuple[str, str]]) -> list[ArmSums]:
        name = arm if arm in self.arms or len(self.arms) < MOST_ARMS else OTHER_ARMS
        places = [self._columns.setdefault(column, {}).setdefault(value, {}) for column, value in values]
        return [place.setdefault(name, ArmSums()) for place in (self.arms, *places)]

    def plain(self) -> dict[str, Any]:
        """By column and value: decisions, rewards, their mean, and the same by arm; no group is small."""
        if self._decisions >= FEWEST and not 0 < self._rewards < FEWEST:
            self._decisions = self._rewards = 0
            self._shown = {column: _folded(values) for column, values in self._columns.items()}
        return self._shown


def _folded(values: dict[str, dict[str, ArmSums]]) -> dict[str, Any]:
    """The values of a column; those of few decisions are one, and so are arms that were shown rarely."""
    shown: dict[str, int] = {}
    for by_arm in values.values():
        for arm, sums in by_arm.items():
            shown[arm] = shown.get(arm, 0) + sums.decisions
    found: dict[str, ByArm] = {}
    for value, by_arm in values.items():
        is_few = sum(sums.decisions for sums in by_arm.values()) < FEWEST
        group = found.setdefault(OTHER if is_few else value, {})
        for arm, sums in by_arm.items():
            group.setdefault(arm if shown[arm] >= FEWEST else OTHER_ARMS, ArmSums()).add(sums)
    plain = {}
    for value, group in found.items():
        total = ArmSums()
        for sums in group.values():
            total.add(sums)
        if total.decisions >= FEWEST:
            arms = {arm: sums.plain(FEWEST) for arm, sums in group.items()}
            plain[value] = total.plain(FEWEST) | {"arms": arms}
    return plain


def _bin(value: object, low: float, high: float) -> str:
    """The part of the range in which a number lies."""
    if is_missing(value):
        return MISSING
    place = int((float(value) - low) / (high - low) * BINS)  # type: ignore[arg-type]
    first = low + (high - low) / BINS * min(max(place, 0), BINS - 1)
    return f"{first:g} to {first + (high - low) / BINS:g}"


def _category(value: object, known: tuple[object, ...]) -> str:
    if is_missing(value):
        return MISSING
    return str(value) if value in known[:MOST_VALUES] else OTHER
