"""`infex reproduce`."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from infex.cli.options import playing
from infex.lab import paper


@click.command()
@click.option(
    "--dim",
    "dims",
    type=click.IntRange(min=1),
    multiple=True,
    help="Dimension; may be given again [default: 10, 20 and 40; 10 with --contexts].",
)
@click.option(
    "--arms",
    type=click.IntRange(min=1),
    multiple=True,
    help="Number of arms; may be given again [default: 10, 100 and 1000; 20 with --contexts].",
)
@click.option(
    "--instances",
    type=click.IntRange(min=1),
    default=paper.PAPER_INSTANCES,
    show_default=True,
    help="Random instances of each cell.",
)
@click.option(
    "--horizon",
    type=click.IntRange(min=1),
    default=paper.PAPER_HORIZON,
    show_default=True,
    help="Rounds of a run.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="A catalogue expression or package.module:object; may be given again [default: those of the paper].",
)
@click.option(
    "--contexts",
    "changing",
    is_flag=True,
    help="Arms that change every round, as the paper's appendix discusses [--out: reproduction-contexts].",
)
@playing("reproduction")
def reproduce(
    dims: tuple[int, ...],
    arms: tuple[int, ...],
    instances: int,
    horizon: int,
    policies: tuple[str, ...],
    changing: bool,
    workers: int | None,
    out: Path,
    force: bool,
    engine: str,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """The paper's experiment, in a folder with a report.

    The folder gets the table (results.parquet, summary.csv), Figures 1, 2 and 3 (d = 10, 20 and 40) and
    report.html.

    \b
    infex reproduce
    infex reproduce --dim 10 --arms 100 --instances 200 --out d10
    infex reproduce --dim 10 --policy "Infex(LinUCB, every(5))" --policy LinUCB --policy Greedy
    infex reproduce --contexts

    With --contexts, three problems in which the arms change every round: diverse arms, drawn anew; a
    fixed best arm among such; and sets of arms that come again and again, so that the best arm moves
    but nothing is learnt of the others by chance.
    """
    from infex.cli.sweeping import play

    source = click.get_current_context().get_parameter_source("out")
    if changing and source is ParameterSource.DEFAULT:
        out = Path(f"{out}-contexts")
    if changing:
        default_dims, default_arms = paper.CHANGING_DIMS, paper.CHANGING_ARMS
        make = paper.changing_arms
    else:
        default_dims, default_arms, make = paper.PAPER_DIMS, paper.PAPER_ARMS, paper.paper
    shapes = dict.fromkeys(dims or default_dims), dict.fromkeys(arms or default_arms)
    sweep = make(*shapes, instances, horizon, policies or None)
    play(sweep, out, workers=workers, engine=engine, scheduler=scheduler, force=force, as_json=as_json)
