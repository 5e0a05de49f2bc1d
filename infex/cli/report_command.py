"""`infex report`."""

from __future__ import annotations

from pathlib import Path

import click

from infex.cli.options import FOLDER
from infex.cli.output import say_json
from infex.lab.reports.series import LOOKS, Look


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and draw nothing.")
@click.option("--latex", is_flag=True, help="Print final regret as a LaTeX table and draw nothing.")
@click.option(
    "--show",
    type=click.Choice(list(LOOKS)),
    default="std",
    show_default=True,
    help="In figures and --latex: means with one std or their 95 % interval, or medians with quartiles.",
)
@click.option("--log", is_flag=True, help="Logarithmic axes in figures.")
def report(folder: Path, as_json: bool, latex: bool, show: Look, log: bool) -> None:
    """Figures and page anew from a folder's table.

    With --json the summary goes to stdout, and runs that failed are told on stderr.

    \b
    infex report reproduction
    infex report reproduction --json
    infex report reproduction --show median --log
    infex report reproduction --latex > regret.tex
    """
    from infex.cli.sweeping import tell_failures
    from infex.lab.report import write_report
    from infex.lab.store import read

    results = read(folder)
    if as_json:
        say_json(results.summary().to_pylist())
        tell_failures(results, folder)
        return
    if latex:
        click.echo(results.latex(show), nl=False)
        return
    for path in write_report(results, folder, show, log):
        click.echo(path)
