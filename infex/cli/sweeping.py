"""Playing a sweep with a progress bar, and what is said at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from infex.cli import INTERRUPTED_CODE
from infex.cli.output import number, say_json
from infex.cli.tables import show_table
from infex.errors import ForeignFolder, InvalidSetting
from infex.lab.report import write_report
from infex.lab.results import Cell, Results
from infex.lab.runner import ProgressBar
from infex.lab.store import held
from infex.lab.sweep import Sweep

FAILURES_SHOWN = 5
Writer = Callable[[Results, Cell, str], str]


def play(
    sweep: Sweep,
    out: Path,
    *,
    workers: int | None,
    engine: str,
    scheduler: str | None,
    force: bool,
    as_json: bool = False,
) -> None:
    """Plays a sweep into a folder, draws its report, and ends the program with a code if runs failed."""
    console = Console(stderr=True)
    begun = time.perf_counter()
    before = {} if force else held(out)
    try:
        with ProgressBar(console) as bar:
            results = sweep.run(
                workers=workers, out=out, engine=engine, scheduler=scheduler, force=force, progress=bar.show
            )
    except ForeignFolder as error:
        raise InvalidSetting(
            f"the folder {out} has other contents; name another, or --force to write there"
        ) from error
    except KeyboardInterrupt:
        console.print(
            f"interrupted; what was finished is kept in {out}, and the same command goes on from there",
            markup=False,
        )
        sys.exit(INTERRUPTED_CODE)
    click.echo(_counted(results, time.perf_counter() - begun), err=True)
    if _lacks(results.about, before):
        click.echo(
            "this folder held another sweep; its runs are kept, its table and figures are replaced", err=True
        )
    drawn = _draw(results, out, as_json)
    tell_failures(results, out)
    if results.failures or not drawn:
        sys.exit(1)


def _counted(results: Results, seconds: float) -> str:
    """How many runs were played now, and how many were there already.

    >>> from infex import Greedy
    >>> from infex.lab import environments, play_many
    >>> results = Results.of(play_many(environments.gaussian(2, 3, seed=1), Greedy(), 5, seeds=range(3)))
    >>> results.about["earlier"] = 2
    >>> _counted(results, 0.31)
    '1 run played in 0.3 s; 2 were there already'
    """
    earlier = results.about.get("earlier", 0)
    words = _played(len(results.finals) + len(results.failures) - earlier, seconds)
    return f"{words}; {earlier:,} {'was' if earlier == 1 else 'were'} there already" if earlier else words


def _played(count: int, seconds: float) -> str:
    return f"{count:,} {'run' if count == 1 else 'runs'} played in {seconds:.1f} s"


def _lacks(about: dict[str, Any], before: dict[str, Any]) -> bool:
    """Had the earlier sweep of a folder anything that this one has not?"""
    if "policies" not in before:
        return False
    lists = ("environments", "policies", "seeds")
    return any(set(before.get(name, ())) - set(about[name]) for name in lists) or any(
        before.get(name) != about[name] for name in ("horizon", "penalty", "delta")
    )


def _draw(results: Results, out: Path, as_json: bool) -> bool:
    """Writes the report and shows the tables, or JSON; False, after a message, if that went wrong."""
    try:
        write_report(results, out)
        if as_json:
            say_json(results.summary().to_pylist())
        elif results.cells:
            show(results)
    except Exception as error:  # a fault in drawing must not hide the runs that failed
        click.echo(f"the report could not be drawn: {type(error).__name__}: {error}", err=True)
        click.echo(f"the table is in {out}; infex report {out} draws again", err=True)
        return False
    what = "table, figures and report.html" if results.cells else "an empty table and report.html"
    click.echo(f"{what} are in {out}", err=True)
    return True


def tell_failures(results: Results, out: Path) -> None:
    """Says on stderr which runs failed, and where their tracebacks are."""
    if not results.failures:
        return
    click.echo(f"\n{len(results.failures)} runs failed:", err=True)
    for failure in results.failures[:FAILURES_SHOWN]:
        click.echo(f"  {failure['run']}: {failure['traceback'].strip().splitlines()[-1]}", err=True)
    more = len(results.failures) - FAILURES_SHOWN
    if more > 0:
        click.echo(f"  and {more} more", err=True)
    click.echo(f"tracebacks are in {out / 'failures.json'}; the same command tries them again", err=True)


def show(results: Results) -> None:
    """Prints mean regret and median time, two tables for each dimension."""
    console = Console()
    if not results.shapes_are_distinct:
        _say_titles(console, results)
    for dim in sorted({cell.dim for cell in results.cells}):
        cells = [cell for cell in results.cells if cell.dim == dim]
        _show_cells(console, f"d = {dim}: final regret, mean ± std", results, cells, _regret)
        _show_cells(console, f"d = {dim}: milliseconds a run, median", results, cells, _time)


def _say_titles(console: Console, results: Results) -> None:
    """What each number in the heads of tables stands for."""
    for place, cell in enumerate(results.cells, 1):
        console.print(f"#{place}: {results.title(cell)}", highlight=False, markup=False)


def _show_cells(console: Console, title: str, results: Results, cells: list[Cell], write: Writer) -> None:
    """Prints a table of these cells, a row for each policy."""
    head = ["policy", *(_head(results, cell) for cell in cells)]
    rows = [[policy, *(write(results, cell, policy) for cell in cells)] for policy in results.policies]
    show_table(console, title, head, rows)


def _head(results: Results, cell: Cell) -> str:
    if not results.shapes_are_distinct:
        return f"#{results.cells.index(cell) + 1}"
    return f"K = {cell.arms}" if cell.horizon is None else f"K = {cell.arms}, T = {cell.horizon:,}"


def _regret(results: Results, cell: Cell, policy: str) -> str:
    regret = results.spread(cell, policy) if results.has(cell, policy) else None
    return "" if regret is None else f"{number(regret.mean, ',.0f')} ± {number(regret.std, ',.0f')}"


def _time(results: Results, cell: Cell, policy: str) -> str:
    return f"{1e3 * np.median(results.seconds(cell, policy)):.2f}" if results.has(cell, policy) else ""
