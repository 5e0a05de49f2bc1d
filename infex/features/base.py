"""Protocols of encoders and feature maps, and what maps share.

An encoder makes a vector of features of a context. A feature map makes a row of features for each arm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, Self, runtime_checkable

from infex.arrays import Floats, Label, brief
from infex.checks import real, whole
from infex.errors import InvalidArms, InvalidContext, InvalidSetting

CLIPPED = "context clipped"


class Encoded(NamedTuple):
    """A context as a `vector` of features, (c,), no longer than 1.

    `noticed` are the rules that it took to read it, such as "age clipped".
    """

    vector: Floats
    noticed: tuple[str, ...] = ()


class EncodedMany(NamedTuple):
    """Contexts as `rows` of features, (n, c), none longer than 1; `noticed` counts the rules they took."""

    rows: Floats
    noticed: Mapping[str, int]


@runtime_checkable
class Encoder(Protocol):
    """Makes features of contexts: `names` name them, and a context is divided by `longest`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features."""

    @property
    def size(self) -> int:
        """How many features there are."""

    @property
    def longest(self) -> float:
        """The greatest length that the features of a context can have, by which they are divided."""

    def encode(self, context: object) -> Encoded:
        """The features of one context."""

    def encode_many(self, contexts: object) -> EncodedMany:
        """The features of many contexts, to the last bit those of each by itself."""


def checked_dim(context_dim: int | None) -> int:
    """The number of features of contexts that are plain vectors."""
    if context_dim is None:
        raise InvalidSetting("what are the contexts? give context= (as of features.table) or context_dim=")
    return whole("context_dim", context_dim, least=1)


def checked_context(
    context_dim: int | None, longest: float, context: Encoder | None
) -> tuple[int, float, Encoder | None]:
    """The number of features of contexts, their greatest length, and their encoder, if there is one.

    An encoder knows both numbers; they may be given as well, as records do.
    """
    if context is None:
        return checked_dim(context_dim), real("longest", longest, above=0), None
    if isinstance(context, type) or not isinstance(context, Encoder):
        raise InvalidSetting(
            f"context must be an encoder such as infex.features.table, got a {type(context).__name__}"
        )
    if context_dim not in (None, context.size) or longest not in (1.0, context.longest):
        raise InvalidSetting(
            "context_dim and longest are for contexts that are plain vectors; this one's encoder gives "
            f"{context.size} features, divided by {context.longest:g}: leave them out"
        )
    return context.size, context.longest, context


@runtime_checkable
class FeatureMap(Protocol):
    """What a bandit needs of a feature map: a map of your own needs these four."""

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
    """A map that divides rows by `longest`, and can give theta in the units before that."""

    @property
    def longest(self) -> float:
        """By what rows are divided."""

    def in_units(self, theta: Floats) -> Floats:
        """theta for rows before they are divided: a row for each block, if the map has blocks."""


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
    """By what a map divides its rows; 1 if it does not say."""
    return features.longest if isinstance(features, ScaledMap) else 1.0


def encoder_of(features: FeatureMap | None) -> Encoder | None:
    """The encoder of a map's contexts, if they are not plain vectors."""
    return features.context if isinstance(features, ContextMap) else None


def checked_map(features: object) -> FeatureMap | None:
    """`features`, if it is a map."""
    if features is None:
        return None
    if isinstance(features, type) or not isinstance(features, FeatureMap):
        raise InvalidSetting(f"features must be a map such as infex.features.disjoint, got {features!r}")
    return features


def check_context_alone(context: object, arms: object, labels: object) -> None:
    """Refuses a request to a map that has no context, or arms and labels as well."""
    if arms is not None or labels is not None:
        raise InvalidArms("arms and labels come from the feature map: give a context alone")
    if context is None:
        raise InvalidContext("arms are joined with a context: give `context`")


Names = tuple[Label, ...] | None


@runtime_checkable
class MutableArms(FeatureMap, Protocol):
    """A map whose arms can be added and removed."""

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Self:
        """A copy with more arms behind the others."""

    def without(self, gone: set[int]) -> Self:
        """A copy without the arms at these places, which are not all of them."""


def labels_in(arms: object) -> tuple[Label, ...]:
    """One label, or several."""
    if isinstance(arms, str | int) or not isinstance(arms, Iterable):
        return (arms,)  # type: ignore[return-value] # `labels_of` refuses what is no label
    return tuple(arms)


def joined_labels(old: Names, new: Names) -> Names:
    """The labels of old and new arms: either all arms have one, or none."""
    if (old is None) != (new is None):
        has = "have none" if old is None else f"have {brief(old)}"
        raise InvalidArms(f"either all arms have labels or none; those there are {has}")
    return None if old is None or new is None else (*old, *new)


def labels_without(labels: Names, gone: set[int]) -> Names:
    """The labels of the remaining arms."""
    return None if labels is None else tuple(labels[place] for place in remaining(len(labels), gone))


def remaining(count: int, gone: set[int]) -> list[int]:
    """The places of the remaining arms."""
    return [place for place in range(count) if place not in gone]
