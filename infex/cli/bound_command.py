"""`infex bound`."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from infex.cli.options import FILE, RoundsOption, folder_for
from infex.cli.output import say_json

HORIZONS_DRAWN = 25
LATEST_DRAWN = 1e30  # the picture goes no farther to show where a bound becomes useful
TERMS_EXPLAINED = (
    "f(T): explorations. base: what they may cost. constant: what greedy rounds may cost until round tau_0 + "
    "tau_1, growing: after it. tau_Alg: explorations until a quarter are sure to play the best arm, in round "
    "tau_0. tau_1, tau_12: rounds after that until greedy loses less than (7/16) and (1/4) Delta a round."
)
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
@click.option("--out", type=FILE, help="Draw the picture into a file .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def bound(
    horizon: int, schedules: tuple[str, ...], base: str, out: Path | None, as_json: bool, **given: Any
) -> None:
    """What the regret bound promises, if anything.

    The three terms of the paper's Theorem 1 with explicit constants; a bound above 2 S T is vacuous.
    The picture of bound against horizon has three more schedules to compare with.

    \b
    infex bound --dim 10 --gap 0.1 --horizon 1e6 --schedule "every(20)"
    infex bound --dim 10 --gap 0.1 --horizon 1e12 --base LinTS --arms 100 --out bound.png
    infex bound --dim 2 --gap 1 --noise 0.1 --horizon 1e6 --schedule "power(0.5)" --json
    """
    from infex.experiments.recipes import schedule_of
    from infex.reports.figure_files import format_of
    from infex.theory import Setting, infex
    from infex.theory.scheduled import useful_from

    if out is not None:
        format_of(out)
        folder_for(out.parent)
    setting = Setting(**given)
    rules = [schedule_of(text) for text in dict.fromkeys(schedules)]
    found = [(infex(setting, each, horizon, base), useful_from(setting, each, base)) for each in rules]
    if as_json:
        problem = asdict(setting) | {"delta": setting.delta_at(horizon)}
        say_json(
            [_row(each, *result) | {"problem": problem} for each, result in zip(rules, found, strict=True)]
        )
        if out is None:
            return
    else:
        _show(setting, rules, found, base)
    drawn = [*rules, *(each for each in map(schedule_of, COMPARED_SCHEDULES) if each not in rules)]
    lines, limit = _lines(setting, drawn, found, base)
    if not as_json:
        _picture(lines, limit)
    if out is not None:
        click.echo(_draw(setting, lines, limit, horizon, base, out), err=True)


def _row(schedule: Any, found: Any, useful: Any) -> dict[str, Any]:
    """One schedule as plain values; rounds past 10^300 are null, and their log10 tells."""
    row: dict[str, Any] = {"schedule": repr(schedule), "bound": found.regret, "vacuous": found.vacuous}
    for name, value in (found._asdict() | {"useful_from": useful}).items():
        if hasattr(value, "log10"):
            row |= {name: value.rounds, f"{name}_log10": value.log10}
        else:
            row[name] = value
    return row


def _show(setting: Any, schedules: list[Any], found: list[Any], base: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    from infex.theory.turning import span

    first = found[0][0]
    console = Console(highlight=False)
    console.print(
        f"d = {setting.dim}, Delta = {setting.gap:g}, T = {first.horizon:,}, base {base}, "
        f"delta = {setting.delta_at(first.horizon):.3g}, "
        f"sigma = {setting.noise:g}, S = {setting.bound:g}, lambda = {setting.penalty:g}"
        + ("" if setting.arms is None else f", K = {setting.arms:,}")
    )
    terms = [
        (
            escape(repr(schedule)),
            str(span(result.explorations)),
            *(_short(each) for each in (result.base, result.constant, result.growing, result.regret)),
            "[bold red]vacuous[/]" if result.vacuous else "holds",
        )
        for schedule, (result, _) in zip(schedules, found, strict=True)
    ]
    _table("regret is at most", ("schedule", "f(T)", "base", "constant", "growing", "sum", ""), terms)
    taus = [
        (
            escape(repr(schedule)),
            *map(str, (result.tau_base, result.tau_0, result.tau_1, result.tau_12, useful)),
        )
        for schedule, (result, useful) in zip(schedules, found, strict=True)
    ]
    _table("rounds", ("schedule", "tau_Alg", "tau_0", "tau_1", "tau_12", "useful from"), taus)
    console.print(TERMS_EXPLAINED)
    _say_verdict(console, [result for result, _ in found])


def _say_verdict(console: Any, found: list[Any]) -> None:
    trivial = f"2 S T = {found[0].trivial:.4g}"
    if all(each.vacuous for each in found):
        console.print(
            f"Vacuous: no policy's regret exceeds {trivial}, so this promises nothing at this horizon."
        )
    elif any(each.vacuous for each in found):
        console.print(
            f"Where it says vacuous, the sum exceeds {trivial}, as no policy can: it promises nothing."
        )
    holding = [each for each in found if not each.vacuous]
    if holding:
        console.print(
            f"What holds, holds with probability 1 - {holding[0].failure:.3g} if the base keeps its own data "
            "(data=own)."
        )


def _table(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=place > 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table)


def _short(value: float) -> str:
    if value == math.inf:
        return "infinite"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.2e}"


def _lines(setting: Any, schedules: list[Any], found: list[Any], base: str) -> tuple[list[Any], Any]:
    """Bounds against the horizon, and the limit above which they are vacuous."""
    import numpy as np

    from infex.reports.curves import Line
    from infex.theory import infex

    useful = [float(each.rounds) for _, each in found if each.rounds <= LATEST_DRAWN]
    horizon = float(found[0][0].horizon)
    last = min(max([100.0 * horizon, *(1e3 * each for each in useful)]), 1e299)
    points = [int(t) for t in np.geomspace(max(horizon / 1e3, 10.0), last, HORIZONS_DRAWN)]
    times = np.array(points, float)
    lines = []
    for schedule in schedules:
        bounds = [infex(setting, schedule, t, base) for t in points]
        values, faint = (
            np.array([each.regret for each in bounds]),
            np.array([each.vacuous for each in bounds]),
        )
        label = repr(schedule) if values.min() < 1e3 * last else f"{schedule!r}, beyond this picture"
        lines.append(Line(label, times, values, faint))
    return lines, Line("2 S T: no policy exceeds it", times, 2.0 * setting.bound * times)


def _picture(lines: list[Any], limit: Any) -> None:
    """The picture in the terminal."""
    from infex.cli.charts import LIMIT_MARK, Series, show_chart

    highest = 1e3 * float(limit.y.max())
    series = [Series(each.label, each.x[each.y < highest], each.y[each.y < highest]) for each in lines]
    series.append(Series(limit.label, limit.x, limit.y, mark=LIMIT_MARK))
    show_chart(series, across="horizon T", upward="bound on regret")


def _draw(setting: Any, lines: list[Any], limit: Any, horizon: int, base: str, out: Path) -> Path:
    """The picture as a file, faint where bounds are vacuous."""
    from infex.reports.curves import curves
    from infex.reports.figure_files import write_figure

    return write_figure(
        curves(
            lines,
            title=f"Theorem 1 with base {base}, d = {setting.dim}, gap {setting.gap:g}; faint: vacuous",
            ylabel="bound on regret",
            limit=limit,
            mark=float(horizon),
        ),
        out,
    )
