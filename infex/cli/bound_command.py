"""`infex lab bound`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from infex.cli.options import FILE, RoundsOption, ready_for_figure
from infex.cli.output import say_json

if TYPE_CHECKING:
    from rich.console import Console

    from infex.lab.reports.figures import Line
    from infex.lab.theory import InfexBound, Setting, Span
    from infex.schedules import Schedule

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
    The picture of --out has bounds against horizons, and three more schedules to compare with.

    \b
    infex lab bound --dim 10 --gap 0.1 --horizon 1e6 --schedule "every(20)"
    infex lab bound --dim 10 --gap 0.1 --horizon 1e12 --base LinTS --arms 100 --out bound.png
    infex lab bound --dim 2 --gap 1 --noise 0.1 --horizon 1e6 --schedule "power(0.5)" --json
    """
    from infex.lab.theory import Setting

    if out is not None:
        ready_for_figure(out)
    setting = Setting(dim=dim, gap=gap, noise=noise, bound=bound, penalty=penalty, delta=delta, arms=arms)
    asked = _schedules(dict.fromkeys(schedules))
    rows = [_row(setting, schedule, horizon, base) for schedule in asked]
    if as_json:
        _say_rows(setting, rows, horizon)
    else:
        _show(setting, rows, base)
    if out is not None:
        compared = [schedule for schedule in _schedules(COMPARED_SCHEDULES) if schedule not in asked]
        lines, limit = _lines(setting, [*asked, *compared], rows, base)
        click.echo(_draw(setting, lines, limit, horizon, base, out), err=True)


class BoundRow(NamedTuple):
    """A schedule, what the bound says of it, and from which horizon on it says anything."""

    schedule: Schedule
    bound: InfexBound
    useful: Span

    def as_data(self) -> dict[str, Any]:
        """Plain values for JSON; rounds past 10^300 are null, and their log10 is beside them."""
        taus = self.bound.taus() | {"useful_from": self.useful}
        row: dict[str, Any] = {"schedule": repr(self.schedule), "bound": self.bound.regret}
        row["vacuous"] = self.bound.vacuous
        for name, value in (self.bound._asdict() | {"useful_from": self.useful}).items():
            row |= _span_data(name, taus[name]) if name in taus else {name: value}
        return row

    def terms(self) -> list[str]:
        """The three terms and their sum."""
        bound = self.bound
        return [_short(term) for term in (bound.base, bound.constant, bound.growing, bound.regret)]

    def spans(self) -> list[str]:
        """The rounds of each tau, and from when on the bound is useful."""
        return [str(span) for span in (*self.bound.taus().values(), self.useful)]

    def verdict(self) -> str:
        """Does the bound say anything? With rich's markup."""
        return "[bold red]vacuous[/]" if self.bound.vacuous else "holds"


def _span_data(name: str, span: Span) -> dict[str, Any]:
    return {name: span.rounds, f"{name}_log10": span.log10}


def _schedules(texts: Iterable[str]) -> list[Schedule]:
    """The schedules of the catalogue that these expressions name."""
    from infex.lab.specs import named

    return [each.thing for text in texts for each in named(text, "schedule")]


def _row(setting: Setting, schedule: Schedule, horizon: int, base: str) -> BoundRow:
    from infex.lab.theory import infex
    from infex.lab.theory.scheduled import useful_from

    return BoundRow(schedule, infex(setting, schedule, horizon, base), useful_from(setting, schedule, base))


def _say_rows(setting: Setting, rows: list[BoundRow], horizon: int) -> None:
    """Prints the bounds as JSON, each with the problem."""
    problem = asdict(setting) | {"delta": setting.delta_at(horizon)}
    say_json([row.as_data() | {"problem": problem} for row in rows])


def _show(setting: Setting, rows: list[BoundRow], base: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    from infex.lab.theory.bounds import span

    console = Console(highlight=False)
    console.print(_problem(setting, rows[0].bound.horizon, base))
    names = [escape(repr(row.schedule)) for row in rows]
    terms = [
        (name, str(span(row.bound.explorations)), *row.terms(), row.verdict())
        for name, row in zip(names, rows, strict=True)
    ]
    _table("regret is at most", ("schedule", "f(T)", "base", "constant", "growing", "sum", ""), terms)
    taus = [(name, *row.spans()) for name, row in zip(names, rows, strict=True)]
    _table("rounds", ("schedule", "tau_Alg", "tau_0", "tau_1", "tau_12", "useful from"), taus)
    console.print(TERMS_EXPLAINED)
    _say_verdict(console, [row.bound for row in rows])


def _problem(setting: Setting, horizon: int, base: str) -> str:
    """The settings in a line."""
    problem = f"d = {setting.dim}, Delta = {setting.gap:g}, T = {horizon:,}, base {base}"
    return f"{problem}, delta = {setting.delta_at(horizon):.3g}, {_sizes(setting)}"


def _sizes(setting: Setting) -> str:
    sizes = f"sigma = {setting.noise:g}, S = {setting.bound:g}, lambda = {setting.penalty:g}"
    return sizes if setting.arms is None else f"{sizes}, K = {setting.arms:,}"


def _say_verdict(console: Console, bounds: list[InfexBound]) -> None:
    trivial = f"2 S T = {bounds[0].trivial:.4g}"
    if all(bound.vacuous for bound in bounds):
        console.print(
            f"Vacuous: no policy's regret exceeds {trivial}, so this promises nothing at this horizon."
        )
    elif any(bound.vacuous for bound in bounds):
        console.print(
            f"Where it says vacuous, the sum exceeds {trivial}, as no policy can: it promises nothing."
        )
    holding = [bound for bound in bounds if not bound.vacuous]
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


def _lines(
    setting: Setting, schedules: list[Schedule], rows: list[BoundRow], base: str
) -> tuple[list[Line], Line]:
    """Bounds against the horizon, and the limit above which they are vacuous."""
    import numpy as np

    from infex.lab.reports.figures import Line
    from infex.lab.theory import infex

    horizon, last = float(rows[0].bound.horizon), _last_drawn(rows)
    points = [int(t) for t in np.geomspace(max(horizon / 1e3, 10.0), last, HORIZONS_DRAWN)]
    times = np.array(points, float)
    lines = []
    for schedule in schedules:
        bounds = [infex(setting, schedule, t, base) for t in points]
        values = np.array([bound.regret for bound in bounds])
        faint = np.array([bound.vacuous for bound in bounds])
        label = repr(schedule) if values.min() < 1e3 * last else f"{schedule!r}, beyond this picture"
        lines.append(Line(label, times, values, faint))
    return lines, Line("2 S T: no policy exceeds it", times, 2.0 * setting.bound * times)


def _last_drawn(rows: list[BoundRow]) -> float:
    """The horizon at which the picture ends: far past the one asked for, and past where bounds get useful."""
    useful = [float(row.useful.rounds) for row in rows if row.useful.rounds <= LATEST_DRAWN]
    return min(max([100.0 * rows[0].bound.horizon, *(1e3 * rounds for rounds in useful)]), 1e299)


def _draw(setting: Setting, lines: list[Line], limit: Line, horizon: int, base: str, out: Path) -> Path:
    """The picture as a file, faint where bounds are vacuous."""
    from infex.lab.reports.figures import curves, write_figure

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
