"""How figures are printed, for people and for programs."""

from __future__ import annotations

import json
import math
from typing import Any, Protocol, runtime_checkable

import click


@runtime_checkable
class NamedFields(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]:
        """Its fields by name."""


def say_json(rows: list[dict[str, Any]]) -> None:
    """Prints rows as JSON; what is not a finite number is null."""
    click.echo(as_json(rows))


def as_json(data: object) -> str:
    """Dictionaries, lists and named tuples as JSON; what is not a finite number is null.

    >>> as_json({"mean": float("nan"), "runs": [1]}).split()
    ['{', '"mean":', 'null,', '"runs":', '[', '1', ']', '}']
    """
    return json.dumps(_plain(data), indent=2, allow_nan=False)


def number(value: float, form: str) -> str:
    """A number in a table; a dash where there is none.

    >>> number(1234.5, ",.1f"), number(float("nan"), ",.1f")
    ('1,234.5', '\u2013')
    """
    return f"{value:{form}}" if math.isfinite(value) else "\N{EN DASH}"


def _plain(value: object) -> object:
    if isinstance(value, NamedFields):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
