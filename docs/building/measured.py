"""Tables of recorded measurements: what was measured, when, and with which versions."""

from __future__ import annotations

import json

from docs.building.pages import DOCS


def write(file: str, titles: list[str]) -> str:
    """The tables of a file in docs/measured, or those of some titles, and below them date and versions."""
    found = json.loads((DOCS / "measured" / file).read_text())
    by_title = {each["title"]: each for each in found["tables"]}
    made = f"Measured on {found['date']}: {found['how']} {versions(found['versions'])}."
    return "\n\n".join([*(table(by_title[title]) for title in titles or by_title), made])


def table(found: dict[str, object]) -> str:
    """One table: its title, what it says, its columns and rows."""
    columns, rows = found["columns"], found["rows"]
    assert isinstance(columns, list)
    assert isinstance(rows, list)
    head = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    body = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join([f"**{found['title']}** {found['note']}", "", *head, *body])


def versions(found: dict[str, str]) -> str:
    """Names and versions in a row."""
    return ", ".join(f"{name} {version}" for name, version in found.items())
