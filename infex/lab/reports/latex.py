"""Final regret as a LaTeX table for a paper."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from infex._stats import holm, paired_test
from infex.checks import one_of
from infex.errors import InvalidSetting
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
    played = {cell: [policy for policy in names if results.has(cell, policy)] for cell in results.cells}
    played = {cell: policies for cell, policies in played.items() if policies}
    if not played:
        raise InvalidSetting("there is no table to write: no run went well")
    figures = {
        (cell, policy): getattr(results.spread(cell, policy), "median" if show == "median" else "mean")
        for cell, policies in played.items()
        for policy in policies
    }
    best = {cell: min(some, key=lambda policy: figures[cell, policy]) for cell, some in played.items()}
    worse = _differing(results, played, best)
    marked = _differing(results, played, dict.fromkeys(played, against)) if against is not None else set()

    def entry(cell: Cell, policy: str) -> str:
        if (cell, policy) not in figures:
            return "--"
        number = _number(figures[cell, policy])
        number = number if (cell, policy) in worse else rf"\mathbf{{{number}}}"
        number += r"^\dagger" if (cell, policy) in marked else ""
        runs, _, std, _ = results.spread(cell, policy)
        if show == "std":
            return f"${number}$" if math.isnan(std) else rf"${number} \pm {_number(std)}$"
        _, low, high = results.interval(cell, policy)
        if show == "median":
            low, high = (
                np.quantile(results.regret(cell, policy), (0.25, 0.75)) if runs > 1 else (math.nan,) * 2
            )
        return f"${number}$" if math.isnan(low) else rf"${number}$ $[{_number(low)},\,{_number(high)}]$"

    heads = ["policy", *(_title(results.title(cell)) for cell in played)]
    rows = [[escaped(name), *(entry(cell, policy) for cell in played)] for policy, name in names.items()]
    header, *body = (" & ".join(row) + r" \\" for row in [heads, *rows])
    if caption is None:
        caption = _caption(results, list(played), show, against and names.get(against, against))
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{{label}}}",
            rf"\begin{{tabular}}{{l{'r' * len(played)}}}",
            r"\toprule",
            header,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _caption(results: Results, cells: list[Cell], show: Look, against: str | None) -> str:
    """What the numbers, the bold ones and the marks of a table are."""
    counts = {results.regret(cell, policy).size for cell in cells for policy in results.played(cell)}
    runs = f"{min(counts)} runs" if len(counts) == 1 else f"{min(counts)} to {max(counts)} runs"
    words = (
        f"Final regret over {runs}: {NUMBERS[show]}. Bold: the least of a column, and all that are not "
        r"significantly worse (Wilcoxon's signed-rank test, paired, 5\,\%, Holm's correction)."
    )
    if against is not None:
        words += rf" $\dagger$: differs significantly from {escaped(against)} in the same test."
    return words


def _differing(
    results: Results, played: Mapping[Cell, list[str]], against: Mapping[Cell, str]
) -> set[tuple[Cell, str]]:
    """The cells and policies that differ significantly from the policy that each cell is compared with."""
    tested: dict[tuple[Cell, str], float] = {}
    for cell, other in against.items():
        for policy in played[cell] if results.has(cell, other) else ():
            if policy != other:
                one, two = results.both(cell, policy, other)
                tested[cell, policy] = paired_test(one, two).p if one.size else math.nan
    corrected = holm(list(tested.values()))
    return {place for place, p in zip(tested, corrected, strict=True) if p < LEVEL}


def _title(text: str) -> str:
    """The name of a problem; its equations, such as d = 10, are set as mathematics."""
    return EQUATION.sub(lambda found: f"${found[1]} = {found[2]}$".replace(",", "{,}"), escaped(text))


def escaped(text: str) -> str:
    r"""Text with all that LaTeX would take for a command written out.

    >>> escaped("K = 10_000 & 5 %")
    'K = 10\\_000 \\& 5 \\%'
    """
    return "".join(SPECIAL.get(letter, letter) for letter in text)


def _number(value: float) -> str:
    digits = 0 if abs(value) >= 100 else 1
    return f"{value:,.{digits}f}".replace(",", r"{,}")
