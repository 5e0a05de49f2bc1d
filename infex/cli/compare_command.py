"""`infex compare`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from infex.cli.options import FOLDER
from infex.cli.output import number, say_json


@click.command()
@click.argument("one")
@click.argument("other")
@click.option("--in", "folder", type=FOLDER, required=True, help="A folder that a sweep has written.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(one: str, other: str, folder: Path, as_json: bool) -> None:
    """Two policies, pair by pair.

    Final regret of ONE minus that of OTHER, paired by instance and noise, with a 95 % interval.

    \b
    infex compare "Infex(LinUCB, every(5))" LinUCB --in reproduction
    """
    from rich.console import Console

    from infex.cli.tables import show_table
    from infex.experiments.folder import read

    results = read(folder)
    one, other = results.known(one), results.known(other)
    compared = results.compare(one, other)
    if as_json:
        say_json([asdict(cell) | found._asdict() for cell, found in compared.items()])
        return
    rows = []
    for cell, found in compared.items():
        mean, low, high = (number(value, "+,.1f") for value in (found.mean, found.low, found.high))
        rows.append([results.title(cell), mean, f"{low} to {high}", f"{found.below} of {found.pairs}"])
    title = f"final regret of {one} minus that of {other}"
    show_table(Console(), title, ["problem", "mean", "95 % interval", "lower in"], rows)
