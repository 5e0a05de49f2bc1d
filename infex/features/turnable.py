"""Maps whose arms come and go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, Self, runtime_checkable

from infex.arrays import Label, brief
from infex.errors import InvalidArms
from infex.features.feature_map import FeatureMap

Names = tuple[Label, ...] | None


@runtime_checkable
class TurningMap(FeatureMap, Protocol):
    """A map that gives the same with more arms, or with fewer."""

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Self:
        """The same with more arms behind the others."""

    def without(self, gone: set[int]) -> Self:
        """The same without the arms at these places, which are not all of them."""


def listed_labels(arms: object) -> tuple[Label, ...]:
    """One label, or several."""
    if isinstance(arms, str | int) or not isinstance(arms, Iterable):
        return (arms,)  # type: ignore[return-value] # `labels_of` refuses what is no label
    return tuple(arms)


def both_labels(old: Names, new: Names) -> Names:
    """The labels of arms and of those behind them: either all have one, or none."""
    if (old is None) != (new is None):
        has = "have none" if old is None else f"are {brief(old)}"
        raise InvalidArms(f"either all arms have labels or none; this bandit's {has}")
    return None if old is None or new is None else (*old, *new)


def without(labels: Names, gone: set[int]) -> Names:
    """The labels that stay."""
    return None if labels is None else tuple(labels[place] for place in staying(len(labels), gone))


def staying(count: int, gone: set[int]) -> list[int]:
    """The places that stay of so many."""
    return [place for place in range(count) if place not in gone]
