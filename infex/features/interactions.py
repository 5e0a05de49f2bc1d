"""Every product of a feature of the arm and one of the context; as a special case, a block for each arm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from infex.arrays import Floats, Label, columns_of, labels_of, shown
from infex.checks import real, whole
from infex.features.context_vectors import vector_of


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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interactions) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        count, dim = self.arms.shape
        return f"Interactions({count} arms of {dim} features, contexts of {self.context_dim})"

    def _content(self) -> tuple[Any, ...]:
        return self.arms.shape, self.arms.tobytes(), self.context_dim, self.labels, self.longest


def disjoint(arms: int | Iterable[Label], context_dim: int, *, longest: float = 1.0) -> Interactions:
    """One block for each arm: the row of arm k is the context in block k, and 0 elsewhere.

    Every arm then has a parameter of its own: a ridge regression apart from those of the others.
    `arms` is how many there are, or their labels. `longest` is the greatest length of a context, by
    which contexts are divided; give them a feature that is always 1 if arms differ in any context.

    >>> disjoint(2, context_dim=3, longest=2)([0.0, 1.0, 1.0]).tolist()
    [[0.0, 0.5, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.5, 0.5]]
    """
    labels: tuple[Any, ...] | None = None
    if isinstance(arms, Iterable) and not isinstance(arms, str):
        labels = tuple(arms)
    count = whole("the number of arms", arms, least=1) if labels is None else len(labels)
    return Interactions(np.eye(count), context_dim, labels, longest)


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
