"""`infex plan`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from infex.cli.options import FILE, FOLDER, Rounds
from infex.errors import InvalidSetting


@click.command()
@click.option("--arms", type=FILE, help="Your arms: a CSV, Parquet or .npy file.")
@click.option("--dim", type=click.IntRange(min=1), help="Dimension, to draw arms as in the paper.")
@click.option("--arms-count", type=click.IntRange(min=2), help="Number of arms to draw.")
@click.option("--horizon", type=Rounds(), required=True, help="Rounds to plan for, such as 50000 or 1e6.")
@click.option("--noise", type=float, default=1.0, show_default=True, help="How far rewards scatter.")
@click.option("--bound", type=float, default=1.0, show_default=True, help="Greatest length of the parameter.")
@click.option("--logged", type=FILE, help="Rewards seen before: CSV or Parquet with columns arm, reward.")
@click.option("--max-share", type=float, help="Greatest share of exploring rounds.")
@click.option("--max-count", type=int, help="Greatest number of exploring rounds.")
@click.option("--max-cost", type=float, help="Greatest mean loss of all exploring rounds together.")
@click.option(
    "--keep-within", type=float, default=1.1, show_default=True, help="How near the best regret it must be."
)
@click.option("--seconds", type=float, default=30.0, show_default=True, help="Time limit.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads [default: all cores].")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the problems.")
@click.option("--out", type=FOLDER, help="Folder for the picture and the page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(arms: Path | None, logged: Path | None, out: Path | None, as_json: bool, **given: Any) -> None:
    """How rarely may I explore?

    Tries schedules on simulated problems like yours.

    \b
    infex plan --arms arms.csv --horizon 50000 --noise 1.0 --max-share 0.02
    infex plan --dim 20 --arms-count 500 --horizon 1e6 --keep-within 1.05
    infex plan --dim 10 --arms-count 100 --horizon 10000 --out planned --json
    """
    from infex.planning import plan as find
    from infex.planning.planner import json_of
    from infex.planning.reading import read_arms, read_log

    rows, labels = (None, None) if arms is None else read_arms(arms)
    if logged is not None and rows is None:
        raise InvalidSetting("--logged needs the arms that its rewards are of: --arms")
    rewards = None if logged is None else read_log(logged, labels)
    found = _with_progress(lambda told: find(rows, logged=rewards, progress=told, **given))
    if out is not None:
        from infex.reports.front import write_plan

        out.mkdir(parents=True, exist_ok=True)
        for path in write_plan(found, out):
            click.echo(path, err=True)
    if as_json:
        click.echo(json.dumps(json_of(found), indent=2, allow_nan=False))
    else:
        _show(found)


def _with_progress(run: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        line = bar.add_task("compiling", total=1.0)
        found = run(lambda words, share: bar.update(line, description=words, completed=share))
        bar.update(line, description="done", completed=1.0)
    return found


def _show(found: Any) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    chosen = found.chosen()
    console.print(f"[bold]{escape(found.code)}[/bold]")
    console.print(escape(found.why))
    console.print(
        f"{found.explorations:,} of {found.horizon:,} rounds explore "
        f"({found.explorations / found.horizon:.2%}), {found.when}"
    )
    if found.longest != 1.0:
        console.print(f"arms were divided by {found.longest:.6g}, their greatest length; divide yours too")
    table = Table(box=SIMPLE_HEAD)
    for name in ("regret", "mean", "median", "worst decile"):
        table.add_column(name, justify="left" if name == "regret" else "right", no_wrap=True)
    names = ("recommended", "LinUCB in every round", "greedy")
    for name, each in zip(names, (chosen, *found.references), strict=True):
        table.add_row(name, f"{each.mean:,.0f}", f"{each.median:,.0f}", f"{each.worst_decile:,.0f}")
    Console().print(table)
    for name, gap in (("the best", found.against_best), ("plain LinUCB", found.against_linucb)):
        console.print(
            f"against {name}: {gap.mean:+,.1f} [{gap.low:+,.1f}, {gap.high:+,.1f}], "
            f"lower in {gap.below} of {gap.pairs}"
        )
    console.print("\nregret against exploration, none better in both:")
    for each in found.front:
        console.print(f"  {each.explorations:>9,}  {each.mean:>9,.0f}  {escape(each.expression)}")
