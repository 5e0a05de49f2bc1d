"""What turns contexts into numbers, for the maps that join them with arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from infex.arrays import Floats
from infex.checks import real, whole
from infex.errors import InvalidSetting

SHORTENED = "context shortened"


class Encoded(NamedTuple):
    """A context as features, none longer than 1, and which rules it took to read it: "age clipped".

    `vector` has the features, (c,), and `noticed` the rules.
    """

    vector: Floats
    noticed: tuple[str, ...] = ()


class EncodedMany(NamedTuple):
    """Contexts as rows of features, (n, c), none longer than 1, and how often each rule was needed.

    `noticed` counts the rules.
    """

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


def checked_context(
    context_dim: int | None, longest: float, context: Encoder | None
) -> tuple[int, float, Encoder | None]:
    """How many features contexts of a map have, their greatest length, and what makes them, if anything does.

    An encoder knows both numbers; they may be said as well, as records do.
    """
    if context is None:
        return whole("context_dim", context_dim, least=1), real("longest", longest, above=0), None
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
