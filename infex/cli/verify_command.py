"""`infex lab verify`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from infex.cli import INTERRUPTED_CODE
from infex.cli.options import FILE, ready_for_figure
from infex.cli.output import say_json
from infex.errors import InvalidSetting

if TYPE_CHECKING:
    from infex.lab.verification import Finding

Result = TypeVar("Result")


@click.command()
@click.option(
    "--only", multiple=True, metavar="ID", help="Check this statement, such as C5; may be given again."
)
@click.option("--thorough", is_flag=True, help="Twelve passes of a hundred times as many runs: some hours.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--lower-bound", is_flag=True, help="Show what too little exploration costs on two arms, instead."
)
@click.option("--out", type=FILE, help="With --lower-bound: draw it into a file .png, .svg or .pdf.")
def verify(
    only: tuple[str, ...], thorough: bool, seed: int, as_json: bool, lower_bound: bool, out: Path | None
) -> None:
    """Checks the paper's statements on fresh runs.

    Statements C1 to C21 are those behind its theorems. Each measures one figure, which may not exceed a
    limit. The exit code is 1 if one does.

    \b
    infex lab verify
    infex lab verify --only C5 --only C10 --seed 7
    infex lab verify --thorough --json
    infex lab verify --lower-bound --out lower-bound.png
    """
    if lower_bound:
        if only:
            raise InvalidSetting("--lower-bound checks no statements: leave out --only")
        _lower_bound(thorough, seed, as_json, out)
        return
    if out is not None:
        raise InvalidSetting("--out is for the picture of --lower-bound")
    from infex.lab.verification import findings_text

    findings, done = _checked(only, thorough, seed)
    if as_json:
        say_json([finding._asdict() for finding in findings])
    else:
        click.echo(findings_text(findings))
    if not done:
        click.echo("interrupted: these are the passes that were finished", err=True)
        sys.exit(INTERRUPTED_CODE)
    if not all(finding.holds for finding in findings):
        sys.exit(1)


def _checked(only: tuple[str, ...], thorough: bool, seed: int) -> tuple[list[Finding], bool]:
    """The findings, the worst of all passes, and whether all passes were finished."""
    from infex.lab.verification import chosen, passes, statements

    count = statements.THOROUGH_PASSES if thorough else 1
    findings: list[Finding] = []

    def work(step: Callable[[str], None]) -> bool:
        nonlocal findings
        try:
            every = passes(seed, thorough=thorough, only=only, listener=lambda next_: step(next_.id))
            for number, findings in enumerate(every, 1):
                if thorough:
                    words = statements.verdict(findings, "all hold")
                    click.echo(f"pass {number} of {count}: {words}", err=True)
        except KeyboardInterrupt:
            if not findings:
                raise
            return False
        return True

    done = _with_progress(count * len(chosen(only)), work)
    return findings, done


def _lower_bound(thorough: bool, seed: int, as_json: bool, out: Path | None) -> None:
    """Regret against the horizon on the two arms, as figures and, with a file, as a picture."""
    from infex.lab.reports.figures import write_figure
    from infex.lab.verification import Effort, statements, two_arms

    if out is not None:
        ready_for_figure(out)
    effort = Effort(seed, statements.THOROUGH_SCALE if thorough else 1)
    measured = _with_progress(
        len(two_arms.SCHEDULES), lambda step: two_arms.measure(effort, count=1000, listener=step)
    )
    if as_json:
        say_json(measured.as_data())
    else:
        click.echo(str(measured))
    if out is not None:
        click.echo(write_figure(measured.figure(), out), err=True)


def _with_progress(total: int, work: Callable[[Callable[[str], None]], Result]) -> Result:
    """The result of the work, which calls its argument with a name before each of its parts."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line, begun = bar.add_task("checking", total=total), 0

        def step(name: str) -> None:
            nonlocal begun
            bar.update(line, description=name, completed=begun)
            begun += 1

        return work(step)
