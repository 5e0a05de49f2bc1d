"""The bounds of several schedules side by side: as text, as data and as a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.lab.text import paragraph, text_table
from infex.lab.theory.bounds import Rounds, Setting, infex, useful_from
from infex.schedules import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HORIZONS_DRAWN = 25
LATEST_DRAWN = 1e30  # the figure goes no farther to show where a bound becomes useful
TERMS_EXPLAINED = (
    "f(T): explorations. base: what they may cost. constant: what greedy rounds may cost until round tau_0 + "
    "tau_1, growing: after it. tau_Alg: explorations until a quarter are sure to play the best arm, in round "
    "tau_0. tau_1, tau_12: rounds after that until greedy loses less than (7/16) and (1/4) Delta a round. "
    "none: there is none up to 1e300."
)


def bound_rows(
    setting: Setting, schedules: Sequence[Schedule], horizon: int, base: str
) -> list[dict[str, Any]]:
    """The bound of each schedule as plain data, and the horizon from which on it is useful.

    Rounds are infinite where there are none up to 10^300.
    """
    rows = []
    for schedule in schedules:
        bound = infex(setting, schedule, horizon, base)
        fields = asdict(bound)
        rows.append(
            {
                "schedule": repr(schedule),
                "bound": fields.pop("regret"),
                "vacuous": bound.vacuous,
                **fields,
                "useful_from": useful_from(setting, schedule, base),
                "problem": asdict(setting) | {"delta": setting.delta_at(horizon)},
            }
        )
    return rows


def bounds_text(rows: Sequence[dict[str, Any]], base: str) -> str:
    """The rows of `bound_rows` as two tables, with what they promise."""
    problem, horizon, trivial = (rows[0][name] for name in ("problem", "horizon", "trivial"))
    arms = "" if problem["arms"] is None else f", K = {problem['arms']:,}"
    terms = [
        [
            row["schedule"],
            rounds_text(row["explorations"]),
            *(_short(row[name]) for name in ("base", "constant", "growing", "bound")),
            "vacuous" if row["vacuous"] else "holds",
        ]
        for row in rows
    ]
    names = ("tau_base", "tau_0", "tau_1", "tau_12", "useful_from")
    taus = [[row["schedule"], *(rounds_text(row[name]) for name in names)] for row in rows]
    holding = [row for row in rows if not row["vacuous"]]
    if holding:
        verdict = (
            f"What holds, holds with probability 1 - {holding[0]['failure']:.3g} if the base keeps its own "
            "data (data=own)."
        )
        if len(holding) < len(rows):
            verdict = (
                f"Where it says vacuous, the sum exceeds 2 S T = {trivial:.4g}, as no policy can. {verdict}"
            )
    else:
        verdict = (
            f"Vacuous: no policy's regret exceeds 2 S T = {trivial:.4g}, so this promises nothing at this "
            "horizon."
        )
    return "\n".join(
        [
            paragraph(
                f"d = {problem['dim']}, Delta = {problem['gap']:g}, T = {horizon:,}, base {base}, "
                f"delta = {problem['delta']:.3g}, sigma = {problem['noise']:g}, "
                f"S = {problem['bound']:g}, lambda = {problem['penalty']:g}{arms}"
            ),
            "\nregret is at most",
            text_table(["schedule", "f(T)", "base", "constant", "growing", "sum", ""], terms, {0: 16}),
            "\nrounds",
            text_table(["schedule", "tau_Alg", "tau_0", "tau_1", "tau_12", "useful from"], taus, {0: 16}),
            f"\n{paragraph(TERMS_EXPLAINED)}\n{paragraph(verdict)}",
        ]
    )


def bounds_figure(
    setting: Setting, schedules: Sequence[Schedule], horizon: int, base: str, useful: Sequence[Rounds]
) -> Figure:
    """The bounds of schedules against the horizon, faint where they are vacuous.

    It goes on beyond the horizons from which on bounds are `useful`, if these are not too far.
    """
    from infex.lab.reports.figures import Line, curves

    last = min(max([100.0 * horizon, *(1e3 * rounds for rounds in useful if rounds <= LATEST_DRAWN)]), 1e299)
    points = [int(t) for t in np.geomspace(max(horizon / 1e3, 10.0), last, HORIZONS_DRAWN)]
    times, lines = np.array(points, float), []
    for schedule in schedules:
        bounds = [infex(setting, schedule, t, base) for t in points]
        values = np.array([bound.regret for bound in bounds])
        label = repr(schedule) if values.min() < 1e3 * last else f"{schedule!r}, beyond this picture"
        lines.append(Line(label, times, values, np.array([bound.vacuous for bound in bounds])))
    return curves(
        lines,
        title=f"Theorem 1 with base {base}, d = {setting.dim}, gap {setting.gap:g}; faint: vacuous",
        ylabel="bound on regret",
        limit=Line("2 S T: no policy exceeds it", times, 2.0 * setting.bound * times),
        mark=float(horizon),
    )


def rounds_text(rounds: Rounds) -> str:
    """A number of rounds as people write it.

    >>> rounds_text(12_345), rounds_text(10**12), rounds_text(math.inf)
    ('12,345', '1.000e+12', 'none')
    """
    if rounds == math.inf:
        return "none"
    return f"{rounds:,}" if rounds < 10**9 else f"{rounds:.3e}"


def _short(value: float) -> str:
    if value == math.inf:
        return "infinite"
    return f"{value:,.0f}" if value < 1e6 else f"{value:.2e}"
