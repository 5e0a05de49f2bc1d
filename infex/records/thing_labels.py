"""What a thing is called in tables: its expression, or its kind with the settings that are not defaults.

No `repr` of a user's object is called: it may raise anything, or show an address.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from infex.checks import DATA_KINDS, plain
from infex.errors import InvalidExpression
from infex.records import catalog
from infex.records.described import described
from infex.schedules.combined import Union

LONGEST_TEXT = 60  # characters of a setting that is shown
DEEPEST = 6  # things in things that are shown


def label_of(thing: object) -> str:
    """The name of a policy, a schedule or an estimator in tables.

    >>> from infex import Infex, LinUCB, every
    >>> label_of(Infex(LinUCB(scale=0.5), every(20), data="own"))
    'Infex(LinUCB(scale=0.5), every(20), data=own)'
    """
    return _label(thing, DEEPEST)


def setting_text(value: object) -> str:
    """A setting as text: numbers and words as an expression has them, things by their labels."""
    return _setting(value, DEEPEST)


def _label(thing: object, depth: int) -> str:
    with contextlib.suppress(InvalidExpression):
        return catalog.expression(thing)
    if depth == 0:
        return "..."
    if isinstance(thing, Union):
        return " | ".join(_label(member, depth - 1) for member in thing.members)
    kind, words = described(thing).kind, list(_words(thing, depth))
    return f"{kind}({', '.join(words)})" if words else kind


def _words(thing: object, depth: int) -> Iterator[str]:
    """Its settings but for defaults; of infex's own, those that have no default stand by their places."""
    _, settings, defaults = described(thing)
    ours = type(thing).__module__.startswith("infex.")
    for name, value in settings.items():
        if ours and name not in defaults:
            yield _setting(value, depth)
        elif name not in defaults or not _same(value, defaults[name]):
            yield f"{name}={_setting(value, depth)}"


def _setting(value: object, depth: int) -> str:
    """A setting as text."""
    if isinstance(value, str):
        return value if value.isidentifier() else _cut(repr(value))
    if type(value) is int or type(value) is float:
        return plain(value) if abs(value) < float("inf") else repr(value)
    if _is_data(value):
        return _cut(repr(value))
    if isinstance(value, np.ndarray):
        return f"array{value.shape}".replace(",)", ")")
    return _label(value, depth - 1)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def _is_data(value: object) -> bool:
    """Is it made of numbers and texts alone, so that Python's own `repr` writes all of it?"""
    if type(value) in DATA_KINDS or isinstance(value, np.generic):
        return True
    parts: Any = [*value, *value.values()] if type(value) is dict else value
    return type(value) in (list, tuple, dict) and all(map(_is_data, parts))


def _same(one: object, other: object) -> bool:
    """Are two settings known to be the same? Only data are compared: a user's `==` may do anything."""
    return one is other or (_is_data(one) and _is_data(other) and one == other)
