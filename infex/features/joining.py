"""Rows that a user's function makes of a context and an arm."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from infex.arrays import Floats, Label, labels_of
from infex.checks import qualified_name, real, whole
from infex.errors import InvalidArms, InvalidSetting
from infex.features.context_vectors import vector_of
from infex.features.turnable import both_labels, staying, without


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joined:
    """What a function makes of a context and each arm.

    `arms`, `dim`, `labels` and `longest` are those of `joined`.
    """

    function: Callable[[Any, Any], Any]
    arms: tuple[Any, ...]
    dim: int
    labels: tuple[Label, ...] | None
    longest: float

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidSetting(f"function must be one of a context and an arm, got {self.function!r}")
        if not self.arms:
            raise InvalidArms("there must be at least one arm, got none")
        object.__setattr__(self, "dim", whole("dim", self.dim, least=1))
        object.__setattr__(self, "labels", labels_of(self.labels, len(self.arms)))
        object.__setattr__(self, "longest", real("longest", self.longest, above=0))

    @property
    def count(self) -> int:
        return len(self.arms)

    def __call__(self, context: object) -> Floats:
        rows = [
            vector_of(f"the features of arm {place}", self.function(context, arm), self.dim, self.longest)
            for place, arm in enumerate(self.arms)
        ]
        return np.array(rows)

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Joined:
        """The same with more arms behind the others: one that is a text, or several."""
        more = (arms,) if isinstance(arms, str) or not isinstance(arms, Iterable) else tuple(arms)
        names = both_labels(self.labels, labels_of(own_labels(more, labels), len(more)))
        return replace(self, arms=(*self.arms, *more), labels=names)

    def without(self, gone: set[int]) -> Joined:
        """The same without the arms at these places."""
        arms = tuple(self.arms[place] for place in staying(self.count, gone))
        return replace(self, arms=arms, labels=without(self.labels, gone))

    def in_units(self, theta: Floats) -> Floats:
        """theta for rows as the function gives them, (d,)."""
        return theta / self.longest

    def __repr__(self) -> str:
        return f"Joined({qualified_name(self.function)}, {self.count} arms, {self.dim} features)"


def joined(
    function: Callable[[Any, Any], Any],
    arms: Iterable[Any],
    dim: int,
    *,
    labels: Iterable[Label] | None = None,
    longest: float = 1.0,
) -> Joined:
    """The rows `function(context, arm)`, of `dim` features, for arms and contexts of any kind.

    `longest` is the greatest length of a row that the function gives, by which rows are divided.
    Arms that are texts or whole numbers are their own labels. A file holds no function: such a
    bandit is loaded with `features=`.

    >>> joined(lambda hour, price: [hour / 24, price, 1.0], [0.5, 0.9], dim=3, longest=2)(12).tolist()
    [[0.25, 0.25, 0.5], [0.25, 0.45, 0.5]]
    """
    found = tuple(arms)
    return Joined(function, found, dim, own_labels(found, labels), longest)


def own_labels(arms: tuple[Any, ...], labels: Iterable[Label] | None) -> tuple[Label, ...] | None:
    """The labels, or the arms themselves where these are texts or whole numbers."""
    if labels is None and all(isinstance(arm, str | int) and not isinstance(arm, bool) for arm in arms):
        return arms
    return None if labels is None else tuple(labels)
