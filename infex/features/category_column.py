"""Categories of contexts: a feature of 0 or 1 for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Floats, brief
from infex.checks import whole
from infex.errors import InvalidContext, InvalidSetting
from infex.features.absent import is_absent
from infex.features.number_column import count

Category = str | int | bool

NO_VALUE, NO_CATEGORY = -1, -2


@final
class CategoryColumn(NamedTuple):
    """One of `places`, as a feature of its own that is 1; further ones may say missing, or unseen.

    Without these, all features of a value that is missing or unseen are 0, unless it is refused.
    """

    name: str
    places: dict[Hashable, int]
    flags_missing: bool
    refuses_missing: bool
    flags_unseen: bool
    refuses_unseen: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Those of its features."""
        shown = [f"{self.name}={key[1] if isinstance(key, tuple) else key}" for key in self.places]
        flags = ((self.flags_missing, "missing"), (self.flags_unseen, "unseen"))
        return (*shown, *(f"{self.name} {rule}" for flagged, rule in flags if flagged))

    def one(self, value: object, features: list[float], noticed: list[str]) -> None:
        """Appends the features of one value, and the rule that it took."""
        code = self.places.get(value, NO_CATEGORY) if type(value) is str else NO_CATEGORY
        if code < 0:  # not of the common kind
            code = self._code(value, "")
        if code < 0:
            noticed.append(f"{self.name} {'missing' if code == NO_VALUE else 'unseen'}")
        start = len(features)
        features.extend([0.0] * self.width)
        place = self._place(code)
        if place is not None:
            features[start + place] = 1.0

    def many(self, values: NDArray[Any], features: Floats, noticed: Counter[str]) -> None:
        """Fills in the features of many values, (n, width), and counts the rules that they took."""
        codes = self._codes(values.tolist())
        features[:] = 0.0
        for code in (NO_VALUE, NO_CATEGORY):
            count(noticed, f"{self.name} {'missing' if code == NO_VALUE else 'unseen'}", codes == code)
            place = self._place(code)
            codes[codes == code] = len(self.places) + 2 if place is None else place
        (rows,) = np.nonzero(codes < self.width)
        features[rows, codes[rows]] = 1.0

    @property
    def width(self) -> int:
        """How many features there are."""
        return len(self.places) + self.flags_missing + self.flags_unseen

    def _place(self, code: int) -> int | None:
        """The place of the feature that is 1; None if none is."""
        if code >= 0:
            return code
        if code == NO_VALUE:
            return len(self.places) if self.flags_missing else None
        return len(self.places) + self.flags_missing if self.flags_unseen else None

    def _codes(self, values: list[Any]) -> NDArray[np.int64]:
        """The code of each value; values that come again are looked up once."""
        try:
            return self._codes_at_once(values)
        except (TypeError, InvalidContext):  # which one, the slow way says
            listed = [self._code(value, f" of context {row}") for row, value in enumerate(values)]
            return np.array(listed, dtype=np.int64)

    def _codes_at_once(self, values: list[Any]) -> NDArray[np.int64]:
        """Each value that occurs is looked up once."""
        pairs = list(zip(map(type, values), values, strict=True))
        codes = {pair: self._code(pair[1], "") for pair in set(pairs)}
        return np.fromiter(map(codes.__getitem__, pairs), dtype=np.int64, count=len(pairs))

    def _code(self, value: object, where: str) -> int:
        if is_absent(value):
            self._refuse_missing(where)
            return NO_VALUE
        try:
            code = self.places.get(key_of_category(value))
        except TypeError:
            raise InvalidContext(
                f"{self.name}{where} must be a text, a whole number or a truth, got a {type(value).__name__}"
            ) from None
        if code is None:
            self._refuse_unseen(where)
            return NO_CATEGORY
        return code

    def _refuse_missing(self, where: str) -> None:
        if self.refuses_missing:
            raise InvalidContext(
                f'{self.name}{where} is missing; missing="flag" or "middle" would say what that means'
            )

    def _refuse_unseen(self, where: str) -> None:
        if self.refuses_unseen:
            raise InvalidContext(
                f"{self.name}{where} is none of its {len(self.places)} categories; "
                'unseen="flag" or "zero" would say what that means, and bandit.extend adds one'
            )


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
