"""`infex diff`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from infex.cli.options import FOLDER
from infex.cli.output import as_json as written
from infex.lab.comparison import Parted

RUNS_SHOWN = 10  # of each kind; --json has all
DIFFERENT_CODE = 1  # what the program exits with where runs differ or are missing


@click.command()
@click.argument("one", type=FOLDER)
@click.argument("other", type=FOLDER)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all runs.")
def diff(one: Path, other: Path, as_json: bool) -> None:
    """Which runs of two folders agree bit for bit.

    Runs are matched by problem, policy, seed and horizon. All that a run gave is compared to the last bit,
    but for its computation time. The exit code is 0 if both folders have the same runs and all agree, else 1.

    \b
    infex diff reproduction reproduction-on-another-machine
    """
    from infex.lab.store import read

    found = read(one).diff(read(other))
    if as_json:
        click.echo(written(found._asdict() | {"agrees": found.agrees}))
    else:
        click.echo(str(found))
        _tell("differ", [_parting(each) for each in found.different])
        _tell(f"only in {one}", list(found.only_one))
        _tell(f"only in {other}", list(found.only_other))
    if not found.agrees:
        sys.exit(DIFFERENT_CODE)


def _parting(each: Parted) -> str:
    where = "not in their curves" if each.round is None else f"from round {each.round:,} on"
    code = "" if each.same_content else "; another problem, policy or code was played"
    return f"{each.run}: {where}, {each.one:.17g} and {each.other:.17g} at the end{code}"


def _tell(what: str, runs: list[str]) -> None:
    """Names runs, the first of them if they are many."""
    if not runs:
        return
    click.echo(f"\n{what}:")
    for run in runs[:RUNS_SHOWN]:
        click.echo(f"  {run}")
    if len(runs) > RUNS_SHOWN:
        click.echo(f"  and {len(runs) - RUNS_SHOWN:,} more")
