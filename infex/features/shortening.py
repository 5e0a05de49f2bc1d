"""Contexts that are vectors of numbers, of which one that is too long is shortened."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import final

from infex.checks import one_of, real, whole
from infex.errors import InvalidSetting
from infex.features.context_vectors import shortened_of
from infex.features.encoder import SHORTENED, Encoded, EncodedMany, Encoder
from infex.features.many_contexts import contexts_of, shortened_rows


@final
@dataclass(frozen=True, slots=True)
class Shortened:
    """An encoder of contexts that are vectors of `size` numbers; see `shortened`.

    `longest` is that of `shortened`.
    """

    size: int
    longest: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole("size", self.size, least=1))
        object.__setattr__(self, "longest", real("longest", self.longest, above=0))

    @property
    def names(self) -> tuple[str, ...]:
        """The features by their places: x0, x1, and so on."""
        return tuple(f"x{place}" for place in range(self.size))

    def encode(self, context: object) -> Encoded:
        """One context, divided by `longest`, or by its own length if that is more."""
        vector, long = shortened_of("a context", context, self.size, self.longest)
        return Encoded(vector, (SHORTENED,) if long else ())

    def encode_many(self, contexts: object) -> EncodedMany:
        """The same of many contexts, (n, size)."""
        rows, times = shortened_rows(contexts_of(contexts), self.size, self.longest)
        return EncodedMany(rows, Counter({SHORTENED: times} if times else {}))


def shortened(size: int, longest: float = 1.0) -> Shortened:
    """Contexts that are `size` numbers, for `disjoint(arms, context=...)`: a longer one is shortened.

    A context longer than `longest` keeps its direction and gets that length; `bandit.noticed` counts it. Maps
    without such an encoder refuse it. `beyond="clip"` of `disjoint` and `interactions` says the same.

    >>> shortened(2, longest=10).encode([30.0, 40.0])
    Encoded(vector=array([0.6, 0.8]), noticed=('context shortened',))
    """
    return Shortened(size, longest)


def reader_of(
    beyond: str, context_dim: int | None, longest: float, context: Encoder | None
) -> Encoder | None:
    """What reads contexts of a map where one `beyond` its greatest length is refused, or clipped."""
    if one_of("beyond", beyond, ("refuse", "clip")) == "refuse":
        return context
    if context is not None:
        raise InvalidSetting("beyond is for contexts that are plain vectors: say it to the encoder instead")
    return shortened(whole("context_dim", context_dim, least=1), longest)
