"""Tables and paragraphs in plain text, for answers that are printed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

GAP = "  "  # between columns
WIDTH = 80  # characters of a line


def paragraph(words: str) -> str:
    """Words in lines of at most 80 characters; a line without a blank, such as code, stays whole."""
    return textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def text_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], wrap: Mapping[int, int] | None = None
) -> str:
    """Rows under a head: columns in `wrap` are left-aligned and wrapped to their width, others right-aligned.

    >>> print(text_table(["policy", "regret"], [["LinUCB", "207"], ["a long name", "1,234"]], {0: 8}))
    policy  regret
    LinUCB     207
    a long   1,234
    name
    """
    widths = {0: 24} if wrap is None else wrap
    cells = [
        [textwrap.wrap(cell, widths[k]) or [""] if k in widths else [cell] for k, cell in enumerate(row)]
        for row in [head, *rows]
    ]
    sizes = [max(len(line) for row in cells for line in row[k]) for k in range(len(head))]
    lines = []
    for row in cells:
        for parts in zip_longest(*row, fillvalue=""):
            aligned = [
                f"{part:<{size}}" if k in widths else f"{part:>{size}}"
                for k, (part, size) in enumerate(zip(parts, sizes, strict=True))
            ]
            lines.append(GAP.join(aligned).rstrip())
    return "\n".join(lines)
