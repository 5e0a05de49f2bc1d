"""`infex lab verify`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from infex.cli import INTERRUPTED_CODE
from infex.cli.options import FILE, ready_for_figure
from infex.cli.output import say_json
from infex.errors import InvalidSetting

if TYPE_CHECKING:
    from infex.lab.verification import Finding
    from infex.lab.verification.two_arms import Curve

Result = TypeVar("Result")

DECADES = (100, 1000, 10_000, 100_000)


@click.command()
@click.option(
    "--only", multiple=True, metavar="ID", help="Check this statement, such as C5; may be given again."
)
@click.option("--thorough", is_flag=True, help="Twelve passes of a hundred times as many runs: some hours.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--lower-bound", is_flag=True, help="Draw what too little exploration costs on two arms, instead."
)
@click.option("--out", type=FILE, help="Draw that picture into a file, too: .png, .svg or .pdf.")
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
        _refuse_statements(only)
        _lower_bound(thorough, seed, as_json, out)
        return
    _refuse_picture(out)
    findings, done = _checked(only, thorough, seed)
    if as_json:
        say_json([finding._asdict() for finding in findings])
    else:
        _show(findings)
    if not done:
        click.echo("interrupted: these are the passes that were finished", err=True)
        sys.exit(INTERRUPTED_CODE)
    if not all(finding.holds for finding in findings):
        sys.exit(1)


def _refuse_statements(only: tuple[str, ...]) -> None:
    if only:
        raise InvalidSetting("--lower-bound checks no statements: leave out --only")


def _refuse_picture(out: Path | None) -> None:
    if out is not None:
        raise InvalidSetting("--out is for the picture of --lower-bound")


def _checked(only: tuple[str, ...], thorough: bool, seed: int) -> tuple[list[Finding], bool]:
    """The findings, the worst of all passes, and whether all passes were finished."""
    from infex.lab.verification import suite

    count = suite.THOROUGH_PASSES if thorough else 1
    findings: list[Finding] = []

    def work(step: Callable[[str], None]) -> bool:
        nonlocal findings
        try:
            passes = suite.passes(seed, thorough=thorough, only=only, listener=lambda next_: step(next_.id))
            for number, findings in enumerate(passes, 1):
                if thorough:
                    click.echo(f"pass {number} of {count}: {_verdict(findings, 'all hold')}", err=True)
        except KeyboardInterrupt:
            if not findings:
                raise
            return False
        return True

    done = _with_progress(count * len(suite.chosen(only)), work)
    return findings, done


def _with_progress(total: int, work: Callable[[Callable[[str], None]], Result]) -> Result:
    """The result of the work, which calls its argument with a name before each of its parts."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line, begun = bar.add_task("compiling", total=total), 0

        def step(name: str) -> None:
            nonlocal begun
            bar.update(line, description=name, completed=begun)
            begun += 1

        return work(step)


def _show(findings: list[Finding]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("")
    table.add_column("statement: what is measured")
    for head in ("measured", "limit", ""):
        table.add_column(head, justify="right", no_wrap=True)
    for finding in findings:
        table.add_row(finding.id, escape(finding.statement), *_figures(finding))
    console.print(table)
    console.print(_verdict(findings, f"all {len(findings)} hold"))


def _figures(finding: Finding) -> tuple[str, str, str]:
    """What was measured, its limit, and whether it holds, with rich's markup."""
    verdict = "[green]holds[/]" if finding.holds else "[bold red]FAILS[/]"
    return f"{finding.measured:.4g}", f"{finding.limit:.4g}", verdict


def _verdict(findings: list[Finding], otherwise: str) -> str:
    """Which statements failed; `otherwise` if none has."""
    failed = [finding.id for finding in findings if not finding.holds]
    return f"{', '.join(failed)} failed" if failed else otherwise


def _lower_bound(thorough: bool, seed: int, as_json: bool, out: Path | None) -> None:
    """Regret against the horizon on the two arms, as figures and, with a file, as a picture."""
    from infex.lab.verification import Effort, two_arms
    from infex.lab.verification.suite import THOROUGH_SCALE

    if out is not None:
        ready_for_figure(out)
    effort = Effort(seed, THOROUGH_SCALE if thorough else 1)
    by_name = _with_progress(
        len(two_arms.TWO_ARM_SCHEDULES), lambda step: two_arms.curves(effort, count=1000, listener=step)
    )
    if as_json:
        say_json([_curve_data(name, curve) for name, curve in by_name.items()])
    else:
        _show_curves(by_name, two_arms.TWO_ARM_GAP, 1000 * effort.scale)
    if out is not None:
        click.echo(_draw(by_name, two_arms.TWO_ARM_GAP, out), err=True)


def _curve_data(name: str, curve: Curve) -> dict[str, Any]:
    """Plain values for JSON."""
    slopes = {"slope": curve.slope(100), "late_slope": curve.slope(10_000)}
    return {"schedule": name} | slopes | {"rounds": curve.rounds.tolist(), "regret": curve.regret.tolist()}


def _show_curves(by_name: dict[str, Curve], gap: float, runs: int) -> None:
    from rich.console import Console

    from infex.cli.output import show_table

    console = Console(highlight=False)
    rows = [[name, *_regrets(curve), *_slopes(curve)] for name, curve in by_name.items()]
    title = f"mean regret of {runs:,} runs on the arms 1 and 0, theta = {gap:.3f}"
    show_table(console, title, ["explorations", *(f"T = {t:,}" for t in DECADES), "slope", "late"], rows)
    console.print("slope: of log regret against log T, from 100 on; late: from 10,000 on\n")


def _regrets(curve: Curve) -> list[str]:
    """The mean regret at each of the horizons shown."""
    import numpy as np

    return [f"{value:,.1f}" for value in np.interp(DECADES, curve.rounds, curve.regret)]


def _slopes(curve: Curve) -> list[str]:
    """The slope from the first of the horizons shown on, and over the last decade."""
    return [hundredths(curve.slope(start)) for start in (DECADES[0], DECADES[-2])]


def hundredths(value: float) -> str:
    """A number with two digits behind the point, and no minus before a nil.

    >>> hundredths(-0.004), hundredths(-0.126), hundredths(0.994)
    ('0.00', '-0.13', '0.99')
    """
    return f"{round(value, 2) + 0.0:.2f}"


def _draw(by_name: dict[str, Curve], gap: float, out: Path) -> Path:
    from infex.lab.reports.figures import Line, curves, write_figure

    rounds = next(iter(by_name.values())).rounds
    drawn = curves(
        [Line(name, curve.rounds, curve.regret) for name, curve in by_name.items()],
        title=f"Two arms, theta = {gap:.3f}: regret by how often one explores up to t",
        ylabel="expected regret",
        limit=Line("the worse arm always", rounds, gap * rounds),
    )
    return write_figure(drawn, out)
