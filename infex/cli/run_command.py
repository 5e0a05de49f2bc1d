"""`infex run`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click
from click.core import ParameterSource

from infex.cli.options import playing


def _example(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(files("infex.cli").joinpath("example.toml").read_text(encoding="utf-8"), nl=False)
        context.exit()


def _kinds(context: click.Context, option: click.Parameter, asked: bool) -> None:
    if asked:
        from infex.lab.specs import kinds

        click.echo("\n".join(kinds()))
        context.exit()


@click.command()
@click.argument("sweep", type=click.Path(path_type=Path))
@playing("results")
@click.option(
    "--example",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_example,
    help="Print a sweep file to start from, and play nothing.",
)
@click.option(
    "--kinds",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_kinds,
    help="Print the kinds of environments with their settings, and play nothing.",
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
    """A sweep of your own, from a TOML file or a folder.

    \b
    infex run --example > sweep.toml
    infex run sweep.toml --out results
    infex run results                 what the folder's sweep.json says and the folder lacks
    infex run results --out again     the same sweep in another folder; infex diff compares them

    Every environment is played with every policy and every seed. Keys of the file:

    \b
    environments  tables as below, or text: "gaussian(dim=5, arms=20)", "package.module:object"
    policies      expressions: "LinUCB", "Infex(LinUCB, every(5))", "package.module:Policy(a=1)"
    bases         policies that are played as Infex with every one of the ...
    schedules     ... schedules: "every(20)", "stretched(1)", "package.module:Schedule(c=3)"
    data          what a base learns from: "shared", "own" or both [default: ["shared"]]
    horizon       rounds of a run, or a list [default: 10000]
    seeds         how many, or a list of them [default: 20]
    penalty       of the ridge, or a list [default: 1.0]
    delta         of policies that say none, or a list [default: "1/T", one over the horizon]
    estimator     text such as "Discounted(rate=0.99)", or a list [default: ridge regression]
    title         of the report

    \b
    A list in an expression stands for its values: "LinUCB(scale=[0.1, 0.5])" is two policies.
    Policies, bases, schedules and environments may be tables, whose keys are names:
    [policies]
    ours = "Infex(LinUCB(scale=0.2), every(20))"

    \b
    [[environments]]      a problem of infex.lab.environments by its name, such as the paper's generator
    kind = "gaussian"
    dim = [10, 20]        each setting is a value or a list; every one is played with every other
    arms = 100
    label = "mine"        its name in tables [default: the kind with its settings]

    \b
    [[environments]]      an instance of your own, or a function that makes one from a seed
    kind = "object"
    object = "package.module:object"
    gap = [0.1, 0.2]      any settings that the function takes

    infex run --kinds prints all kinds with their settings.
    """
    from infex.cli.sweeping import play
    from infex.lab.sweep import read_sweep, sweep_in

    kept = sweep.is_dir()
    source = click.get_current_context().get_parameter_source("out")
    if kept and source is ParameterSource.DEFAULT:
        out = sweep
    play(
        sweep_in(sweep) if kept else read_sweep(sweep),
        out,
        workers=workers,
        engine=engine,
        scheduler=scheduler,
        force=force,
        as_json=as_json,
    )
