"""The picture of a plan: regret against exploration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from infex.planning.answer import Plan, Tried
from infex.planning.words import REFERENCE_NAMES, said
from infex.reports.styles import BASE_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SOFT_COLOUR = "#7F7F7F"


def front_figure(plan: Plan) -> Figure:
    """A matplotlib figure: every candidate, the front, the choice, and LinUCB and greedy beside them."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7.0, 5.4), layout="constrained")
    axes = drawn.subplots()
    _candidates(axes, plan)
    _choice(axes, plan.chosen())
    for name, dash in (("LinUCB", (4, 2)), ("greedy", (1, 2))):
        if name in plan.regret:
            level = plan.regret[name].mean.value
            axes.axhline(level, color=SOFT_COLOUR, lw=1, dashes=dash, label=REFERENCE_NAMES[name])
    axes.set_xscale("log")
    axes.set_yscale("log")
    _number_plainly(axes.xaxis, axes.get_xlim())
    _number_plainly(axes.yaxis, axes.get_ylim())
    axes.set_xlabel(f"exploring rounds in {plan.horizon:,}")
    axes.set_ylabel(f"regret of {plan.rounds:,} rounds, mean over problems")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return drawn


def _candidates(axes: Axes, plan: Plan) -> None:
    """Those played to the end, by their bases; those given up before; and the front."""
    played = [tried for tried in plan.candidates if tried.rounds == plan.rounds]
    for base in ("LinUCB", "LinTS"):
        counts, means = _points([tried for tried in played if base in tried.expression])
        colour, label = BASE_COLOURS[base], f"candidates with {base}"
        axes.plot(counts, means, "o", color=colour, ms=4, alpha=0.45, label=label)
    early = [tried for tried in plan.candidates if tried.rounds < plan.rounds]
    if early:
        label = "not played to the end: at least"
        axes.plot(*_points(early), "^", color=SOFT_COLOUR, mfc="none", ms=4, alpha=0.5, label=label)
    axes.plot(*_points(plan.front), "-", color="#444444", lw=1, label="front")


def _points(candidates: Sequence[Tried]) -> tuple[list[int], list[float]]:
    return [tried.explorations for tried in candidates], [tried.mean for tried in candidates]


def _choice(axes: Axes, chosen: Tried) -> None:
    """A star, with the interval of its mean where there is one."""
    known = math.isfinite(chosen.low) and math.isfinite(chosen.high)
    reach = [[chosen.mean - chosen.low], [chosen.high - chosen.mean]] if known else None
    place = [chosen.explorations], [chosen.mean]
    axes.errorbar(*place, yerr=reach, fmt="*", color="#000000", ms=13, label="recommended")


def _number_plainly(axis: Axis, ends: tuple[float, float]) -> None:
    """Numbers on a log scale as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ends
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: said(value)))
    axis.set_minor_formatter(NullFormatter())
