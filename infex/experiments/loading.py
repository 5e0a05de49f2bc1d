"""Objects of a user's by their names: `package.module:object`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infex.checks import imported, safe_repr
from infex.errors import InvalidSetting

VERBS = {"policy": "choose", "schedule": "explores", "estimator": "new_model"}


def load(reference: str) -> Any:
    """The object that `package.module:object` names."""
    return imported(reference, InvalidSetting, f"cannot load {reference!r}")


def loaded(reference: str, kind: str | None) -> Any:
    """The object of a name, or what it makes without arguments where a thing of a kind is asked for."""
    source = load(reference)
    if kind is None or not callable(source):
        return source
    if not isinstance(source, type) and VERBS[kind] in dir(source):  # it may be called, and is what is meant
        return source
    return call(reference, (), {})


def call(reference: str, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """What the function or class of a name makes with these settings."""
    source = load(reference)
    words = [*map(safe_repr, given), *(f"{name}={safe_repr(value)}" for name, value in named.items())]
    how = f"with {', '.join(words)}" if words else "without arguments"
    if not callable(source):
        raise InvalidSetting(f"{reference!r} takes no settings: it is {safe_repr(source)}")
    try:
        return source(*given, **named)
    except Exception as error:  # a user's code may raise anything
        raise InvalidSetting(f"{reference!r} cannot be made {how}: {error}") from error
