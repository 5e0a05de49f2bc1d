"""Settings that are numbers, checked at the door: each function returns the plain Python value."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import importlib
import math
import operator
import os
import sys
from collections.abc import Callable, Collection, Iterable
from numbers import Real
from types import FunctionType
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, cast

from infex.errors import CannotCopy, FrozenSettings, InfexError, InvalidSetting

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")
Option = TypeVar("Option", bound=str | None)
HEAVIEST_WEIGHT = 1e12  # of a reward in the squared error
LARGEST_REWARD = 1e100  # sums of larger ones might overflow
DATA_KINDS = (bool, int, float, complex, str, bytes, type(None))
INSIDE = (os.path.dirname(__file__) + os.sep, dataclasses.__file__, "<string>")  # the last by dataclasses
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
    number = value if type(value) is float else _as_float(name, value, error)
    if not math.isfinite(number):
        raise error(f"{name} must be finite, got {value!r}")
    if above is not None and number <= above:
        raise error(f"{name} must be above {above:g}, got {value!r}")
    if least is not None and number < least:
        raise error(f"{name} must be at least {least:g}, got {value!r}")
    if most is not None and number > most:
        raise error(f"{name} must be at most {most:g}, got {value!r}")
    return number


def optional(check: Callable[..., T], name: str, value: object, **limits: Any) -> T | None:
    """What `check(name, value, ...)` gives; None stays None.

    >>> optional(real, "delta", 0.05, above=0, most=1), optional(real, "delta", None, above=0, most=1)
    (0.05, None)
    """
    return None if value is None else check(name, value, **limits)


def _as_float(name: str, value: object, error: type[InfexError]) -> float:
    """A number as a float, infinite if it is too large for one; refuses what is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def one_of(name: str, value: object, options: Collection[Option]) -> Option:
    """`value`, if it is one of `options`, which are texts and perhaps None.

    >>> one_of("data", "own", ("shared", "own"))
    'own'
    """
    if not isinstance(value, str | None) or value not in options:
        listed = " or ".join(repr(option) for option in options)
        raise InvalidSetting(f"{name} must be {listed}, got {value!r}")
    return cast(Option, value)


def settings_by_name(settings: DataclassInstance) -> dict[str, Any]:
    """The settings of a dataclass."""
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings) if field.init}


def set_fields(settings: object, **values: object) -> None:
    """Sets fields of a frozen dataclass, while it is being made."""
    for name, value in values.items():
        object.__setattr__(settings, name, value)


def qualified_name(function: object) -> str:
    """The name of a function or class, or else that of its class; no `repr` is called."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def changed_settings(settings: DataclassInstance) -> list[str]:
    """The settings of a dataclass that differ from their defaults, as in `delta=0.001`."""
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}
    return [
        f"{name}={safe_repr(value)}"
        for name, value in settings_by_name(settings).items()
        if defaults[name] is not dataclasses.MISSING and value != defaults[name]
    ]


def refuse_attribute(settings: Any, name: str, value: object) -> None:
    """The `__setattr__` of a frozen dataclass: says which attribute was meant, and what to do instead.

    A subclass may keep attributes of its own.
    """
    known = [field.name for field in dataclasses.fields(settings)]
    if name not in known and "__setattr__" not in vars(type(settings)):
        object.__setattr__(settings, name, value)
        return
    kind = type(settings).__name__
    if name in known:
        raise FrozenSettings(f"{name} of {kind} cannot be changed: make another, as with dataclasses.replace")
    public = [each for each in known if not each.startswith("_")]
    raise FrozenSettings(f"{kind} has no attribute {name!r}{hint(name, public)}, and cannot be changed")


def hint(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest known name; nothing if none is near.

    >>> hint("horizont", ["horizon", "seeds"]), hint("x", ["horizon"])
    (' (did you mean horizon?)', '')
    """
    names = {each.casefold(): each for each in known}
    nearest = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.7)
    return f" (did you mean {names[nearest[0]]}?)" if nearest else ""


def misspelt(names: Iterable[str], known: Iterable[str]) -> tuple[str, str] | None:
    """The first public name that is nearly a known one, and that one; None if there is none.

    So near that it is hardly anything else: the same first letter, four letters or more, at most one more
    or fewer, and a similarity of 0.85 as `difflib` has it. A user's `rate`, `slate` or `lat` is not taken for
    `late`.

    >>> misspelt(["nois"], ["noise", "late"]), misspelt(["rate", "_late", "slate"], ["noise", "late"])
    (('nois', 'noise'), None)
    """
    for name in names:
        for right in known:
            could_be = name[0] == right[0] and len(name) > 3 and abs(len(name) - len(right)) < 2
            if could_be and difflib.SequenceMatcher(None, name, right).ratio() >= 0.85:
                return name, right
    return None


def safe_repr(value: object) -> str:
    """How a value is written in a message: data and infex's own as Python does, anything else by its kind.

    The `repr` of a user's object is not called: it may raise anything.

    >>> safe_repr([1, "x"]), safe_repr(object())
    ("[1, 'x']", 'an object')
    """
    kind = type(value)
    if kind in DATA_KINDS or kind.__module__.startswith("infex.") or kind.__module__ == "numpy":
        return repr(value)
    if kind in (list, tuple) and isinstance(value, Iterable):
        return repr(value) if all(type(part) in DATA_KINDS for part in value) else _a(kind)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return repr_settings(value)
    return value.__qualname__ if isinstance(value, FunctionType | type) else _a(kind)


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0].lower() in 'aeiou' else 'a'} {kind.__name__}"


def repr_settings(settings: DataclassInstance) -> str:
    """A dataclass as Python writes it, but for values that are a user's objects."""
    words = [f"{name}={safe_repr(value)}" for name, value in settings_by_name(settings).items()]
    return f"{type(settings).__qualname__}({', '.join(words)})"


def copied(name: str, thing: Any, memo: dict[int, Any] | None = None) -> Any:
    """A deep copy of a user's object, such as a "policy"; with one `memo`, copies share what originals share.

    >>> copied("policy", [1, 2])
    [1, 2]
    """
    try:
        return copy.deepcopy(thing, memo)
    except Exception as error:  # a user's object may hold and raise anything
        raise CannotCopy(
            f"the {name} {type(thing).__name__} cannot be copied: {error}. Every run begins with a copy of "
            f"the {name} as it was given: make what cannot be copied at its first use, or give its class a "
            "method __deepcopy__"
        ) from error


def callers_level() -> int:
    """The `stacklevel` of a warning that points at the line outside infex from which all this was called."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame, level = frame.f_back, level + 1
    return level


def plain(value: float) -> str:
    """The shortest text that reads back as `value`.

    >>> plain(2.0), plain(0.1)
    ('2', '0.1')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def imported(reference: str, error: type[InfexError], without: str) -> Any:
    """The object that `package.module:object` names; else an `error` that begins with `without`."""
    module, _, name = reference.partition(":")
    try:
        return operator.attrgetter(name)(importlib.import_module(module))
    except (Exception, SystemExit) as reason:  # a module may raise anything while it is imported
        raise error(f"{without}: {reason}") from reason


def importable(thing: object, module: str, name: str) -> bool:
    """Does another process find this very thing in a module by its name, which may have dots?

    >>> importable(importable, "infex.checks", "importable")
    True
    """
    try:
        return module != "__main__" and operator.attrgetter(name)(sys.modules[module]) is thing
    except (AttributeError, KeyError):  # made inside a function, or in a module that is not there
        return False
