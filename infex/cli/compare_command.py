"""`infex compare`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from infex.cli.options import FOLDER
from infex.cli.output import number, say_json

if TYPE_CHECKING:
    from infex.lab.results import Cell, Results

TOO_FEW_PAIRS = "too few"
SMALLEST_SHOWN = 0.001  # of p-values; smaller ones are said to be below it


@click.command()
@click.argument("one")
@click.argument("other")
@click.option("--in", "folder", type=FOLDER, required=True, help="A folder that a sweep has written.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(one: str, other: str, folder: Path, as_json: bool) -> None:
    """Two policies, pair by pair.

    Final regret of ONE minus that of OTHER, paired by instance and noise: the mean with a 95 % interval
    (12 pairs are the fewest), the median, and the p-value of Wilcoxon's signed ranks, corrected for the
    number of problems.

    \b
    infex compare "Infex(LinUCB, every(5))" LinUCB --in reproduction
    """
    from rich.console import Console

    from infex.cli.tables import show_table
    from infex.lab.store import read

    results = read(folder)
    one, other = results.known(one), results.known(other)
    compared = results.tests(other, policy=one).to_pylist()
    if as_json:
        say_json(compared)
        return
    rows = [_cells(results, row) for row in compared]
    title = f"final regret of {one} minus that of {other}"
    show_table(Console(), title, ["problem", "mean", "95 % interval", "median", "lower in", "p (Holm)"], rows)


def _cells(results: Results, row: dict[str, Any]) -> list[str]:
    """A row of the table in words."""
    cell = next(each for each in results.cells if _is_of(row, each))
    mean, median, chance = _signed(row["mean"]), _signed(row["median"]), _chance(row["p_holm"])
    return [results.title(cell), mean, _between(row), median, f"{row['below']} of {row['pairs']}", chance]


def _between(row: dict[str, Any]) -> str:
    return TOO_FEW_PAIRS if row["low"] is None else f"{_signed(row['low'])} to {_signed(row['high'])}"


def _is_of(row: dict[str, Any], cell: Cell) -> bool:
    """Is a row that of a cell?"""
    same = (row["environment"], row["dim"], row["arms"]) == (cell.environment, cell.dim, cell.arms)
    return same and cell.horizon in (None, row["horizon"])


def _signed(value: float | None) -> str:
    return number(math.nan if value is None else value, "+,.1f")


def _chance(p: float | None) -> str:
    """A p-value as papers print it.

    >>> _chance(0.0312), _chance(1e-7)
    ('0.031', '< 0.001')
    """
    if p is not None and p < SMALLEST_SHOWN:
        return f"< {SMALLEST_SHOWN}"
    return number(math.nan if p is None else p, ".3f")
