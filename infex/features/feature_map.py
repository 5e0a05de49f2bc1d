"""What a bandit asks of a feature map."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from infex.arrays import Floats, Label
from infex.errors import InvalidArms, InvalidContext, InvalidSetting


@runtime_checkable
class FeatureMap(Protocol):
    """What a bandit asks of a map; one of your own needs these four."""

    @property
    def dim(self) -> int:
        """How many features a row has."""

    @property
    def count(self) -> int:
        """How many arms there are."""

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The labels of the arms, if they have any."""

    def __call__(self, context: object) -> Floats:
        """The rows of all arms in a context, (K, d), none longer than 1."""


def checked_map(features: object) -> FeatureMap | None:
    """`features`, if it is a map."""
    if features is None:
        return None
    if isinstance(features, type) or not isinstance(features, FeatureMap):
        raise InvalidSetting(f"features must be a map such as infex.features.disjoint, got {features!r}")
    return features


def refuse_all_but_context(context: object, arms: object, labels: object) -> None:
    """Refuses a question to a map that is not a context alone."""
    if arms is not None or labels is not None:
        raise InvalidArms(
            "the arms and labels of this bandit come from its feature map: give a context alone"
        )
    if context is None:
        raise InvalidContext("this bandit joins its arms with a context: give it, as in ask(context=...)")
