"""`infex lab bound`."""

from __future__ import annotations

from pathlib import Path

import click

from infex.cli.options import FILE, RoundsOption, ready_for_figure
from infex.cli.output import say_json

COMPARED_SCHEDULES = ("every(5)", "every(100)", "power(0.75)")  # drawn beside those asked for


@click.command()
@click.option("--dim", type=click.IntRange(min=1), required=True, help="Dimension d.")
@click.option("--gap", type=float, required=True, help="What the second best arm falls short of the best.")
@click.option("--horizon", type=RoundsOption(), required=True, help="Rounds, such as 50000 or 1e6.")
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    metavar="SCHEDULE",
    default=("every(5)", "every(20)", "every(100)"),
    show_default=True,
    help="A schedule of the catalogue; may be given again.",
)
@click.option(
    "--base",
    type=click.Choice(["LinUCB", "LinTS"]),
    default="LinUCB",
    show_default=True,
    help="Who explores.",
)
@click.option(
    "--arms", type=click.IntRange(min=1), help="Number of arms; LinTS has a smaller bound with few."
)
@click.option("--noise", type=float, default=1.0, show_default=True, help="How far rewards scatter.")
@click.option(
    "--bound", type=float, default=1.0, show_default=True, help="Greatest length S of the parameter."
)
@click.option("--penalty", type=float, default=1.0, show_default=True, help="The ridge penalty.")
@click.option("--delta", type=float, help="The chance of failure [default: 1/T].")
@click.option("--out", type=FILE, help="Draw bounds against the horizon into a file .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bound(
    dim: int,
    gap: float,
    horizon: int,
    schedules: tuple[str, ...],
    base: str,
    arms: int | None,
    noise: float,
    bound: float,
    penalty: float,
    delta: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """What the regret bound promises, if anything.

    The three terms of the paper's Theorem 1 with explicit constants; a bound above 2 S T is vacuous.
    The figure of bound against horizon has three more schedules to compare with.

    \b
    infex lab bound --dim 10 --gap 0.1 --horizon 1e6 --schedule "every(20)"
    infex lab bound --dim 10 --gap 0.1 --horizon 1e12 --base LinTS --arms 100 --out bound.png
    infex lab bound --dim 2 --gap 1 --noise 0.1 --horizon 1e6 --schedule "power(0.5)" --json
    """
    from infex.lab.reports.figures import write_figure
    from infex.lab.specs import named
    from infex.lab.theory import Setting
    from infex.lab.theory.report import BoundReport

    if out is not None:
        ready_for_figure(out)
    setting = Setting(dim=dim, gap=gap, noise=noise, bound=bound, penalty=penalty, delta=delta, arms=arms)
    asked, compared = (
        [each.thing for text in dict.fromkeys(texts) for each in named(text, "schedule")]
        for texts in (schedules, COMPARED_SCHEDULES)
    )
    report = BoundReport.of(setting, asked, horizon, base)
    if as_json:
        say_json(report.as_data())
    else:
        click.echo(str(report))
    if out is not None:
        click.echo(write_figure(report.figure(compared), out), err=True)
