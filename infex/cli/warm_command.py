"""`infex warm`."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print what was compiled as JSON in place of lines.")
def warm(as_json: bool) -> None:
    """Compiles all that is needed, ahead of its first use.

    Numba compiles a loop when it is first called, and keeps it on the disk for later. This does it for all of
    them at once, with a line for each; a second time it takes a few seconds.
    """
    from infex.cli.output import say_json
    from infex.experiments.compiling_ahead import COMPILED_AHEAD, compile_all

    done = []
    for step in compile_all():
        done.append(step)
        if not as_json:
            click.echo(f"{len(done)} of {len(COMPILED_AHEAD)}: {step.name}, {step.seconds:.1f} s")
    if as_json:
        say_json([step._asdict() for step in done])
    else:
        click.echo(f"all is compiled: {sum(step.seconds for step in done):.1f} s of processor time")
