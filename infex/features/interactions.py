"""Every product of a feature of the arm and one of the context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, Label, columns_of, labels_of, shown
from infex.features.base import Encoder, checked_context, joined_labels, labels_without, remaining
from infex.features.vectors import encoded_context, encoder_for


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Interactions:
    """Every product of a feature of the arm and one of the context: one block for each of the arm's.

    `arms`, `context_dim`, `labels` and `longest` are those of `interactions`.
    """

    arms: Floats
    context_dim: int
    labels: tuple[Label, ...] | None
    longest: float
    context: Encoder | None = None

    def __post_init__(self) -> None:
        arms = np.ascontiguousarray(columns_of(self.arms).T)
        dim, longest, _ = checked_context(self.context_dim, self.longest, self.context)
        found: dict[str, Any] = {
            "arms": shown(arms),
            "context_dim": dim,
            "labels": labels_of(self.labels, len(arms)),
            "longest": longest,
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def dim(self) -> int:
        return int(self.arms.shape[1]) * self.context_dim

    @property
    def count(self) -> int:
        return len(self.arms)

    def within(self, context: object) -> Floats:
        """The context, (c,), divided by `longest`; refuses what cannot be read."""
        return encoded_context(context, self.context_dim, self.longest, self.context)

    def __call__(self, context: object) -> Floats:
        rows: Floats = (self.arms[:, :, None] * self.within(context)).reshape(self.count, self.dim)
        return rows

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Interactions:
        """The same with more arms behind the others, as rows, with labels if the others have some."""
        rows = columns_of(arms, dim=self.arms.shape[1]).T  # type: ignore[arg-type] # which looks at it
        names = joined_labels(self.labels, labels_of(labels, len(rows)))
        return replace(self, arms=np.vstack([self.arms, rows]), labels=names)

    def without(self, gone: set[int]) -> Interactions:
        """The same without the arms at these places."""
        rows = self.arms[remaining(self.count, gone)]
        return replace(self, arms=rows, labels=labels_without(self.labels, gone))

    def in_units(self, theta: Floats) -> Floats:
        """theta for contexts as they are given, (p, c): a row for each feature of the arms."""
        return theta.reshape(-1, self.context_dim) / self.longest

    def over(self, context_dim: int, longest: float, context: Encoder | None) -> Interactions:
        """The same arms in other contexts."""
        return replace(self, context_dim=context_dim, longest=longest, context=context)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interactions) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        count, dim = self.arms.shape
        return f"Interactions({count} arms of {dim} features, contexts of {self.context_dim})"

    def _content(self) -> tuple[Any, ...]:
        context = self.context_dim, self.longest, self.context
        return self.arms.shape, self.arms.tobytes(), self.labels, *context


def interactions(
    arms: npt.ArrayLike,
    context_dim: int | None = None,
    *,
    labels: Iterable[Label] | None = None,
    longest: float = 1.0,
    context: Encoder | None = None,
    beyond: str = "refuse",
) -> Interactions:
    """The outer product of each arm's features with the context: all arms learn from each other.

    `arms` is a (K, p) array of rows no longer than 1, and a row of the map has p `context_dim`
    features. `longest` is the greatest length of a context, by which contexts are divided; a longer one is
    refused, or with `beyond="clip"` shortened to it, which `bandit.noticed` counts. Give
    contexts and arms a feature that is always 1 to have them count by themselves too. `context`, in the
    place of all three, reads contexts by name: `features.table(...)`, or `features.transformed(...)`.

    `labels` are those of the arms.

    >>> interactions([[1.0, 0.0], [0.5, 0.5]], context_dim=2)([0.6, 0.8]).tolist()
    [[0.6, 0.8, 0.0, 0.0], [0.3, 0.4, 0.3, 0.4]]
    """
    names = None if labels is None else tuple(labels)
    reader = encoder_for(beyond, context_dim, longest, context)
    return Interactions(arms, context_dim, names, longest, reader)  # type: ignore[arg-type]
