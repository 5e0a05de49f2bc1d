"""What a thing is and which settings it has, read without calling any code of a user's but properties.

For the built-in kinds the registry tells; of a user's own objects it is the fields of a dataclass, or the
parameters of `__init__` that the object keeps under the same names.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import types
from typing import Any, NamedTuple

from infex.checks import settings_by_name
from infex.records.registry import Settings, row_of
from infex.schedules.counted import Counted, FromCount


class Described(NamedTuple):
    """The kind of a thing, its settings by name, and the defaults of those that have one."""

    kind: str
    settings: Settings
    defaults: Settings


def described(thing: object) -> Described:
    """The kind and the settings of a policy, a schedule, an estimator or a problem.

    >>> from infex import every
    >>> described(every(20))
    Described(kind='every', settings={'m': 20, 'offset': 0}, defaults={'offset': 0})
    """
    row = row_of(thing)
    if row is not None:
        return Described(row[0].name, row[1], defaults_of(row[0].make))
    kind: Any = type(thing)
    if isinstance(thing, Counted) and isinstance(thing.target, FromCount):
        said: Settings = {"g": thing.target.function, "grows": thing.growth}
        return Described("from_count", said, {"grows": None})
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return Described(kind.__qualname__, settings_by_name(thing), _field_defaults(kind))
    if isinstance(thing, types.FunctionType | type):
        return Described(thing.__qualname__, {}, {})
    return Described(kind.__qualname__, _kept(thing), defaults_of(kind))


def _field_defaults(kind: Any) -> Settings:
    fields = [field for field in dataclasses.fields(kind) if field.init]
    given = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    made = {
        field.name: field.default_factory
        for field in fields
        if field.default_factory is not dataclasses.MISSING
    }
    return given | {name: make() for name, make in made.items()}


def _kept(thing: object) -> Settings:
    """The parameters of its `__init__` that it keeps under their names."""
    held = thing.__dict__ if "__dict__" in dir(type(thing)) else {}
    kind: Any = type(thing)
    return {name: held[name] for name in _parameters(kind) if name in held}


@functools.cache
def defaults_of(make: Any) -> Settings:
    """The defaults of what a function or a class takes; a parameter without one has none here."""
    return {name: each.default for name, each in _parameters(make).items() if each.default is not each.empty}


@functools.cache
def _parameters(make: Any) -> dict[str, inspect.Parameter]:
    with contextlib.suppress(TypeError, ValueError):  # what is written in C may tell nothing
        return dict(inspect.signature(make).parameters)
    return {}
