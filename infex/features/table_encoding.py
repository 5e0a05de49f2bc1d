"""Contexts with names: numbers with their ranges, and categories."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from infex.arrays import Floats, brief
from infex.checks import one_of, real
from infex.errors import InvalidSetting
from infex.features.category_column import (
    Category,
    CategoryColumn,
    checked_categories,
    key_of_category,
)
from infex.features.encoder import Encoded, EncodedMany
from infex.features.named_values import columns_by_place, values_of
from infex.features.number_column import NumberColumn

Numbers = Mapping[str, tuple[float, float]] | Iterable[tuple[str, tuple[float, float]]]
Categories = Mapping[str, Iterable[Category]] | Iterable[tuple[str, Iterable[Category]]]
NONE_GIVEN: Mapping[str, Any] = {}

INTERCEPT = "intercept"
IF_MISSING = ("refuse", "flag", "middle")
IF_UNSEEN = ("refuse", "flag", "zero")
IF_BEYOND = ("refuse", "clip")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTable:
    """An encoder of contexts with names; see `table`.

    `numbers`, `categories`, `missing`, `unseen`, `beyond` and `intercept` are those of `table`.
    """

    numbers: tuple[tuple[str, tuple[float, float]], ...]
    categories: tuple[tuple[str, tuple[Category, ...]], ...]
    missing: str = "refuse"
    unseen: str = "refuse"
    beyond: str = "refuse"
    intercept: bool = True
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    inputs: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _columns: tuple[NumberColumn | CategoryColumn, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        one_of("missing", self.missing, IF_MISSING)
        one_of("unseen", self.unseen, IF_UNSEEN)
        one_of("beyond", self.beyond, IF_BEYOND)
        if not isinstance(self.intercept, bool):
            raise InvalidSetting(f"intercept must be True or False, got {self.intercept!r}")
        numbers = tuple((_name(name), _range(name, ends)) for name, ends in self.numbers)
        categories = tuple((_name(name), checked_categories(name, own)) for name, own in self.categories)
        columns: tuple[NumberColumn | CategoryColumn, ...]
        columns = (*map(self._number, numbers), *map(self._category, categories))
        names = (*((INTERCEPT,) * self.intercept), *(name for column in columns for name in column.names))
        inputs = tuple(column.name for column in columns)
        _refuse_twice(inputs)
        _refuse_twice(names)
        if not names:
            raise InvalidSetting("a table needs a number, a category or an intercept, got none of them")
        found = {"numbers": numbers, "categories": categories, "names": names, "inputs": inputs}
        for word, value in (found | {"_columns": columns}).items():
            object.__setattr__(self, word, value)

    @property
    def size(self) -> int:
        """How many features a context has."""
        return len(self.names)

    @property
    def longest(self) -> float:
        """The greatest length of a context's features: each number and each category is at most 1 long."""
        return math.sqrt(len(self.inputs) + self.intercept)

    def encode(self, context: object) -> Encoded:
        """The features of one context, divided by `longest`."""
        features, noticed = [1.0] * self.intercept, []  # type: tuple[list[float], list[str]]
        for column, value in zip(self._columns, values_of(context, self.inputs), strict=True):
            column.one(value, features, noticed)
        return Encoded(np.array(features) / self.longest, tuple(noticed))

    def encode_many(self, contexts: object) -> EncodedMany:
        """The features of many contexts, (n, size), divided by `longest`."""
        rows, noticed = self._filled(contexts)
        rows /= self.longest
        return EncodedMany(rows, noticed)

    def rows(self, contexts: object) -> Floats:
        """The features of many contexts as `names` names them, (n, size), not divided.

        `contexts` is a table of pandas, polars or Arrow, a mapping of columns, an (n, c) array, or a list
        of contexts. `rows(contexts) @ bandit.theta.T` are their estimates.
        """
        return self._filled(contexts)[0]

    def extended(self, numbers: Numbers = NONE_GIVEN, categories: Categories = NONE_GIVEN) -> ContextTable:
        """With further numbers and categories; a category that is there gets further values."""
        joined = dict(self.categories)
        for name, values in _pairs("categories", categories):
            joined[name] = (*joined.get(name, ()), *checked_categories(name, values))
        return ContextTable(
            numbers=(*self.numbers, *_pairs("numbers", numbers)),
            categories=tuple(joined.items()),
            missing=self.missing,
            unseen=self.unseen,
            beyond=self.beyond,
            intercept=self.intercept,
        )

    def _filled(self, contexts: object) -> tuple[Floats, Counter[str]]:
        count, values = columns_by_place(contexts, self.inputs)
        rows, noticed = np.empty((count, self.size)), Counter()  # type: tuple[Floats, Counter[str]]
        rows[:, : self.intercept] = 1.0
        first = int(self.intercept)
        for column, own in zip(self._columns, values, strict=True):
            last = first + len(column.names)
            column.many(own, rows[:, first:last], noticed)
            first = last
        return rows, noticed

    def _number(self, given: tuple[str, tuple[float, float]]) -> NumberColumn:
        name, (low, high) = given
        return NumberColumn.over(name, low, high, self.missing, self.beyond)

    def _category(self, given: tuple[str, tuple[Category, ...]]) -> CategoryColumn:
        name, values = given
        places = {key_of_category(value): place for place, value in enumerate(values)}
        missing = self.missing == "flag", self.missing == "refuse"
        return CategoryColumn(name, places, *missing, self.unseen == "flag", self.unseen == "refuse")


