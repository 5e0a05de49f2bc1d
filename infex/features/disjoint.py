"""One block for each arm: each has a regression of its own on the context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from infex.arrays import Floats, Label, labels_of
from infex.checks import whole
from infex.errors import InvalidArms
from infex.features.base import Encoder, checked_context, joined_labels, labels_in, labels_without
from infex.features.vectors import encoded_context, encoder_for


@final
@dataclass(frozen=True, slots=True, repr=False)
class Disjoint:
    """`count` arms, each with a parameter of its own for contexts of `context_dim` features.

    A bandit keeps a small regression for each arm; as rows, which any map gives, the context stands in the
    arm's block.

    `labels` are those of the arms; contexts are at most `longest` long. See `disjoint`.
    """

    count: int
    context_dim: int
    labels: tuple[Label, ...] | None
    longest: float
    context: Encoder | None = None

    def __post_init__(self) -> None:
        if whole("the number of arms", self.count) < 1:
            raise InvalidArms(f"there must be at least one arm, got {self.count}")
        dim, longest, _ = checked_context(self.context_dim, self.longest, self.context)
        object.__setattr__(self, "context_dim", dim)
        object.__setattr__(self, "longest", longest)
        object.__setattr__(self, "labels", labels_of(self.labels, self.count))

    @property
    def dim(self) -> int:
        return self.count * self.context_dim

    def within(self, context: object) -> Floats:
        """The context, (c,), divided by `longest`; refuses one that is longer, or not so many numbers."""
        return encoded_context(context, self.context_dim, self.longest, self.context)

    def __call__(self, context: object) -> Floats:
        rows: Floats = np.zeros((self.count, self.count, self.context_dim))
        rows[np.arange(self.count), np.arange(self.count)] = self.within(context)
        return rows.reshape(self.count, self.dim)

    def in_units(self, theta: Floats) -> Floats:
        """theta for contexts as they are given, (K, c): a row for each arm."""
        return theta.reshape(-1, self.context_dim) / self.longest

    def over(self, context_dim: int, longest: float, context: Encoder | None) -> Disjoint:
        """The same arms in other contexts."""
        return replace(self, context_dim=context_dim, longest=longest, context=context)

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Disjoint:
        """The same with more arms behind the others: a label, several, or without labels how many."""
        if labels is not None:
            raise InvalidArms("arms of a disjoint map are their labels: give these alone")
        if self.labels is None:
            return replace(self, count=self.count + whole("how many arms to add", arms, least=1))
        names = joined_labels(self.labels, labels_in(arms))
        assert names is not None
        return replace(self, count=len(names), labels=names)

    def without(self, gone: set[int]) -> Disjoint:
        """The same without the arms at these places."""
        return replace(self, count=self.count - len(gone), labels=labels_without(self.labels, gone))

    def __repr__(self) -> str:
        return f"Disjoint({self.count} arms, contexts of {self.context_dim})"


def disjoint(
    arms: int | Iterable[Label],
    context_dim: int | None = None,
    *,
    longest: float = 1.0,
    context: Encoder | None = None,
    beyond: str = "refuse",
) -> Disjoint:
    """A regression for each arm: the row of arm k is the context in block k, and 0 elsewhere.

    Every arm has a parameter of its own, and learns from its own rewards alone: a bandit takes O(c^2) for a
    reward and O(K c^2) numbers for K arms and contexts of c features. `arms` is how many there are, or
    their labels. `longest` is the greatest length of a context, by which contexts are divided; a longer one
    is refused, or with `beyond="clip"` shortened to it, which `bandit.noticed` counts. Give contexts a
    feature that is always 1 if arms differ in any context. Or give, in the place of all three, a
    `context` that reads contexts by name: `features.table(...)`, or `features.transformed(...)`. The
    bandit's penalty is for contexts before they are divided. Arms come and go by label: `bandit.add_arms`.

    An arm's interval is that of its regression, by its own data; with LinUCB's radius it holds, for that arm
    in all rounds at once, with probability 1 - delta. Estimators too are of each arm by itself: windows and
    discounts count its own rewards, and a weight is a function of the context.

    >>> disjoint(2, context_dim=3, longest=2)([0.0, 1.0, 1.0]).tolist()
    [[0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.5, 0.5]]
    """
    labels: tuple[Any, ...] | None = None
    if isinstance(arms, Iterable) and not isinstance(arms, str):
        labels = tuple(arms)
    count = whole("the number of arms", arms, least=1) if labels is None else len(labels)
    reader = encoder_for(beyond, context_dim, longest, context)
    return Disjoint(count, context_dim, labels, longest, reader)  # type: ignore[arg-type]
