"""`infex run`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from infex.cli.options import playing


def _example(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(files("infex.cli").joinpath("example.toml").read_text(encoding="utf-8"), nl=False)
        context.exit()


@click.command()
@click.argument("sweep", type=click.Path(path_type=Path, dir_okay=False))
@playing("results")
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_example,
    help="Print a sweep file to start from, and play nothing.",
)
def run(
    sweep: Path,
    workers: int | None,
    out: Path,
    force: bool,
    engine: str,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """A sweep of your own, from a TOML file.

    \b
    infex run --example > sweep.toml
    infex run sweep.toml --out results

    Every environment is played with every policy and every seed. Keys of the file:

    \b
    environments  tables as below, or text: "gaussian(dim=5, arms=20)", "package.module:object"
    policies      expressions: "LinUCB", "Infex(LinUCB, every(5))", "package.module:object"
    bases         policies that are played as Infex with every one of the ...
    schedules     ... schedules: "every(20)", "stretched(1)"
    data          what a base learns from: "shared", "own" or both [default: ["shared"]]
    horizon       rounds of a run [default: 10000]
    seeds         how many, or a list of them [default: 20]
    penalty       of the ridge [default: 1.0]
    delta         of policies that have one and name none [default: "1/T", one over the horizon]
    title         of the report

    \b
    [[environments]]      the paper's generator
    kind = "gaussian"
    dim = [10, 20]        a number or a list; every dim is played with every number of arms
    arms = 100
    rewards = "sign"      or "gaussian" [default: "sign"]

    \b
    [[environments]]      arms that are drawn anew in every round
    kind = "changing"
    dim = 10
    arms = 100
    best = "moving"       or "fixed", "recurring" [default: "moving"]
    gap = 0.1             of the best arm where it is fixed [default: 0.1]
    rewards = "sign"      or "gaussian" [default: "sign"]

    \b
    [[environments]]      an instance of your own, or a function that makes one from a seed
    kind = "object"
    object = "package.module:object"
    label = "mine"        its name in tables [default: the object's]
    """
    from infex.cli.sweeping import play
    from infex.experiments.sweep_files import read_sweep

    play(
        read_sweep(sweep),
        out,
        workers=workers,
        engine=engine,
        scheduler=scheduler,
        force=force,
        as_json=as_json,
    )
