"""Playing a sweep with a progress bar, and what is said at the end."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from infex.cli.output import INTERRUPTED, number
from infex.experiments.report import write_report
from infex.experiments.results import Cell, Results
from infex.experiments.sweep import Sweep

SHOWN_FAILURES = 5


def play(
    sweep: Sweep,
    out: Path,
    *,
    workers: int | None,
    engine: str,
    scheduler: str | None,
    force: bool,
) -> None:
    """Plays a sweep into a folder, draws its report, and ends the program with a code if runs failed."""
    console = Console(stderr=True)
    begun = time.perf_counter()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    try:
        with Progress(*columns, console=console, transient=False) as bar:
            line = bar.add_task("compiling" if not out.exists() else "runs", total=None)

            def progress(done: int, total: int, failed: int) -> None:
                name = "runs" if not failed else f"runs, [red]{failed} failed[/red]"
                bar.update(line, completed=done, total=total, description=name)

            results = sweep.run(
                workers=workers, out=out, engine=engine, scheduler=scheduler, force=force, progress=progress
            )
    except KeyboardInterrupt:
        console.print(
            f"interrupted; what was finished is kept in {out}, and the same command goes on from there",
            markup=False,
        )
        sys.exit(INTERRUPTED)
    played = time.perf_counter() - begun
    click.echo(f"\n{len(results.finals):,} runs in {played:.1f} s", err=True)
    drawn = _draw(results, out)
    _tell_failures(results, out)
    if results.failures or not drawn:
        sys.exit(1)


def _draw(results: Results, out: Path) -> bool:
    """Writes the report and shows the tables; False if that went wrong, which is said."""
    try:
        write_report(results, out)
        if results.cells:
            show(results)
    except Exception as error:  # of which failed runs must not go under
        click.echo(f"the report could not be drawn: {type(error).__name__}: {error}", err=True)
        click.echo(f"the table is in {out}; infex report {out} draws again", err=True)
        return False
    what = "table, figures and report.html" if results.cells else "an empty table and report.html"
    click.echo(f"{what} are in {out}", err=True)
    return True


def _tell_failures(results: Results, out: Path) -> None:
    if not results.failures:
        return
    click.echo(f"\n{len(results.failures)} runs failed:", err=True)
    for failure in results.failures[:SHOWN_FAILURES]:
        click.echo(f"  {failure['run']}: {failure['traceback'].strip().splitlines()[-1]}", err=True)
    more = len(results.failures) - SHOWN_FAILURES
    if more > 0:
        click.echo(f"  and {more} more", err=True)
    click.echo(f"tracebacks are in {out / 'failures.json'}; the same command tries them again", err=True)


def show(results: Results) -> None:
    """Prints mean regret and median time, two tables for each dimension."""
    console = Console()
    if not results.has_shapes_apart:
        for place, cell in enumerate(results.cells, 1):
            console.print(f"#{place}: {results.title(cell)}", highlight=False, markup=False)
    for dim in sorted({cell.dim for cell in results.cells}):
        cells = [cell for cell in results.cells if cell.dim == dim]
        for title, write in (
            (f"d = {dim}: final regret, mean ± std", _regret),
            ("milliseconds a run, median", _time),
        ):
            table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
            table.add_column("policy", no_wrap=True, min_width=max(map(len, results.policies)))
            for cell in cells:
                table.add_column(_head(results, cell), justify="right", no_wrap=True)
            for policy in results.policies:
                table.add_row(escape(policy), *(write(results, cell, policy) for cell in cells))
            console.print(table)


def _head(results: Results, cell: Cell) -> str:
    return f"K = {cell.arms}" if results.has_shapes_apart else f"#{results.cells.index(cell) + 1}"


def _regret(results: Results, cell: Cell, policy: str) -> str:
    if not results.has(cell, policy):
        return ""
    found = results.spread(cell, policy)
    return f"{number(found.mean, ',.0f')} ± {number(found.std, ',.0f')}"


def _time(results: Results, cell: Cell, policy: str) -> str:
    return f"{1e3 * np.median(results.seconds(cell, policy)):.2f}" if results.has(cell, policy) else ""
