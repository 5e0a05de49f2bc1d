"""Every product of a feature of the arm and one of the context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, Label, columns_of, labels_of, shown
from infex.checks import real, whole
from infex.features.context_vectors import vector_of
from infex.features.turnable import both_labels, staying, without


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Interactions:
    """Every product of a feature of the arm and one of the context: one block for each of the arm's."""

    arms: Floats
    context_dim: int
    labels: tuple[Label, ...] | None
    longest: float

    def __post_init__(self) -> None:
        arms = np.ascontiguousarray(columns_of(self.arms).T)
        found: dict[str, Any] = {
            "arms": shown(arms),
            "context_dim": whole("context_dim", self.context_dim, least=1),
            "labels": labels_of(self.labels, len(arms)),
            "longest": real("longest", self.longest, above=0),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def dim(self) -> int:
        return int(self.arms.shape[1]) * self.context_dim

    @property
    def count(self) -> int:
        return len(self.arms)

    def __call__(self, context: object) -> Floats:
        inside = vector_of("a context", context, self.context_dim, self.longest)
        rows: Floats = (self.arms[:, :, None] * inside).reshape(self.count, self.dim)
        return rows

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Interactions:
        """The same with more arms behind the others, as rows, with labels if the others have some."""
        rows = columns_of(arms, dim=self.arms.shape[1]).T  # type: ignore[arg-type] # which looks at it
        names = both_labels(self.labels, labels_of(labels, len(rows)))
        return Interactions(np.vstack([self.arms, rows]), self.context_dim, names, self.longest)

    def without(self, gone: set[int]) -> Interactions:
        """The same without the arms at these places."""
        rows = self.arms[staying(self.count, gone)]
        return Interactions(rows, self.context_dim, without(self.labels, gone), self.longest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interactions) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        count, dim = self.arms.shape
        return f"Interactions({count} arms of {dim} features, contexts of {self.context_dim})"

    def _content(self) -> tuple[Any, ...]:
        return self.arms.shape, self.arms.tobytes(), self.context_dim, self.labels, self.longest


def interactions(
    arms: npt.ArrayLike, context_dim: int, *, labels: Iterable[Label] | None = None, longest: float = 1.0
) -> Interactions:
    """The outer product of each arm's features with the context: all arms learn from each other.

    `arms` is a (K, p) array of rows no longer than 1, and a row of the map has p `context_dim`
    features. `longest` is the greatest length of a context, by which contexts are divided. Give
    contexts and arms a feature that is always 1 to have them count by themselves too.

    >>> interactions([[1.0, 0.0], [0.5, 0.5]], context_dim=2)([0.6, 0.8]).tolist()
    [[0.6, 0.8, 0.0, 0.0], [0.3, 0.4, 0.3, 0.4]]
    """
    names = None if labels is None else tuple(labels)
    return Interactions(arms, context_dim, names, longest)  # type: ignore[arg-type]
