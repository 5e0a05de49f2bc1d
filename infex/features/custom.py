"""Maps and encoders by a user's function, or another library's transformer."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from infex.arrays import Floats, Label, as_mapping, labels_of
from infex.checks import one_of, qualified_name, real, set_fields, whole
from infex.errors import InvalidArms, InvalidContext, InvalidSetting
from infex.features.base import Encoded, EncodedMany, joined_labels, labels_without, remaining
from infex.features.vectors import columns_in_order, values_of, vector_of, vectors_of


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
        set_fields(
            self,
            dim=whole("dim", self.dim, least=1),
            labels=labels_of(self.labels, len(self.arms)),
            longest=real("longest", self.longest, above=0),
        )

    @property
    def count(self) -> int:
        return len(self.arms)

    def __call__(self, context: object) -> Floats:
        rows = [
            vector_of(
                f"the features of arm {place}", self.function(context, arm), self.dim, self.longest
            ).vector
            for place, arm in enumerate(self.arms)
        ]
        return np.array(rows)

    def with_arms(self, arms: object, labels: Iterable[Label] | None) -> Joined:
        """The same with more arms behind the others: one that is a text, or several."""
        more = (arms,) if isinstance(arms, str) or not isinstance(arms, Iterable) else tuple(arms)
        names = joined_labels(self.labels, labels_of(own_labels(more, labels), len(more)))
        return replace(self, arms=(*self.arms, *more), labels=names)

    def without(self, gone: set[int]) -> Joined:
        """The same without the arms at these places."""
        arms = tuple(self.arms[place] for place in remaining(self.count, gone))
        return replace(self, arms=arms, labels=labels_without(self.labels, gone))

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


@runtime_checkable
class Transformer(Protocol):
    """What is asked of a transformer: it is fitted already."""

    def transform(self, X: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """The features of many contexts, (n, c)."""

    def get_feature_names_out(self) -> Any:
        """The names of the features, (c,)."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Transformed:
    """An encoder of contexts by a fitted transformer; see `transformed`.

    `longest` and `beyond` are those of `transformed`.
    """

    transformer: Transformer
    longest: float
    beyond: str = "refuse"
    names: tuple[str, ...] = field(init=False, repr=False)
    inputs: tuple[str, ...] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.transformer, type) or not isinstance(self.transformer, Transformer):
            raise InvalidSetting(
                "transformer must have `transform` and `get_feature_names_out`, got a "
                f"{type(self.transformer).__name__}"
            )
        one_of("beyond", self.beyond, ("refuse", "clip"))
        inputs = getattr(self.transformer, "feature_names_in_", None)
        set_fields(
            self,
            longest=real("longest", self.longest, above=0),
            names=tuple(map(str, self.transformer.get_feature_names_out())),
            inputs=None if inputs is None else tuple(map(str, inputs)),
        )
        if not self.names:
            raise InvalidSetting("the transformer must give at least one feature, and names none")

    @property
    def size(self) -> int:
        """How many features a context has."""
        return len(self.names)

    def encode(self, context: object) -> Encoded:
        """The features of one context, divided by `longest`."""
        rows, noticed = self._transformed(self._one(context), 1)
        return Encoded(rows[0], tuple(noticed))

    def encode_many(self, contexts: object) -> EncodedMany:
        """The features of many contexts, (n, size), divided by `longest`."""
        given, count = self._many(contexts)
        return self._transformed(given, count)

    def _one(self, context: object) -> Any:
        if self.inputs is not None:
            return _frame({name: [value] for name, value in self._named(context).items()})
        if as_mapping(context) is not None and not isinstance(context, dict):
            raise InvalidContext("the transformer was fitted without names: give a context as an array")
        return [context]

    def _named(self, context: object) -> dict[str, Any]:
        assert self.inputs is not None
        _refuse_incomplete(context, self.inputs)
        return dict(zip(self.inputs, values_of(context, self.inputs), strict=True))

    def _many(self, contexts: Any) -> tuple[Any, int]:
        if self.inputs is None:
            return contexts, len(contexts)
        count, columns = columns_in_order(contexts, self.inputs)
        return _frame(dict(zip(self.inputs, columns, strict=True))), count

    def _transformed(self, given: Any, count: int) -> EncodedMany:
        if count == 0:
            return EncodedMany(np.empty((0, self.size)), Counter())
        try:
            rows = _dense(self.transformer.transform(given))
        except Exception as error:  # whose text may hold the context
            raise InvalidContext(
                f"the transformer could not take a context: its `transform` raised {type(error).__name__}"
            ) from None
        if rows.shape != (count, self.size):
            raise InvalidContext(
                f"the transformer must give {count} rows of {self.size} features, gave {rows.shape}"
            )
        if not np.isfinite(rows).all():
            row, place = np.argwhere(~np.isfinite(rows))[0]
            raise InvalidContext(f"{self.names[place]} of context {row} is {rows[row, place]}")
        return vectors_of(rows, self.size, self.longest, clip=self.beyond == "clip")


def transformed(transformer: Transformer, *, longest: float, beyond: str = "refuse") -> Transformed:
    """Features that a fitted transformer makes of contexts, for `disjoint(arms, context=...)`.

    `transformer` has scikit-learn's `transform` and `get_feature_names_out`: a `ColumnTransformer`, a
    `StandardScaler`, a pipeline. If it was fitted with names (it has `feature_names_in_`), contexts are
    read by name, and given to it as a pandas DataFrame; else it gets arrays, or dicts, as they come.
    `longest` is the greatest length of a row that it gives, by which rows are divided. A longer one is
    refused, or with `beyond="clip"` shortened to it, which `bandit.noticed` counts. The penalty of the
    bandit is for features as the transformer gives them.

    A file holds no transformer: such a bandit is loaded with `features=`.
    """
    return Transformed(transformer, longest, beyond)


def _frame(columns: dict[str, Any]) -> Any:
    """A table of pandas, which whoever fitted a transformer with names has."""
    return importlib.import_module("pandas").DataFrame(columns)


def _refuse_incomplete(context: object, inputs: Iterable[str]) -> None:
    named = as_mapping(context)
    missing = [] if named is None else [name for name in inputs if name not in named]
    if missing:
        raise InvalidContext(f"{missing[0]} is missing: the transformer needs it, if only as None")


def _dense(rows: Any) -> Floats:
    """Rows that may be sparse, as an array."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(rows):
        rows = rows.toarray()
    return np.array(rows, dtype=np.float64)
