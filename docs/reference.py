"""Writes `docs/reference.md`, all public names with their settings, from the program itself.

`python docs/reference.py` writes it anew; a test holds it to what the program says.
"""

import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import infex

PAGE = Path(__file__).with_name("reference.md")
ROOMS = (
    "environments", "estimators", "features", "view", "testing", "adapters", "theory", "verification",
    "evaluation",
)  # fmt: skip
HEAD = """# Reference

All public names. `help(infex.LinUCB)` shows the whole of what one line tells here, with formulas, examples
and what is refused. Arguments behind `*` are given by name.
This page is written by `python docs/reference.py`.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, _section("infex", infex)]
    parts += [_section(f"infex.{name}", vars(infex)[name]) for name in _loaded(ROOMS)]
    return "\n".join([*parts, _methods("Results", infex.Results), _methods("Bandit", infex.Bandit)])


def _loaded(rooms: tuple[str, ...]) -> tuple[str, ...]:
    for name in rooms:
        getattr(infex, name)
    return rooms


def _section(title: str, room: types.ModuleType) -> str:
    names = [name for name in room.__all__ if not isinstance(getattr(room, name), types.ModuleType)]
    rows = [_row(name, getattr(room, name)) for name in sorted(names, key=str.casefold)]
    return "\n".join([f"## `{title}`", "", "| name | what it is |", "|---|---|", *rows, ""])


def _methods(title: str, kind: type) -> str:
    names = [name for name in dir(kind) if not name.startswith("_")]
    rows = [_row(name, inspect.getattr_static(kind, name)) for name in names]
    return "\n".join([f"## `{title}.`", "", "| name | what it gives |", "|---|---|", *rows, ""])


def _row(name: str, thing: Any) -> str:
    plain = thing.__func__ if isinstance(thing, staticmethod | classmethod) else thing
    cells = (f"`{name}{_arguments(plain)}`", _first_line(plain))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _arguments(thing: Any) -> str:
    if not callable(thing):
        return ""
    try:
        taken = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return "()"
    return f"({', '.join(_words(list(taken)))})"


def _words(taken: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for each in taken:
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        starred = starred or each.kind is each.VAR_POSITIONAL
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f"={_written(each.default)}"
        yield f"{stars}{each.name}{default}"


def _written(default: object) -> str:
    text = repr(default)
    return text if len(text) <= 30 and " at 0x" not in text and not text.startswith("<") else "..."


def _first_line(thing: Any) -> str:
    said = inspect.getdoc(thing) or ""
    return said.partition("\n\n")[0].replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
