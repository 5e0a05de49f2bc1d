"""`infex report`."""

from __future__ import annotations

from pathlib import Path

import click

from infex.cli.options import FOLDER
from infex.cli.output import say_json


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and draw nothing.")
def report(folder: Path, as_json: bool) -> None:
    """Figures and page anew from a folder's table.

    With --json the summary goes to stdout, and runs that failed are told on stderr.

    \b
    infex report reproduction
    infex report reproduction --json
    """
    from infex.cli.sweeping import tell_failures
    from infex.experiments.folder import read
    from infex.experiments.sweep_report import write_report

    results = read(folder)
    if as_json:
        say_json(results.summary().to_pylist())
        tell_failures(results, folder)
        return
    for path in write_report(results, folder):
        click.echo(path)
