"""Final regret as a table for a paper."""

from __future__ import annotations

import math
from typing import Literal

from infex.checks import one_of
from infex.reports.shown import P, Shown, played

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


def latex(results: Shown[P], of: Literal["mean", "median"] = "mean") -> str:
    """A table for booktabs: a row for each policy, a column for each problem, the least of a column in bold.

    "mean" has the interval of 95 % of the mean beside it, where there are 12 runs; "median" stands alone.
    """
    one_of("of", of, ("mean", "median"))
    least = {cell: _least(results, cell, of) for cell in results.cells}
    heads = ["policy", *(escaped(results.title(cell)) for cell in results.cells)]
    rows = [
        [escaped(policy), *(_entry(results, cell, policy, of, least[cell]) for cell in results.cells)]
        for policy in results.policies
    ]
    what = "mean final regret with its 95 % interval" if of == "mean" else "median final regret"
    note = f"% {what}; the least of a column is bold. Needs \\usepackage{{booktabs}}."
    return "\n".join([note, *_tabular(heads, rows), ""])


def _least(results: Shown[P], cell: P, of: str) -> float:
    return min(_value(results, cell, policy, of) for policy in played(results, cell))


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


def _value(results: Shown[P], cell: P, policy: str, of: str) -> float:
    regret = results.spread(cell, policy)
    return regret.mean if of == "mean" else regret.median


def _entry(results: Shown[P], cell: P, policy: str, of: str, least: float) -> str:
    if not results.has(cell, policy):
        return "--"
    value = _value(results, cell, policy, of)
    words = f"${_number(value)}$" if value > least else rf"$\mathbf{{{_number(value)}}}$"
    mean = results.interval(cell, policy)
    if of == "median" or math.isnan(mean.low):
        return words
    return f"{words} $[{_number(mean.low)},\\,{_number(mean.high)}]$"


def _number(value: float) -> str:
    digits = 0 if abs(value) >= 100 else 1
    return f"{value:,.{digits}f}".replace(",", r"{,}")
