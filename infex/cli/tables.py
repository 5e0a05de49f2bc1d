"""Tables that cut no number: names are wrapped, and columns that have no room go to a table below."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

NAMES_WRAPPED_AT = 24  # characters: names are wrapped to this before numbers go to another table
NARROWEST_NAMES = 12  # characters, where there is not even room for that
COLUMN_GAP = 3  # blanks between columns


def show_table(console: Console, title: str, head: list[str], rows: list[list[str]]) -> None:
    """Prints a table: names in the first column, numbers in all others."""
    console.print(title, highlight=False, markup=False)
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    widest = max(widths[1:], default=0)
    names = min(widths[0], NAMES_WRAPPED_AT, max(NARROWEST_NAMES, console.width - COLUMN_GAP - widest))
    for group in groups(widths[1:], console.width - names - COLUMN_GAP):
        room = console.width - sum(widths[place] + COLUMN_GAP for place in group) - COLUMN_GAP
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column(head[0], width=max(names, min(widths[0], room)), overflow="fold")
        for place in group:
            table.add_column(head[place], justify="right", no_wrap=True, min_width=widths[place])
        for row in rows:
            table.add_row(escape(row[0]), *(row[place] for place in group))
        console.print(table, width=max(console.width, names + COLUMN_GAP + widest), crop=False)
        console.print()


def groups(widths: list[int], room: int) -> list[list[int]]:
    """The numbers of columns, from 1, in groups that have room; a column without room stands alone.

    >>> groups([5, 5, 5], 16), groups([9], 3)
    ([[1, 2], [3]], [[1]])
    """
    columns: list[list[int]] = []
    left = 0
    for place, width in enumerate(widths, 1):
        if not columns or width + COLUMN_GAP > left:
            columns.append([])
            left = room
        columns[-1].append(place)
        left -= width + COLUMN_GAP
    return columns or [[]]
