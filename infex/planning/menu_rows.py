"""The menu as a table, in the terminal and on the page."""

from __future__ import annotations

from typing import NamedTuple

from infex.planning.answer import Plan
from infex.planning.finish import Judged

MENU_NOTE = (
    "All rows are of the same fresh problems. Other problems chose the candidates; these say only which of "
    'them has the least regret. "Within?" says whether the interval lies within the factor (yes), beyond it '
    "(no), or holds it (open)."
)


class MenuRow(NamedTuple):
    """One candidate of the menu with all its names, and whether it is as near as each of them says."""

    names: str
    holds: str
    judged: Judged
    recommended: bool


def menu_rows(plan: Plan) -> list[MenuRow]:
    """A row for each candidate on the menu, from the least regret to the fewest explorations."""
    by_policy = {entry.judged.expression: entry.judged for entry in plan.menu}
    rows = []
    for expression, judged in by_policy.items():
        same = [entry for entry in plan.menu if entry.judged.expression == expression]
        names = [entry.name for entry in same]
        if plan.recommended == expression:
            names.append("recommended")
        holds = ", ".join(dict.fromkeys(entry.holds for entry in same if entry.holds))
        rows.append(MenuRow(", ".join(names), holds, judged, plan.recommended == expression))
    return sorted(rows, key=lambda row: -row.judged.explorations)
