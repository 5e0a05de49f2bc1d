"""`infex warm`."""

from __future__ import annotations

import click

KINDS = ("simulations", "decisions")


@click.command()
@click.argument("what", nargs=-1, type=click.Choice(KINDS))
@click.option("--json", "as_json", is_flag=True, help="Print what was compiled as JSON in place of lines.")
def warm(what: tuple[str, ...], as_json: bool) -> None:
    """Compiles all that is needed, ahead of its first use.

    Numba compiles a loop when it is first called, and keeps it on the disk for later. This does it for all of
    them at once, with a line for each; a second time it takes a few seconds. `infex warm simulations`
    compiles what play, sweeps and the planner need, `infex warm decisions` what bandits, studies and the
    service do.
    """
    from infex.cli.output import say_json
    from infex.experiments.compiling_ahead import COMPILED_AHEAD, compiled_ahead

    wanted = [kind for kind in KINDS if kind in what or not what]
    count, done = sum(len(COMPILED_AHEAD[kind]) for kind in wanted), []
    for step in compiled_ahead(wanted):
        done.append(step)
        if not as_json:
            click.echo(f"{len(done)} of {count}: {step.name}, {step.seconds:.1f} s")
    if as_json:
        say_json([step._asdict() for step in done])
    else:
        took = {kind: sum(step.seconds for step in done if step.kind == kind) for kind in wanted}
        parts = " and ".join(f"{seconds:.1f} s for {kind}" for kind, seconds in took.items())
        click.echo(f"all is compiled, in processor time: {parts}")
