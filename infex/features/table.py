"""Contexts as named values: numbers and categories."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Floats, brief
from infex.checks import one_of, real, set_fields, whole
from infex.errors import InvalidContext, InvalidSetting
from infex.features.base import Encoded, EncodedMany
from infex.features.vectors import columns_in_order, values_of

Category = str | int | bool
NO_PLACE = -1  # no feature of a category is 1


def is_missing(value: object) -> bool:
    """Does it stand for a missing value? Nobody has pandas' own who has not loaded pandas.

    >>> [is_missing(value) for value in (None, float("nan"), 0.0, "")]
    [True, True, False, False]
    """
    if value is None or (isinstance(value, float) and value != value):
        return True
    pandas = sys.modules.get("pandas")
    return pandas is not None and (value is pandas.NA or value is pandas.NaT)


def _refuse_missing(name: str, where: str) -> NoReturn:
    raise InvalidContext(f'{name}{where} is missing; missing="flag" or "middle" would say what that means')


@final
class NumberColumn(NamedTuple):
    """A number from `low` to `high` as a feature from -1 to 1.

    A `missing` one is 0, the middle of the range, unless it is refused; with "flag", another feature says so.
    """

    name: str
    low: float
    high: float
    middle: float
    half: float
    missing: str
    beyond: str

    @staticmethod
    def over(name: str, low: float, high: float, missing: str, beyond: str) -> NumberColumn:
        """That of a range; halves are taken first, as its length may overflow."""
        middle = 0.5 * low + 0.5 * high
        half = max(high - middle, middle - low)  # so that rounding takes no end beyond 1
        return NumberColumn(name, low, high, middle, half, missing, beyond)

    @property
    def names(self) -> tuple[str, ...]:
        """Those of its features."""
        return (self.name, f"{self.name} missing") if self.missing == "flag" else (self.name,)

    def encode(self, value: object, features: list[float], noticed: list[str]) -> None:
        """Appends the features of one value, and the rule that it took."""
        rule = None
        if type(value) is float and self.low <= value <= self.high:  # the common case
            features.append((value - self.middle) / self.half)
        else:
            feature, rule = self._feature(value, "")
            features.append(feature)
            if rule is not None:
                noticed.append(f"{self.name} {rule}")
        if self.missing == "flag":
            features.append(float(rule == "missing"))

    def encode_many(self, values: NDArray[Any], features: Floats, noticed: Counter[str]) -> None:
        """Fills in the features of many values, (n, 1 or 2): those in range at once, others one by one."""
        odd: Iterable[int] = range(len(values))
        if values.dtype.kind in "iufb":
            values = values.astype(np.float64)
            with np.errstate(all="ignore"):
                features[:, 0] = (values - self.middle) / self.half
            odd = np.flatnonzero(~((values >= self.low) & (values <= self.high))).tolist()
        features[:, 1:] = 0.0
        listed = values.tolist() if odd else []
        for row in odd:
            features[row, 0], rule = self._feature(listed[row], f" of context {row}")
            if rule is not None:
                noticed[f"{self.name} {rule}"] += 1
                features[row, 1:] = rule == "missing"

    def _feature(self, value: object, where: str) -> tuple[float, str | None]:
        """The feature of a value, and the rule that it took: "missing", "clipped" or none."""
        number = _number(self.name, value, where)
        if number != number:
            if self.missing == "refuse":
                _refuse_missing(self.name, where)
            return 0.0, "missing"
        within = min(max(number, self.low), self.high)
        if within == number:
            return (number - self.middle) / self.half, None
        if not math.isfinite(number):
            raise InvalidContext(f"{self.name}{where} must be finite, got {number}")
        if self.beyond == "refuse":
            side = "below" if number < self.low else "above"
            raise InvalidContext(
                f"{self.name}{where} is {side} its range, {self.low:g} to {self.high:g}; "
                'beyond="clip" would take the end of the range'
            )
        return (within - self.middle) / self.half, "clipped"


def _number(name: str, value: object, where: str) -> float:
    """A value as a number, NaN if it is missing; True is 1 and False 0."""
    if isinstance(value, Real | Decimal | np.bool_):
        try:
            return float(value)
        except (OverflowError, ValueError):
            return math.nan if value != value else math.inf
    if is_missing(value):
        return math.nan
    raise InvalidContext(f"{name}{where} must be a number, got a {type(value).__name__}")


@final
class CategoryColumn(NamedTuple):
    """One of several categories, each a feature that is 1 or 0; further ones may say missing, or unseen.

    Without these, all features of a value that is `missing` or `unseen` are 0, unless it is refused.
    """

    name: str
    places: dict[Hashable, int]
    missing: str
    unseen: str

    @property
    def names(self) -> tuple[str, ...]:
        """Those of its features."""
        categories = [f"{self.name}={key[1] if isinstance(key, tuple) else key}" for key in self.places]
        rules = {"missing": self.missing, "unseen": self.unseen}
        return (*categories, *(f"{self.name} {rule}" for rule, how in rules.items() if how == "flag"))

    @property
    def width(self) -> int:
        """How many features there are."""
        return len(self.places) + (self.missing == "flag") + (self.unseen == "flag")

    def encode(self, value: object, features: list[float], noticed: list[str]) -> None:
        """Appends the features of one value, and the rule that it took."""
        place = self.places.get(value, NO_PLACE) if type(value) is str else NO_PLACE  # the common case
        if place == NO_PLACE:
            place, rule = self._place(value, "")
            if rule is not None:
                noticed.append(f"{self.name} {rule}")
        first = len(features)
        features.extend([0.0] * self.width)
        if place != NO_PLACE:
            features[first + place] = 1.0

    def encode_many(self, values: NDArray[Any], features: Floats, noticed: Counter[str]) -> None:
        """Fills in the features of many values, (n, width); each value that occurs is looked up once."""
        listed = values.tolist()
        try:
            pairs = list(zip(map(type, listed), listed, strict=True))
            known = {pair: self._place(pair[1], "") for pair in set(pairs)}
            found = [known[pair] for pair in pairs]
        except (TypeError, InvalidContext):  # of which context, this says
            found = [self._place(value, f" of context {row}") for row, value in enumerate(listed)]
        noticed.update(f"{self.name} {rule}" for _, rule in found if rule is not None)
        places = np.fromiter((place for place, _ in found), dtype=np.int64, count=len(found))
        (rows,) = np.nonzero(places != NO_PLACE)
        features[:] = 0.0
        features[rows, places[rows]] = 1.0

    def _place(self, value: object, where: str) -> tuple[int, str | None]:
        """The place of the feature that is 1, and the rule that a value took: "missing", "unseen" or none."""
        if is_missing(value):
            if self.missing == "refuse":
                _refuse_missing(self.name, where)
            return (len(self.places) if self.missing == "flag" else NO_PLACE), "missing"
        try:
            place = self.places.get(key_of_category(value))
        except TypeError:
            raise InvalidContext(
                f"{self.name}{where} must be a text, a whole number or a truth, got a {type(value).__name__}"
            ) from None
        if place is not None:
            return place, None
        if self.unseen == "refuse":
            raise InvalidContext(
                f"{self.name}{where} is none of its {len(self.places)} categories; "
                'unseen="flag" or "zero" would say what that means, and bandit.extend adds one'
            )
        return (self.width - 1 if self.unseen == "flag" else NO_PLACE), "unseen"


def key_of_category(value: object) -> Any:
    """What a category is looked up by: True is not 1, and 1.0 is."""
    return (bool, bool(value)) if isinstance(value, bool | np.bool_) else value


def checked_categories(name: str, values: object) -> tuple[Category, ...]:
    """The categories of a feature: texts, whole numbers, True and False, no two the same."""
    must = f"the categories of {name!r} must be a list of texts, whole numbers or truths"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidSetting(f"{must}, got {brief(values)}")
    checked = tuple(_category(name, value) for value in values)
    if not checked:
        raise InvalidSetting(f"{must}, got none")
    twice = [value for value, times in Counter(map(key_of_category, checked)).items() if times > 1]
    if twice:
        raise InvalidSetting(f"the categories of {name!r} must differ, got {twice[0]!r} more than once")
    return checked


def _category(name: str, value: object) -> Category:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return whole(f"a category of {name!r} that is no text", value)


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
        set_fields(self, numbers=numbers, categories=categories, names=names, inputs=inputs, _columns=columns)

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
            column.encode(value, features, noticed)
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
        count, values = columns_in_order(contexts, self.inputs)
        rows, noticed = np.empty((count, self.size)), Counter()  # type: tuple[Floats, Counter[str]]
        rows[:, : self.intercept] = 1.0
        first = int(self.intercept)
        for column, own in zip(self._columns, values, strict=True):
            last = first + len(column.names)
            column.encode_many(own, rows[:, first:last], noticed)
            first = last
        return rows, noticed

    def _number(self, given: tuple[str, tuple[float, float]]) -> NumberColumn:
        name, (low, high) = given
        return NumberColumn.over(name, low, high, self.missing, self.beyond)

    def _category(self, given: tuple[str, tuple[Category, ...]]) -> CategoryColumn:
        name, values = given
        places = {key_of_category(value): place for place, value in enumerate(values)}
        return CategoryColumn(name, places, self.missing, self.unseen)


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
