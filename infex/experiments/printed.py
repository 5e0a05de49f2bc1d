"""An Arrow table as text in columns."""

from __future__ import annotations

import math

import pyarrow as pa

ROWS_SHOWN = 60  # all rows of a table that has no more
ROWS_OF_A_LONG_ONE = 10


def aligned(table: pa.Table) -> str:
    """The table with its names above its columns: all rows if they are few, else the first and their number.

    >>> print(aligned(pa.table({"policy": ["A", "B"], "regret": [1234.5678, None]})))
    policy  regret
    A        1,235
    B            \N{EN DASH}
    """
    many = table.num_rows > ROWS_SHOWN
    rows = table.slice(0, ROWS_OF_A_LONG_ONE if many else ROWS_SHOWN)
    columns = [
        [name, *map(_written, rows[place].to_pylist())] for place, name in enumerate(rows.column_names)
    ]
    widths = [max(map(len, column)) for column in columns]
    texts = [pa.types.is_string(field.type) for field in rows.schema]
    lines = [
        "  ".join(
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(line, widths, texts, strict=True)
        ).rstrip()
        for line in zip(*columns, strict=True)
    ]
    return "\n".join([*lines, f"... {table.num_rows:,} rows in all"] if many else lines)


def _written(value: object) -> str:
    """A value as a reader wants it: four digits, or all before the point."""
    if value is None:
        return "\N{EN DASH}"
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.4g}"
