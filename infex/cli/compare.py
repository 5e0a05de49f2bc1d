"""`infex compare`."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path

import click

from infex.cli.options import FOLDER
from infex.cli.output import number, say_json
from infex.errors import InfexError, InvalidSetting


@click.command()
@click.argument("one")
@click.argument("other")
@click.option("--in", "folder", type=FOLDER, required=True, help="A folder that a sweep has written.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(one: str, other: str, folder: Path, as_json: bool) -> None:
    """Final regret of ONE minus that of OTHER, paired by instance and noise, with a 95 % interval.

    \b
    infex compare "Infex(LinUCB, every(5))" LinUCB --in reproduction
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from infex.experiments.folder import read

    results = read(folder)
    one, other = (_named(name, results.policies, folder) for name in (one, other))
    compared = [
        (cell, results.compare(cell, one, other))
        for cell in results.cells
        if results.has(cell, one) and results.has(cell, other)
    ]
    if as_json:
        say_json([asdict(cell) | found._asdict() for cell, found in compared])
        return
    console = Console()
    console.print(f"final regret of {one} minus that of {other}", highlight=False, markup=False)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("problem")
    for name in ("mean", "95 % interval", "lower in"):
        table.add_column(name, justify="right", no_wrap=True)
    for cell, found in compared:
        mean, low, high = (number(value, "+,.1f") for value in (found.mean, found.low, found.high))
        table.add_row(
            escape(results.title(cell)), mean, f"{low} to {high}", f"{found.below} of {found.pairs}"
        )
    console.print(table)


def _named(name: str, policies: list[str], folder: Path) -> str:
    """The name that a policy has in the tables: as it is, or as the catalogue writes it."""
    from infex.experiments.recipes import player

    if name in policies:
        return name
    with contextlib.suppress(InfexError):
        if (label := player(name).label) in policies:
            return label
    raise InvalidSetting(f"{folder} has no runs of {name!r}; it has {', '.join(policies)}")
