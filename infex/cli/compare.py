"""`infex compare`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from infex.cli.options import FOLDER
from infex.errors import InvalidSetting


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
    from rich.console import Console
    from rich.table import Table

    from infex.experiments.folder import read

    results = read(folder)
    for name in (one, other):
        if name not in results.policies:
            raise InvalidSetting(f"{folder} has no runs of {name!r}; it has {', '.join(results.policies)}")
    rows = []
    for cell in results.cells:
        if results.has(cell, one) and results.has(cell, other):
            found = results.compare(cell, one, other)
            rows.append(
                {"environment": cell.environment, "dim": cell.dim, "arms": cell.arms} | found._asdict()
            )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table(title=f"regret of {one} minus {other}", title_justify="left")
    for name in ("d", "K", "pairs", "mean difference", "95 % interval", f"pairs in which {one} is lower"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            str(row["dim"]), str(row["arms"]), str(row["pairs"]), f"{row['mean']:+,.1f}",
            f"{row['low']:+,.1f} to {row['high']:+,.1f}", f"{row['below']} of {row['pairs']}",
        )  # fmt: skip
    Console().print(table)
