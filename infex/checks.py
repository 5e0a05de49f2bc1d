"""Settings that are numbers, checked at the door: each function returns the plain Python value."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Collection
from numbers import Real
from typing import TYPE_CHECKING, SupportsIndex

from infex.errors import InfexError, InvalidSetting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

HEAVIEST_WEIGHT = 1e12  # of a reward in the squared error
LARGEST_REWARD = 1e100  # sums of larger ones might overflow
quick = tuple.__new__
"""Makes a NamedTuple of all its fields in a third of the time, for what happens in every round."""


def whole(
    name: str,
    value: object,
    *,
    least: int | None = None,
    error: type[InfexError] = InvalidSetting,
) -> int:
    """`value` as an int; refuses booleans, fractions, and what is below `least`.

    >>> whole("period", 20, least=1)
    20
    """
    if type(value) is int:
        number = value
    else:
        try:
            if isinstance(value, bool) or not isinstance(value, SupportsIndex):
                raise TypeError
            number = operator.index(value)
        except TypeError:
            raise error(f"{name} must be a whole number, got {value!r}") from None
    if least is not None and number < least:
        raise error(f"{name} must be at least {least}, got {number}")
    return number


def real(
    name: str,
    value: object,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    error: type[InfexError] = InvalidSetting,
) -> float:
    """`value` as a finite float; refuses booleans, text, NaN, and what is out of range.

    >>> real("delta", 0.05, above=0, most=1)
    0.05
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise error(f"{name} must be finite, got {value!r}")
    if above is not None and number <= above:
        raise error(f"{name} must be above {above:g}, got {value!r}")
    if least is not None and number < least:
        raise error(f"{name} must be at least {least:g}, got {value!r}")
    if most is not None and number > most:
        raise error(f"{name} must be at most {most:g}, got {value!r}")
    return number


def one_of(name: str, value: object, options: Collection[str]) -> str:
    """`value`, if it is one of `options`.

    >>> one_of("data", "own", ("shared", "own"))
    'own'
    """
    if not isinstance(value, str) or value not in options:
        listed = " or ".join(repr(option) for option in options)
        raise InvalidSetting(f"{name} must be {listed}, got {value!r}")
    return value


def changed_settings(settings: DataclassInstance) -> list[str]:
    """The settings of a dataclass that differ from their defaults, as in `delta=0.001`."""
    changed = []
    for field in dataclasses.fields(settings):
        if field.init and field.default is not dataclasses.MISSING:
            value = getattr(settings, field.name)
            if value != field.default:
                changed.append(f"{field.name}={value!r}")
    return changed


def plain(value: float) -> str:
    """The shortest text that reads back as `value`.

    >>> plain(2.0), plain(0.1)
    ('2', '0.1')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
