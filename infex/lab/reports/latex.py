"""Final regret as a table for a paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from infex.checks import one_of
from infex.lab.reports.series import LOOKS, Look, played

if TYPE_CHECKING:
    from infex.lab.results import Cell, Results

NOTES: dict[str, str] = {
    "std": "mean and standard deviation",
    "interval": "mean with its 95 % interval",
    "median": "median with quartiles",
}

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def latex(results: Results, show: Look = "std") -> str:
    """A table for booktabs: a row for each policy, a column for each problem, the least of a column in bold.

    `show` is "std" (means with one standard deviation), "interval" (means with intervals of 95 %, where there
    are 12 runs) or "median" (medians with quartiles).
    """
    one_of("show", show, tuple(LOOKS))
    least = {cell: _least(results, cell, show) for cell in results.cells}
    heads = ["policy", *(escaped(results.title(cell)) for cell in results.cells)]
    rows = [
        [escaped(policy), *(_entry(results, cell, policy, show, least[cell]) for cell in results.cells)]
        for policy in results.policies
    ]
    note = f"% final regret: {NOTES[show]}; the least of a column is bold. Needs \\usepackage{{booktabs}}."
    return "\n".join([note, *_tabular(heads, rows), ""])


def _least(results: Results, cell: Cell, show: Look) -> float:
    return min(_value(results, cell, policy, show) for policy in played(results, cell))


def _tabular(heads: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table of names and numbers."""
    begin = rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}"
    body = [r"\toprule", _row(heads), r"\midrule", *map(_row, rows), r"\bottomrule"]
    return [begin, *body, r"\end{tabular}"]


def _row(entries: list[str]) -> str:
    return " & ".join(entries) + r" \\"


def escaped(text: str) -> str:
    r"""Text with all that LaTeX would take for a command written out.

    >>> escaped("K = 10_000 & 5 %")
    'K = 10\\_000 \\& 5 \\%'
    """
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def _value(results: Results, cell: Cell, policy: str, show: Look) -> float:
    regret = results.spread(cell, policy)
    return regret.median if show == "median" else regret.mean


def _entry(results: Results, cell: Cell, policy: str, show: Look, least: float) -> str:
    if not results.has(cell, policy):
        return "--"
    value = _value(results, cell, policy, show)
    words = _number(value) if value > least else rf"\mathbf{{{_number(value)}}}"
    if show == "std":
        std = results.spread(cell, policy).std
        return f"${words}$" if math.isnan(std) else rf"${words} \pm {_number(std)}$"
    if show == "interval":
        _, low, high = results.interval(cell, policy)
    else:
        finals = results.curves(cell, policy)[1][:, -1]
        low, high = np.quantile(finals, (0.25, 0.75)) if finals.size > 1 else (math.nan, math.nan)
    return f"${words}$" if math.isnan(low) else rf"${words}$ $[{_number(low)},\,{_number(high)}]$"


def _number(value: float) -> str:
    digits = 0 if abs(value) >= 100 else 1
    return f"{value:,.{digits}f}".replace(",", r"{,}")
