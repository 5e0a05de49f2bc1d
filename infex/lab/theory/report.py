"""The bounds of several schedules side by side: as text, as data and as a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from infex.lab.text import paragraph, text_table
from infex.lab.theory.bounds import InfexBound, Rounds, Setting, infex, useful_from
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


@final
@dataclass(frozen=True, slots=True)
class BoundReport:
    """The bound of Theorem 1 for each of some schedules, and the horizon from which on it is useful."""

    setting: Setting
    horizon: int
    base: str
    schedules: Sequence[Schedule]
    bounds: Sequence[InfexBound]
    useful: Sequence[Rounds]

    @staticmethod
    def of(setting: Setting, schedules: Sequence[Schedule], horizon: int, base: str) -> BoundReport:
        """The bounds of these schedules at a horizon."""
        bounds = [infex(setting, schedule, horizon, base) for schedule in schedules]
        useful = [useful_from(setting, schedule, base) for schedule in schedules]
        return BoundReport(setting, horizon, base, schedules, bounds, useful)

    def __str__(self) -> str:
        setting, names = self.setting, [repr(schedule) for schedule in self.schedules]
        arms = "" if setting.arms is None else f", K = {setting.arms:,}"
        terms = [
            [
                name,
                rounds_text(bound.explorations),
                *map(_short, (bound.base, bound.constant, bound.growing, bound.regret)),
                "vacuous" if bound.vacuous else "holds",
            ]
            for name, bound in zip(names, self.bounds, strict=True)
        ]
        taus = [
            [name, *map(rounds_text, (bound.tau_base, bound.tau_0, bound.tau_1, bound.tau_12, useful))]
            for name, bound, useful in zip(names, self.bounds, self.useful, strict=True)
        ]
        return "\n".join(
            [
                paragraph(
                    f"d = {setting.dim}, Delta = {setting.gap:g}, T = {self.horizon:,}, base {self.base}, "
                    f"delta = {setting.delta_at(self.horizon):.3g}, sigma = {setting.noise:g}, "
                    f"S = {setting.bound:g}, lambda = {setting.penalty:g}{arms}"
                ),
                "\nregret is at most",
                text_table(["schedule", "f(T)", "base", "constant", "growing", "sum", ""], terms, {0: 16}),
                "\nrounds",
                text_table(["schedule", "tau_Alg", "tau_0", "tau_1", "tau_12", "useful from"], taus, {0: 16}),
                f"\n{paragraph(TERMS_EXPLAINED)}\n{paragraph(self._verdict())}",
            ]
        )

    def _verdict(self) -> str:
        """Which bounds promise something, and with what probability."""
        trivial = f"2 S T = {self.bounds[0].trivial:.4g}"
        holding = [bound for bound in self.bounds if not bound.vacuous]
        if not holding:
            return f"Vacuous: no policy's regret exceeds {trivial}, so this promises nothing at this horizon."
        words = (
            f"What holds, holds with probability 1 - {holding[0].failure:.3g} if the base keeps its own data "
            "(data=own)."
        )
        if len(holding) == len(self.bounds):
            return words
        return f"Where it says vacuous, the sum exceeds {trivial}, as no policy can. {words}"

    def as_data(self) -> list[dict[str, Any]]:
        """A row for each schedule as plain data; rounds are infinite where there are none up to 10^300."""
        problem = asdict(self.setting) | {"delta": self.setting.delta_at(self.horizon)}
        return [
            {
                "schedule": repr(schedule),
                "bound": bound.regret,
                "vacuous": bound.vacuous,
                **bound._asdict(),
                "useful_from": useful,
                "problem": problem,
            }
            for schedule, bound, useful in zip(self.schedules, self.bounds, self.useful, strict=True)
        ]

    def figure(self, compared: Sequence[Schedule] = ()) -> Figure:
        """Bounds against the horizon, faint where they are vacuous, with further schedules to compare."""
        from infex.lab.reports.figures import Line, curves

        useful = [1e3 * rounds for rounds in self.useful if rounds <= LATEST_DRAWN]
        last = min(max([100.0 * self.horizon, *useful]), 1e299)
        points = [int(t) for t in np.geomspace(max(self.horizon / 1e3, 10.0), last, HORIZONS_DRAWN)]
        times, lines = np.array(points, float), []
        for schedule in [*self.schedules, *(each for each in compared if each not in self.schedules)]:
            bounds = [infex(self.setting, schedule, t, self.base) for t in points]
            values = np.array([bound.regret for bound in bounds])
            label = repr(schedule) if values.min() < 1e3 * last else f"{schedule!r}, beyond this picture"
            lines.append(Line(label, times, values, np.array([bound.vacuous for bound in bounds])))
        return curves(
            lines,
            title=f"Theorem 1 with base {self.base}, d = {self.setting.dim}, gap {self.setting.gap:g}; "
            "faint: vacuous",
            ylabel="bound on regret",
            limit=Line("2 S T: no policy exceeds it", times, 2.0 * self.setting.bound * times),
            mark=float(self.horizon),
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
