"""What a bandit asks of a feature map."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from infex.arrays import Floats, Label
from infex.errors import InvalidArms, InvalidContext, InvalidSetting
from infex.features.encoder import Encoder


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


@runtime_checkable
class ScaledMap(Protocol):
    """A map that divides what it is given by `longest`, and can tell theta in the units before that."""

    @property
    def longest(self) -> float:
        """By what rows are divided."""

    def in_units(self, theta: Floats) -> Floats:
        """theta for what was given, not divided: a row for each block, if the map has blocks."""


@runtime_checkable
class ContextMap(ScaledMap, Protocol):
    """A map whose rows are linear in a context: blocks of its features."""

    @property
    def context_dim(self) -> int:
        """How many features a context has."""

    @property
    def context(self) -> Encoder | None:
        """What reads contexts, if they are not plain vectors."""

    def over(self, context_dim: int, longest: float, context: Encoder | None) -> FeatureMap:
        """The same arms in other contexts."""


def unit_of(features: FeatureMap | None) -> float:
    """By what a map divides; 1 of one that does not say."""
    return features.longest if isinstance(features, ScaledMap) else 1.0


def encoder_of(features: FeatureMap | None) -> Encoder | None:
    """What reads the contexts of a map, if they are not plain vectors."""
    return features.context if isinstance(features, ContextMap) else None


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
