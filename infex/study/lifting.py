"""What a study gains over those who were held out, with an interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple

from infex.checks import real
from infex.study.cases import Case, EntryKind, RewardState, kind_of
from infex.study.contents import RewardContent, content_of
from infex.study.entries import Entry

FEWEST_UNITS = 2


class Lift(NamedTuple):
    """Mean rewards of those the study decides for, and of those held out; their difference and its interval.

    Decisions without a reward that counts are left out. The interval is that of a normal law, with what
    decisions of one unit have in common: each unit counts as one draw. It is None where fewer than two units
    on a side have rewards.
    """

    mean: float | None
    held_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    decisions: int
    held_decisions: int
    units: int
    held_units: int


class _Side:
    """Rewards of one side: sums by unit."""

    def __init__(self) -> None:
        self.sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def change(self, unit: str, reward: float, count: int) -> None:
        sums = self.sums[unit]
        sums[0] += count
        sums[1] += reward

    def figures(self) -> tuple[float | None, float | None, int, int]:
        """The mean, its variance, and how many decisions and units there are."""
        kept = [each for each in self.sums.values() if each[0] > 0]
        count, units = sum(each[0] for each in kept), len(kept)
        if not kept:
            return None, None, 0, 0
        mean = math.fsum(each[1] for each in kept) / count
        if units < FEWEST_UNITS:
            return mean, None, int(count), units
        squares = math.fsum((total - mean * size) ** 2 for size, total in kept)
        return mean, squares / count**2 * units / (units - 1), int(count), units


def lift_of(entries: Iterable[Entry], confidence: float) -> Lift:
    """The lift that the entries of a journal show."""
    level = real("confidence", confidence, above=0, most=1 - 1e-12)
    sides: tuple[_Side, _Side] = _Side(), _Side()
    cases: dict[str, tuple[int, str, Case]] = {}
    for entry in entries:
        kind = kind_of(entry)
        if entry.content is None:
            cases.pop(entry.key, None)
        elif kind in (EntryKind.DECISION, EntryKind.HELD):
            case = Case(None, None, b"", "", entry.at, entry.number, entry.number)
            cases[entry.key] = int(kind is EntryKind.HELD), entry.unit or entry.key, case
        elif entry.key in cases and kind is not EntryKind.LATE:
            side, unit, case = cases[entry.key]
            _count(sides[side], unit, case, kind, entry)
    return _joined(sides[0].figures(), sides[1].figures(), level)


def _count(side: _Side, unit: str, case: Case, kind: EntryKind, entry: Entry) -> None:
    before, was_open = case.reward, case.state is RewardState.PENDING
    case.told(kind, content_of(RewardContent, entry.number, entry.content or b""), entry.number, entry.at)
    if case.reward is not None:
        side.change(unit, case.reward - (before or 0.0), int(was_open or before is None))


def _joined(
    main: tuple[float | None, float | None, int, int],
    held: tuple[float | None, float | None, int, int],
    level: float,
) -> Lift:
    difference = low = high = None
    if main[0] is not None and held[0] is not None:
        difference = main[0] - held[0]
        if main[1] is not None and held[1] is not None:
            margin = NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(main[1] + held[1])
            low, high = difference - margin, difference + margin
    return Lift(main[0], held[0], difference, low, high, main[2], held[2], main[3], held[3])
