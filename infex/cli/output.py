"""How figures are printed, for people and for programs."""

from __future__ import annotations

import json
import math
from typing import Any

import click


def say_json(rows: list[dict[str, Any]]) -> None:
    """Prints rows as JSON; what is not a finite number is null."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    click.echo(json.dumps(plain, indent=2, allow_nan=False))


def number(value: float, form: str) -> str:
    """A number in a table; a dash where there is none.

    >>> number(1234.5, ",.1f"), number(float("nan"), ",.1f")
    ('1,234.5', '\u2013')
    """
    return f"{value:{form}}" if math.isfinite(value) else "\N{EN DASH}"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
