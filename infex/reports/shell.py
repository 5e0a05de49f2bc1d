"""The frame of every page of ours: one HTML file that loads nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files

BREAKS = re.compile(r"([(\[]|[.:](?=[A-Za-z_]))")


def shell(title: str, parts: Iterable[str], *, style: str = "", scripts: Iterable[str] = ()) -> str:
    """A page of these parts; `style` adds to the common style sheet, scripts come last."""
    body = "\n".join(part for part in (*parts, *scripts) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{asset('page.css')}{style}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    )


def asset(name: str) -> str:
    """The text of a file of this room."""
    return files("infex.reports").joinpath(name).read_text(encoding="utf-8")


def script(name: str) -> str:
    """A script of this room with the charts that all pages share, to be written into a page."""
    shared = asset("drawing.js").replace("export function", "function")
    return f'<script type="module">\n{shared}{asset(name)}</script>'


def breakable(name: str) -> str:
    """A name in HTML that may go on in a new line at blanks, but not inside a word.

    Parts that are long by themselves may also be broken after a bracket, a colon or a dot.

    >>> breakable("Infex(my.module:Mine(scale=0.5), every(5))")
    'Infex(<wbr>my.<wbr>module:<wbr>Mine(<wbr>scale=0.5), every(5))'
    """
    parts = name.split(" ")
    return " ".join(
        BREAKS.sub(r"\1<wbr>", escape(part)) if len(part) > 16 else escape(part) for part in parts
    )


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose cells are HTML already."""
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
