"""`infex reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from infex.cli.options import playing
from infex.experiments import paper


@click.command()
@click.option(
    "--dim",
    "dims",
    type=click.IntRange(min=1),
    multiple=True,
    default=paper.DIMS,
    show_default=True,
    help="Dimension; may be given again.",
)
@click.option(
    "--arms",
    type=click.IntRange(min=1),
    multiple=True,
    default=paper.ARMS,
    show_default=True,
    help="Number of arms; may be given again.",
)
@click.option(
    "--instances",
    type=click.IntRange(min=1),
    default=paper.INSTANCES,
    show_default=True,
    help="Random instances of each cell.",
)
@click.option(
    "--horizon", type=click.IntRange(min=1), default=paper.HORIZON, show_default=True, help="Rounds of a run."
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="A catalogue expression or package.module:object; may be given again [default: those of the paper].",
)
@playing("reproduction")
def reproduce(
    dims: tuple[int, ...],
    arms: tuple[int, ...],
    instances: int,
    horizon: int,
    policies: tuple[str, ...],
    workers: int | None,
    out: Path,
    force: bool,
    engine: str,
    scheduler: str | None,
) -> None:
    """The paper's experiment: table, Figures 1 to 3 and a page, in a folder.

    \b
    infex reproduce
    infex reproduce --dim 10 --arms 100 --instances 200 --out d10
    infex reproduce --dim 10 --policy "Infex(LinUCB, every(5))" --policy LinUCB --policy Greedy
    """
    from infex.cli.playing import play

    sweep = paper.paper(dict.fromkeys(dims), dict.fromkeys(arms), instances, horizon, policies or None)
    play(sweep, out, workers=workers, engine=engine, scheduler=scheduler, force=force)
