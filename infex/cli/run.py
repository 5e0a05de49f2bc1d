"""`infex run`."""

from __future__ import annotations

from pathlib import Path

import click

from infex.cli.options import playing


@click.command()
@click.argument("sweep", type=click.Path(path_type=Path, dir_okay=False))
@playing("results")
def run(sweep: Path, workers: int | None, out: Path, force: bool, engine: str, scheduler: str | None) -> None:
    """A sweep of your own from a TOML file: infex run sweep.toml --out results

    \b
    horizon = 10000
    seeds = 20
    policies = ["LinUCB", "Greedy", "my.module:policy"]
    bases = ["LinUCB(scale=0.2)"]
    schedules = ["every(20)", "stretched(1)"]
    [[environments]]
    kind = "gaussian"
    dim = [10, 20]
    arms = 100
    """
    from infex.cli.playing import play
    from infex.experiments.files import read_sweep

    play(read_sweep(sweep), out, workers=workers, engine=engine, scheduler=scheduler, force=force)
