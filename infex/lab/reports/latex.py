"""Final regret as a LaTeX table for a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from infex._stats import holm, paired_test
from infex.checks import one_of
from infex.lab.reports.series import LOOKS, Look

if TYPE_CHECKING:
    from infex.lab.results import Cell, Results

NUMBERS: dict[str, str] = {
    "std": r"mean $\pm$ standard deviation",
    "interval": r"mean with its 95\,\% interval (bootstrap-t)",
    "median": "median with quartiles",
}
LEVEL = 0.05  # of significance, for all tests of a table together
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
EQUATION = re.compile(r"\b([dKT]) = (\d+(?:,\d{3})*)")


def latex(
    results: Results,
    show: Look,
    names: Mapping[str, str],
    against: str | None,
    caption: str | None,
    label: str,
) -> str:
    r"""A `table` for booktabs: a row for each policy of `names`, a column for each problem.

    In each column the least figure is bold, with all that are not significantly worse: paired over seeds by
    Wilcoxon's signed ranks, at 5 % after Holm's correction for all these tests of the table. With `against`,
    a \dagger marks what differs significantly from that policy, tested in the same way.
    """
    one_of("show", show, tuple(LOOKS))
    cells = [cell for cell in results.cells if any(results.has(cell, policy) for policy in names)]
    best: dict[Cell, str | None] = {}
    for cell in cells:
        figures = {policy: _figure(results, cell, policy, show) for policy in _played(results, cell, names)}
        best[cell] = min(figures, key=figures.__getitem__)
    worse = _differing(results, names, best)
    marked = _differing(results, names, dict.fromkeys(cells, against)) if against is not None else set()
    rows = [
        [
            escaped(name),
            *(
                _entry(results, cell, policy, show, (cell, policy) not in worse, (cell, policy) in marked)
                for cell in cells
            ),
        ]
        for policy, name in names.items()
    ]
    heads = ["policy", *(_title(results.title(cell)) for cell in cells)]
    said = _caption(results, cells, show, against and names.get(against, against))
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{said if caption is None else caption}}}",
            rf"\label{{{label}}}",
            rf"\begin{{tabular}}{{l{'r' * len(cells)}}}",
            r"\toprule",
            _row(heads),
            r"\midrule",
            *map(_row, rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _caption(results: Results, cells: list[Cell], show: Look, against: str | None) -> str:
    """What the numbers, the bold ones and the marks of a table are."""
    counts = {len(results.regret(cell, policy)) for cell in cells for policy in results.policies
              if results.has(cell, policy)}  # fmt: skip
    runs = f"{min(counts)} runs" if len(counts) == 1 else f"{min(counts)} to {max(counts)} runs"
    test = r"(Wilcoxon's signed-rank test, paired, 5\,\%, Holm's correction)"
    words = f"Final regret over {runs}: {NUMBERS[show]}. Bold: the least of a column, and all that are not "
    words += f"significantly worse {test}."
    if against is not None:
        words += rf" $\dagger$: differs significantly from {escaped(against)} in the same test."
    return words


def _played(results: Results, cell: Cell, names: Mapping[str, str]) -> list[str]:
    return [policy for policy in names if results.has(cell, policy)]


def _differing(
    results: Results, names: Mapping[str, str], against: Mapping[Cell, str | None]
) -> set[tuple[Cell, str]]:
    """The cells and policies that differ significantly from the policy that each cell is compared with."""
    tested: dict[tuple[Cell, str], float] = {}
    for cell, other in against.items():
        if other is None or not results.has(cell, other):
            continue
        for policy in _played(results, cell, names):
            if policy != other:
                one, two = results.both(cell, policy, other)
                tested[cell, policy] = paired_test(one, two).p if one.size else math.nan
    corrected = holm(list(tested.values()))
    return {place for place, p in zip(tested, corrected, strict=True) if p < LEVEL}


def _figure(results: Results, cell: Cell, policy: str, show: Look) -> float:
    regret = results.spread(cell, policy)
    return regret.median if show == "median" else regret.mean


def _row(entries: list[str]) -> str:
    return " & ".join(entries) + r" \\"


def _title(text: str) -> str:
    """The name of a problem; its equations, such as d = 10, are set as mathematics."""
    return EQUATION.sub(lambda found: f"${found[1]} = {found[2]}$".replace(",", "{,}"), escaped(text))


def escaped(text: str) -> str:
    r"""Text with all that LaTeX would take for a command written out.

    >>> escaped("K = 10_000 & 5 %")
    'K = 10\\_000 \\& 5 \\%'
    """
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def _entry(results: Results, cell: Cell, policy: str, show: Look, bold: bool, mark: bool) -> str:
    if not results.has(cell, policy):
        return "--"
    number = _number(_figure(results, cell, policy, show))
    words = (rf"\mathbf{{{number}}}" if bold else number) + (r"^\dagger" if mark else "")
    if show == "std":
        std = results.spread(cell, policy).std
        return f"${words}$" if math.isnan(std) else rf"${words} \pm {_number(std)}$"
    if show == "interval":
        _, low, high = results.interval(cell, policy)
    else:
        finals = results.regret(cell, policy)
        low, high = np.quantile(finals, (0.25, 0.75)) if finals.size > 1 else (math.nan, math.nan)
    return f"${words}$" if math.isnan(low) else rf"${words}$ $[{_number(low)},\,{_number(high)}]$"


def _number(value: float) -> str:
    digits = 0 if abs(value) >= 100 else 1
    return f"{value:,.{digits}f}".replace(",", r"{,}")
