"""The parts of a page as HTML text: shell, tables, names that may be broken, and charts with their data."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Any

BREAKS = re.compile(r"([(\[]|[.:](?=[A-Za-z_]))")
LONGEST_PART = 16  # characters of a name without a blank, beyond which it may be broken after a bracket
LONGEST_WORD = 30  # characters beyond which a word may be broken anywhere


def shell(title: str, parts: Iterable[str]) -> str:
    """One self-contained page of these parts, which are HTML already; it loads nothing."""
    body = "\n".join(part for part in parts if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_asset('page.css')}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n"
        f'<script type="module">\n{_asset("chart.js")}</script>\n</body>\n</html>\n'
    )


def _asset(name: str) -> str:
    """The text of `chart.js` or `page.css`."""
    return files("infex.pages").joinpath(name).read_text(encoding="utf-8")


def breakable(name: str) -> str:
    """A name in HTML that may go on in a new line at blanks, but not inside a word.

    Parts that are long by themselves may also be broken after a bracket, a colon or a dot, and words that no
    column has room for anywhere.

    >>> breakable("Infex(my.module:Mine(scale=0.5), every(5))")
    'Infex(<wbr>my.<wbr>module:<wbr>Mine(<wbr>scale=0.5), every(5))'
    """
    text = " ".join(
        BREAKS.sub(r"\1<wbr>", escape(part)) if len(part) > LONGEST_PART else escape(part)
        for part in name.split(" ")
    )
    longest = max(len(word) for word in re.split(r"[ (\[.:]", name))
    return f'<span class="long">{text}</span>' if longest > LONGEST_WORD else text


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], *, texts: Iterable[int] = ()) -> str:
    """A table of names and numbers whose cells are HTML already; the columns `texts` hold sentences.

    A row of one cell is a heading across the table. Where the table is too wide for its page it scrolls, and
    says so.
    """
    names, wordy = list(heads), set(texts)
    kinds = [' class="texts"' if place in wordy else "" for place in range(len(names))]
    head = "".join(f'<th scope="col"{kind}>{name}</th>' for kind, name in zip(kinds, names, strict=True))
    body = "".join(_row(list(row), kinds) for row in rows)
    inner = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="wide"><table class="numbers">{inner}</table></div>'


def _row(cells: list[str], kinds: list[str]) -> str:
    if len(cells) == 1 < len(kinds):
        return f'<tr class="head"><td colspan="{len(kinds)}"><div>{cells[0]}</div></td></tr>'
    return f"<tr>{''.join(f'<td{kind}>{cell}</td>' for kind, cell in zip(kinds, cells, strict=True))}</tr>"


def chart(data: dict[str, Any], name: str = "") -> str:
    """A chart of these data, which `chart.js` describes; `name` is its id on the page."""
    named = f' id="{escape(name)}"' if name else ""
    return f'<figure class="chart"{named}>{_embedded(data)}</figure>'


def tools(data: dict[str, Any]) -> str:
    """Buttons for all charts of a page that have `tools`: names to hide and show, views, and log scales."""
    return f'<div class="tools">{_embedded(data)}</div>'


def _embedded(data: dict[str, Any]) -> str:
    content = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json">{content}</script>'


def rounded(values: Iterable[float]) -> list[float | None]:
    """Numbers as short as a chart needs them, with five digits; None for what is not finite.

    >>> rounded([1234.5678, float("nan"), 3])
    [1234.6, None, 3.0]
    """
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
