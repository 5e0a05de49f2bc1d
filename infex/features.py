"""Feature maps: what a context and each arm are together, as one row of features for each arm.

For people used to libraries of contexts and arms: a bandit with a map is asked with a context, and
all arms of the map are on offer in every round.

>>> from infex import Bandit, LinUCB
>>> bandit = Bandit(features=disjoint(["tea", "coffee"], context_dim=2), policy=LinUCB())
>>> bandit.ask(context=[0.6, 0.8]).label
'tea'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from infex.arrays import ROUNDING, Floats, Label, columns_of, labels_of, shown
from infex.checks import real, whole
from infex.errors import InvalidArms, InvalidContext, InvalidSetting

__all__ = ["FeatureMap", "Interactions", "Joined", "disjoint", "interactions", "joined"]


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
        inside = _vector("a context", context, self.context_dim, self.longest)
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


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Joined:
    """What a function makes of a context and each arm."""

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
            _vector(f"the features of arm {place}", self.function(context, arm), self.dim, self.longest)
            for place, arm in enumerate(self.arms)
        ]
        return np.array(rows)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))
        return f"Joined({name}, {self.count} arms, {self.dim} features)"


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
    if labels is None and all(isinstance(arm, str | int) and not isinstance(arm, bool) for arm in found):
        labels = found
    return Joined(function, found, dim, None if labels is None else tuple(labels), longest)


def checked_map(features: object) -> FeatureMap | None:
    """`features`, if it is a map."""
    if features is None:
        return None
    if isinstance(features, type) or not isinstance(features, FeatureMap):
        raise InvalidSetting(f"features must be a map such as infex.features.disjoint, got {features!r}")
    return features


def rows_in(features: FeatureMap | None, context: object, arms: object, labels: object) -> Floats:
    """The rows of a context; refuses what does not go with it."""
    if features is None:
        raise InvalidContext("this bandit has no feature map for a context: make a Bandit(features=...)")
    if arms is not None or labels is not None:
        raise InvalidArms(
            "the arms and labels of this bandit come from its feature map: give a context alone"
        )
    if context is None:
        raise InvalidContext("this bandit joins its arms with a context: give it, as in ask(context=...)")
    return features(context)


def _vector(name: str, given: object, dim: int, longest: float) -> Floats:
    """`given` as so many finite numbers, divided by `longest`, than which it may not be longer."""
    try:
        found = np.asarray(given, dtype=np.float64)
        if (
            found.shape != (dim,)
            or not np.isfinite(found).all()
            or np.asarray(given).dtype.kind not in "iufO"
        ):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InvalidContext(f"{name} must be {dim} finite numbers{_wrong(given, dim)}") from None
    length = float(np.linalg.norm(found))
    if length > longest * (1.0 + ROUNDING):
        raise InvalidContext(
            f"{name} must be no longer than longest={longest:g}, got one of length {length:.6g}"
        )
    return found / max(longest, length)


def _wrong(given: object, dim: int) -> str:
    """What is wrong with a context, and where; never what it holds, which is somebody's data."""
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return f", got a {type(given).__name__}"
    if len(given) != dim:
        return f", got {len(given)}"
    for place, feature in enumerate(given):
        if isinstance(feature, bool | np.bool_) or not isinstance(feature, Real):
            return f"; feature {place} is a {type(feature).__name__}"
        if not math.isfinite(feature):
            return f"; feature {place} is {float(feature)}"
    return ""
