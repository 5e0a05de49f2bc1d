"""How results are printed: tables for people, JSON for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from infex.arrays import as_json

if TYPE_CHECKING:
    from rich.console import Console

NAMES_WRAPPED_AT = 24  # characters: names are wrapped to this before numbers go to another table
NARROWEST_NAMES = 12  # characters, where there is not even room for that
COLUMN_GAP = 3  # blanks between columns


def say_json(rows: list[dict[str, Any]]) -> None:
    """Prints rows as JSON; what is not a finite number is null."""
    click.echo(as_json(rows))


def number(value: float | None, form: str) -> str:
    """A number in a table; a dash where there is none.

    >>> number(1234.5, ",.1f"), number(float("nan"), ",.1f"), number(None, ",.1f")
    ('1,234.5', '\u2013', '\u2013')
    """
    return "\N{EN DASH}" if value is None or not math.isfinite(value) else f"{value:{form}}"


def show_table(console: Console, title: str, head: list[str], rows: list[list[str]]) -> None:
    """Prints a table that cuts no number: names in the first column, numbers in all others.

    Names are wrapped where there is no room, and columns without room go to a table below.
    """
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    console.print(title, highlight=False, markup=False)
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    widest = max(widths[1:], default=0)
    names = min(widths[0], NAMES_WRAPPED_AT, max(NARROWEST_NAMES, console.width - COLUMN_GAP - widest))
    groups: list[list[int]] = [[]]  # columns that have room side by side; one without room stands alone
    left = room = console.width - names - COLUMN_GAP
    for place, width in enumerate(widths[1:], 1):
        if groups[-1] and width + COLUMN_GAP > left:
            groups.append([])
            left = room
        groups[-1].append(place)
        left -= width + COLUMN_GAP
    for group in groups:
        room = console.width - sum(widths[place] + COLUMN_GAP for place in group) - COLUMN_GAP
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column(head[0], width=max(names, min(widths[0], room)), overflow="fold")
        for place in group:
            table.add_column(head[place], justify="right", no_wrap=True, min_width=widths[place])
        for row in rows:
            table.add_row(escape(row[0]), *(row[place] for place in group))
        console.print(table, width=max(console.width, names + COLUMN_GAP + widest), crop=False)
        console.print()
