"""Numbers of contexts, scaled by their range."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Bools, Floats
from infex.errors import InvalidContext
from infex.features.absent import is_absent


@final
class NumberColumn(NamedTuple):
    """A number from `low` to `high` as a feature from -1 to 1; with `flags`, another says that it is missing.

    What is missing is 0, the middle of the range, unless it is refused.
    """

    name: str
    low: float
    high: float
    middle: float
    half: float
    flags: bool
    refuses_missing: bool
    clips: bool

    @staticmethod
    def over(name: str, low: float, high: float, missing: str, beyond: str) -> NumberColumn:
        """That of a range; halves are taken first, as its length may overflow."""
        middle = 0.5 * low + 0.5 * high
        half = max(high - middle, middle - low)  # so that rounding takes no end beyond 1
        return NumberColumn(
            name, low, high, middle, half, missing == "flag", missing == "refuse", beyond == "clip"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Those of its features."""
        return (self.name, f"{self.name} missing") if self.flags else (self.name,)

    def one(self, value: object, features: list[float], noticed: list[str]) -> None:
        """Appends the features of one value, and the rule that it took."""
        if type(value) is float and self.low <= value <= self.high:  # the common case
            features.append((value - self.middle) / self.half)
            if self.flags:
                features.append(0.0)
            return
        number = _number(self.name, value)
        missing = number != number
        if missing:
            self._refuse_missing("")
            noticed.append(f"{self.name} missing")
            number = 0.0
        else:
            if not self.low <= number <= self.high:
                self._refuse_beyond(number, "")
                noticed.append(f"{self.name} clipped")
            number = (min(max(number, self.low), self.high) - self.middle) / self.half
        features.append(number)
        if self.flags:
            features.append(float(missing))

    def many(self, values: NDArray[Any], features: Floats, noticed: Counter[str]) -> None:
        """Fills in the features of many values, (n, 1 or 2), and counts the rules that they took."""
        numbers = _numbers(self.name, values)
        missing = np.isnan(numbers)
        beyond = (numbers < self.low) | (numbers > self.high)
        if self.refuses_missing and missing.any():
            self._refuse_missing(_where(missing))
        if beyond.any() and not (self.clips and np.isfinite(numbers[beyond]).all()):
            wrong = beyond & ~np.isfinite(numbers) if self.clips else beyond
            self._refuse_beyond(float(numbers[wrong][0]), _where(wrong))
        features[:, 0] = (np.clip(numbers, self.low, self.high) - self.middle) / self.half
        features[missing, 0] = 0.0
        if self.flags:
            features[:, 1] = missing
        count(noticed, f"{self.name} missing", missing)
        count(noticed, f"{self.name} clipped", beyond)

    def _refuse_missing(self, where: str) -> None:
        if self.refuses_missing:
            raise InvalidContext(
                f'{self.name}{where} is missing; missing="flag" or "middle" would say what that means'
            )

    def _refuse_beyond(self, number: float, where: str) -> None:
        if not math.isfinite(number):
            raise InvalidContext(f"{self.name}{where} must be finite, got {number}")
        if not self.clips:
            side = "below" if number < self.low else "above"
            raise InvalidContext(
                f"{self.name}{where} is {side} its range, {self.low:g} to {self.high:g}; "
                'beyond="clip" would take the end of the range'
            )


def count(noticed: Counter[str], rule: str, rows: Bools) -> None:
    """Counts the rows that took a rule, if there are any."""
    if times := int(np.count_nonzero(rows)):
        noticed[rule] += times


def _where(rows: Bools) -> str:
    return f" of context {int(np.argmax(rows))}"


def _number(name: str, value: object, where: str = "") -> float:
    """A value as a number, NaN if it is missing; True is 1 and False 0."""
    if isinstance(value, Real | Decimal | np.bool_):
        try:
            return float(value)
        except (OverflowError, ValueError):
            return math.nan if value != value else math.inf
    if is_absent(value):
        return math.nan
    raise InvalidContext(f"{name}{where} must be a number, got a {type(value).__name__}")


def _numbers(name: str, values: NDArray[Any]) -> Floats:
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    listed = [_number(name, value, f" of context {row}") for row, value in enumerate(values.tolist())]
    return np.array(listed, dtype=np.float64)
