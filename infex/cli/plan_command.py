"""`infex plan`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from infex.cli.options import FILE, FOLDER, RoundsOption, context_option, features_option, folder_for
from infex.cli.output import as_json
from infex.errors import InvalidSetting
from infex.files import replace

if TYPE_CHECKING:
    from rich.console import Console

    from infex.lab.planner import Plan
    from infex.lab.planner.judging import Cost, Judged
    from infex.lab.planner.planner import Progress
    from infex.lab.planner.report import MenuRow

BEST_ARMS_SHOWN = 3


@click.command()
@click.option(
    "--arms",
    type=FILE,
    help="Your arms, a row each: CSV, Parquet or .npy. Labels: a column of text, or called arm or id.",
)
@click.option("--dim", type=click.IntRange(min=1), help="Dimension, to draw arms as in the paper.")
@click.option("--arms-count", type=click.IntRange(min=2), help="Number of arms to draw.")
@click.option(
    "--horizon", type=RoundsOption(), required=True, help="Rounds to plan for, such as 50000 or 1e6."
)
@click.option(
    "--noise",
    type=float,
    help="How far rewards scatter [default: by what the linear model leaves of logged rewards, else 1].",
)
@click.option(
    "--bound",
    type=float,
    default=1.0,
    show_default=True,
    help="Greatest length of the parameter: mean rewards reach it times the length of an arm.",
)
@click.option(
    "--logged",
    type=FILE,
    help="Rewards seen before, with which every run begins: CSV or Parquet, columns arm (label, or else row "
    "from 0), reward; or a log of infex, with its arms or contexts.",
)
@click.option("--arm", default="arm", show_default=True, help="Column of arms in --logged.")
@click.option("--reward", default="reward", show_default=True, help="Column of rewards in --logged.")
@context_option
@features_option
@click.option("--max-share", type=float, help="Greatest share of exploring rounds.")
@click.option("--max-count", type=int, help="Greatest number of exploring rounds.")
@click.option("--max-cost", type=float, help="Greatest mean loss of all exploring rounds together.")
@click.option(
    "--keep-within", type=float, default=1.1, show_default=True, help="How near the best regret it must be."
)
@click.option("--seconds", type=float, default=30.0, show_default=True, help="Time limit.")
@click.option("--workers", type=click.IntRange(min=1), help="Threads [default: all cores].")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the problems.")
@click.option(
    "--out", type=FOLDER, default="planned", show_default=True, help="Folder for the picture and the page."
)
@click.option("--json", "wants_json", is_flag=True, help="Print JSON.")
def plan(
    arms: Path | None,
    logged: Path | None,
    features: str | None,
    context: tuple[str, ...],
    arm: str,
    reward: str,
    out: Path,
    wants_json: bool,
    **question: Any,
) -> None:
    """How rarely may I explore?

    Tries schedules on simulated problems like yours, and names the one that explores least while its
    regret stays near the best; beside it a short menu: the least regret, the least exploration within 10 %,
    25 % and 50 % of it, and the knee. All figures are of fresh problems, and those of the menu of the same
    ones. The folder gets plan.html, plan.png, plan.svg and plan.json.

    \b
    infex plan --arms arms.csv --horizon 50000 --noise 1.0 --max-share 0.02
    infex plan --dim 20 --arms-count 500 --horizon 1e6 --keep-within 1.05
    infex plan --dim 10 --arms-count 100 --horizon 10000 --out plans/small --json
    infex plan --logged shop.log --horizon 50000 --noise 0.5
    infex plan --logged year.csv --context age --context country --features "table disjoint" --horizon 1e5
    infex plan --logged year.csv --arm shown --reward euros --arms arms.csv --horizon 1e5
    """
    from infex.lab.planner import plan as find
    from infex.lab.planner.inputs import read_arms, read_logged

    rows, labels, words = (None, None, "") if arms is None else read_arms(arms)
    if logged is None:
        _refuse_map(features, context, (arm, reward))
    columns = {"arm": arm, "reward": reward}
    seen = None if logged is None else read_logged(logged, features, context, rows, labels, **columns)
    if seen is not None and seen.log is not None:
        rows, labels, words = None, None, seen.words
    elif seen is not None and rows is None:
        rows, labels, words = seen.rows, seen.labels, seen.words
        if rows is None:
            raise InvalidSetting("--logged needs the arms that its rewards are of: --arms")
    elif seen is not None:
        words = f"{words}\n{seen.words}"
    rewards = None if seen is None else seen.log or (seen.arms, seen.rewards)
    folder_for(out)
    answer = _with_progress(
        lambda progress: find(rows, labels=labels, logged=rewards, progress=progress, **question)
    )
    data = as_json(answer.as_data())
    written = _written(answer, data, out)
    if wants_json:
        click.echo(data)
    else:
        _show(answer, words)
    click.echo(f"\nwritten: {', '.join(str(path) for path in written)}", err=True)


def _refuse_map(features: str | None, context: tuple[str, ...], columns: tuple[str, str]) -> None:
    if features is not None or context or columns != ("arm", "reward"):
        raise InvalidSetting("--features, --context, --arm and --reward are of a log: --logged")


def _written(answer: Plan, data: str, out: Path) -> list[Path]:
    """The files of a plan, written into a folder."""
    from infex.lab.planner.report import write_plan

    replace(out / "plan.json", data.encode())
    return [*write_plan(answer, out), out / "plan.json"]


def _with_progress(run: Callable[[Progress], Plan]) -> Plan:
    from rich import progress as rich_progress
    from rich.console import Console

    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    is_hidden = not console.is_terminal
    with rich_progress.Progress(*columns, console=console, transient=True, disable=is_hidden) as bar:
        line = bar.add_task("compiling", total=1.0)
        return run(lambda words, share: bar.update(line, description=words, completed=share))


def _show(answer: Plan, words: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    from infex.cli.output import show_table

    console = Console(highlight=False)
    if words:
        console.print(escape(words))
    console.print(f"{answer.assumed}\n", markup=False)
    console.print(f"[bold]{escape(answer.code)}[/bold]", soft_wrap=True)
    console.print(escape(answer.why))
    console.print(_explorations(answer))
    if answer.divided:
        console.print(f"[bold]{answer.divided}[/bold]")
    if answer.arms:
        console.print(escape(_best_arms(answer)))
    console.print()
    _menu(console, answer)
    title = f"regret of {answer.rounds:,} rounds, with intervals of 95 %"
    head = ["", "problems", "mean", "median", "worst decile"]
    rows = [*_cost_rows("", answer.regret, ""), *_cost_rows("it less ", answer.against, "+")]
    show_table(console, title, head, rows)
    console.print("all figures are of fresh problems; differences are on those that both met\n")


def _explorations(answer: Plan) -> str:
    """How many rounds explore, when, and at what cost, in words."""
    from infex.lab.planner.planner import said

    counts, share = f"{answer.explorations:,} of {answer.horizon:,}", answer.explorations / answer.horizon
    return f"{counts} rounds explore ({share:.2%}), {answer.when}; they cost {said(answer.chosen().cost)}"


def _best_arms(answer: Plan) -> str:
    often = ", ".join(f"{arm.label} {arm.best:.0%}" for arm in answer.arms[:BEST_ARMS_SHOWN])
    return f"most often the best arm: {often}"


def _cost_rows(before: str, costs: dict[str, Cost], sign: str) -> list[list[str]]:
    """A row of figures for each of the costs, with words before the name of each."""
    from infex.lab.planner.planner import REFERENCE_NAMES

    return [[f"{before}{REFERENCE_NAMES[name]}", *_cells(cost, sign)] for name, cost in costs.items()]


def _menu(console: Console, answer: Plan) -> None:
    """The menu as a table, and the policies on it as lines."""
    from infex.cli.output import show_table
    from infex.lab.planner.report import MENU_NOTE, menu_rows

    rows = menu_rows(answer)
    head = ["", "explores", "regret", "times the best", "within?"]
    show_table(console, "the menu", head, [_menu_cells(row) for row in rows])
    for row in rows:
        console.print(_policy_line(row.judged), markup=False, soft_wrap=True)
    console.print(f"{MENU_NOTE}\n", markup=False)


def _menu_cells(row: MenuRow) -> list[str]:
    from infex.lab.planner.planner import said, times

    figures = said(row.judged.regret.value), times(row.judged.ratio)
    return [row.names, f"{row.judged.explorations:,}", *figures, row.holds]


def _policy_line(judged: Judged) -> str:
    counts = f"{judged.explorations:,} explorations, {judged.problems:,} problems"
    return f"{counts}: {judged.expression}"


def _cells(cost: Cost, sign: str) -> list[str]:
    """Problems, and figures with their intervals where there is one."""
    from math import isfinite

    from infex.lab.planner.planner import said

    return [f"{cost.problems:,}"] + [
        said(figure.value, sign)
        + (f" [{said(figure.low, sign)}, {said(figure.high, sign)}]" if isfinite(figure.low) else "")
        for figure in (cost.mean, cost.median, cost.worst_decile)
    ]
