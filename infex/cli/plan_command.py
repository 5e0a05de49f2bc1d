"""`infex plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from infex.arrays import as_json
from infex.cli.options import FILE, FOLDER, RoundsOption, context_option, features_option, folder_for
from infex.errors import InvalidSetting
from infex.files import replace


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
@click.option(
    "--problem",
    metavar="EXPRESSION",
    help='A problem in place of arms: "sphere(dim=5, arms=50, gap=0.1)", or package.module:object.',
)
@click.option(
    "--base",
    "bases",
    multiple=True,
    metavar="POLICY",
    help="A base to try in place of LinUCB and LinTS: an expression, or package.module:object; may be given "
    "again. The word default stands for infex's own.",
)
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    metavar="SCHEDULE",
    help="A schedule to try in place of infex's own, in the same way.",
)
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
    bases: tuple[str, ...],
    schedules: tuple[str, ...],
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
    infex plan --problem "near_ties(dim=5, arms=50)" --base FixedBonusUCB --base default --horizon 2e4
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from infex.cli.inputs import read_inputs
    from infex.lab.planner import plan as find

    if logged is None and (features is not None or context or (arm, reward) != ("arm", "reward")):
        raise InvalidSetting("--features, --context, --arm and --reward are of a log: --logged")
    _one_source(
        {"--arms": arms, "--logged": logged},
        {f"--{name.replace('_', '-')}": question[name] for name in ("dim", "arms_count")},
        {"--problem": question["problem"]},
    )
    given, words = read_inputs(arms, logged, features, context, arm=arm, reward=reward)
    folder_for(out)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        line = bar.add_task("starting", total=1.0)
        answer = find(
            **given,
            bases=bases or None,
            schedules=schedules or None,
            progress=lambda words, share: bar.update(line, description=words, completed=share),
            **question,
        )
    data = as_json(answer.as_data())
    replace(out / "plan.json", data.encode())
    written = [*answer.write(out), out / "plan.json"]
    click.echo(data if wants_json else "\n".join([*words, str(answer)]))
    click.echo(f"\nwritten: {', '.join(str(path) for path in written)}", err=True)


def _one_source(*sources: dict[str, object]) -> None:
    """Refuses a question that has no problem to simulate, or more than one."""
    given = [[option for option, value in each.items() if value is not None] for each in sources]
    some = [options for options in given if options]
    if len(some) > 1:
        raise InvalidSetting(
            f"{some[0][0]} and {some[1][0]} each say what is simulated: give --arms or --logged, or --dim "
            "with --arms-count, or --problem"
        )
    if not some or len(given[1]) == 1:
        got = f"got {given[1][0]} alone" if some else "got none of these"
        raise InvalidSetting(
            "say what is simulated: --arms or --logged, or both of --dim and --arms-count, or --problem; "
            + got
        )