def table(
    numbers: Numbers = NONE_GIVEN,
    categories: Categories = NONE_GIVEN,
    *,
    missing: str = "refuse",
    unseen: str = "refuse",
    beyond: str = "refuse",
    intercept: bool = True,
) -> ContextTable:
    """Features of contexts with names, for `disjoint(arms, context=table(...))` and `interactions`.

    A context is a dict or another mapping, a row of pandas or polars, a named tuple, or an array: first the
    numbers, then the categories, in the order in which they are given here. A name that is not here is
    refused, and nothing that has names is read by position.

    `numbers` are names with their ranges, which are brought to -1 to 1; True is 1 and False 0. A number
    beyond its range is refused, or with `beyond="clip"` becomes the end of the range. `categories` are
    names with their values (texts, whole numbers, True and False): a feature of 0 or 1 for each. An
    `unseen` value is refused; with "flag" a further feature is 1, and with "zero" all are 0. What is
    `missing` (no such name, None, NaN, pandas.NA) is refused; with "middle" a number is in the middle of
    its range and a category has no feature that is 1; with "flag" a further feature also says so.
    `bandit.noticed` counts what was clipped, missing or unseen. With `intercept`, the first feature is
    always 1: arms then differ in any context.

    Features are divided by the greatest length they can have, the square root of the number of `numbers`,
    `categories` and the intercept. The penalty of the bandit is for features before that: a ridge on
    numbers from -1 to 1. So the prior is on what a number changes between the middle and an end of its
    range, on what a category changes, and on the intercept.

    >>> visitor = table({"age": (20, 80)}, {"country": ["FR", "DE"]}, missing="flag")
    >>> visitor.names
    ('intercept', 'age', 'age missing', 'country=FR', 'country=DE', 'country missing')
    >>> visitor.rows([{"age": 65, "country": "DE"}, {"country": "FR"}]).tolist()
    [[1.0, 0.5, 0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 1.0, 0.0, 0.0]]
    """
    return ContextTable(
        numbers=_pairs("numbers", numbers),
        categories=_pairs("categories", categories),
        missing=missing,
        unseen=unseen,
        beyond=beyond,
        intercept=intercept,
    )


def _pairs(word: str, given: object) -> tuple[tuple[str, Any], ...]:
    """Names with what belongs to them, of a mapping or of pairs."""
    items = given.items() if isinstance(given, Mapping) else given
    try:
        return tuple((name, own) for name, own in _iterable(items))
    except (TypeError, ValueError):
        raise InvalidSetting(f"{word} must be a mapping of names, got {brief(given)}") from None


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidSetting(f"the name of a feature must be a text, got {name!r}")
    return str(name)


def _iterable(items: object) -> Iterable[Any]:
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise TypeError
    return items


def _range(name: str, ends: object) -> tuple[float, float]:
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise InvalidSetting(f"the range of {name!r} must be (low, high), got {brief(ends)}")
    low = real(f"the low end of {name!r}", ends[0])
    return low, real(f"the high end of {name!r}", ends[1], above=low)


def _refuse_twice(names: tuple[str, ...]) -> None:
    name, times = Counter(names).most_common(1)[0] if names else ("", 0)
    if times > 1:
        raise InvalidSetting(f"names of features must differ, got {name!r} {times} times")
