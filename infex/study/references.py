"""Policies, estimators and maps of a user's classes as plain data: by the names of the classes, and settings.

`{"object": "my.rules:Doubling", "settings": {"c": 3}}` is made again by importing it. What is built in is its
record, or, where it holds something of a user's, its kind with settings of the same form.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from typing import Any

from infex.arrays import plain_scalar
from infex.checks import imported, settings_by_name
from infex.errors import CannotLoad, InfexError, NoRecord
from infex.registry import BY_NAME, entry_of, from_record, to_record

KEPT_AS_VALUES = (bool, int, float, str, type(None))


def reference_to(thing: object) -> Any:
    """How a thing can be made again; NoRecord if it holds something that no module has under a name."""
    thing = plain_scalar(thing)
    if isinstance(thing, KEPT_AS_VALUES):
        return thing
    if isinstance(thing, tuple | list):
        return {"items": [reference_to(part) for part in thing], "tuple": isinstance(thing, tuple)}
    try:
        return {"record": to_record(thing)}
    except NoRecord:
        pass
    row = entry_of(thing)
    if row is not None:
        return {"kind": row[0].name, "settings": _all(row[1])}
    return {"object": _name_of(type(thing)), "settings": _all(_settings_of(thing))}


def remade(reference: Any) -> Any:
    """The thing that `reference_to` told how to make; CannotLoad if it cannot be made here."""
    if isinstance(reference, KEPT_AS_VALUES):
        return reference
    match reference:
        case {"items": items, "tuple": is_tuple}:
            parts = [remade(part) for part in items]
            return tuple(parts) if is_tuple else parts
        case {"record": kept}:
            return from_record(kept)
        case {"kind": kind, "settings": settings} if kind in BY_NAME:
            return _called(BY_NAME[kind].make, kind, settings)
        case {"object": name, "settings": settings}:
            return _called(_loaded(name, settings), name, settings)
    raise CannotLoad(f"an infex of another version wrote how a policy is made: {sorted(reference)}")


def _all(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: reference_to(value) for name, value in settings.items()}


def _name_of(kind: type) -> str:
    """The name under which Python finds a class in its module."""
    module, name = kind.__module__, kind.__qualname__
    try:
        found = operator.attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        found = None
    if module == "__main__" or found is not kind:
        raise NoRecord(
            f"{name} is in no module from which it can be imported later: put it at the top of one"
        )
    return f"{module}:{name}"


def _settings_of(thing: object) -> dict[str, Any]:
    """The settings of a user's object: those of a dataclass, or none of one that keeps nothing."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return settings_by_name(thing)
    kind = type(thing)
    takes_nothing = kind.__init__ is object.__init__ and _is_made_of_nothing(kind)
    if takes_nothing and object.__getstate__(thing) is None:
        return {}
    raise NoRecord(
        f"what {type(thing).__qualname__} was made with is not known: make it a dataclass, whose fields are"
    )


def _is_made_of_nothing(kind: Any) -> bool:
    """Can an object of a class hold nothing before its `__init__`? A number or a set holds what it is."""
    return kind.__new__ is object.__new__


def _loaded(name: str, settings: dict[str, Any]) -> Any:
    kind = imported(name, CannotLoad, f"the study needs {name}, which cannot be imported here")
    if not settings and not dataclasses.is_dataclass(kind) and not _is_made_of_nothing(kind):
        raise CannotLoad(f"what {name} was made with was not kept: open the study with its policy= once more")
    return kind


def _called(make: Any, name: str, settings: dict[str, Any]) -> Any:
    given = {word: remade(value) for word, value in settings.items()}
    try:
        return make(**given)
    except InfexError:
        raise
    except Exception as error:  # a user's code may raise anything
        raise CannotLoad(
            f"the study needs {name} with {', '.join(given) or 'no settings'}: {error}"
        ) from error
