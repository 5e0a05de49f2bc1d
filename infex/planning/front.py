"""The picture of a plan: regret against exploration, on fresh problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from infex.planning.answer import Plan
from infex.planning.finish import Judged
from infex.planning.words import REFERENCE_NAMES, said
from infex.reports.styles import BASE_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SOFT_COLOUR = "#7F7F7F"


def front_figure(plan: Plan) -> Figure:
    """A matplotlib figure: the first of each number of explorations, the menu, and LinUCB and greedy.

    Every mark is a mean over fresh problems and has its interval; what only the race has met is not drawn.
    """
    from infex.reports.paper_figure import PaperFigure

    drawn = PaperFigure(figsize=(7.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    _marks(axes, plan.levels, "o-", SOFT_COLOUR, 3, "the best of each number of explorations")
    menu = list({entry.judged.expression: entry.judged for entry in plan.menu}.values())
    _marks(axes, menu, "o", BASE_COLOURS["LinUCB"], 7, "the menu")
    _marks(axes, [plan.chosen()], "*", "#000000", 13, "recommended")
    for name, dash in (("LinUCB", (4, 2)), ("greedy", (1, 2))):
        if name in plan.regret:
            level = plan.regret[name].mean.value
            axes.axhline(level, color=SOFT_COLOUR, lw=1, dashes=dash, label=REFERENCE_NAMES[name])
    _scale(axes)
    _name_axes(axes, plan)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    drawn.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return drawn


def _scale(axes: Axes) -> None:
    """Makes both scales logarithmic."""
    axes.set(xscale="log", yscale="log")
    _number_plainly(axes.xaxis, axes.get_xlim())
    _number_plainly(axes.yaxis, axes.get_ylim())


def _name_axes(axes: Axes, plan: Plan) -> None:
    axes.set_xlabel(f"exploring rounds in {plan.horizon:,}")
    axes.set_ylabel(f"regret of {plan.rounds:,} rounds, mean over fresh problems")


def _marks(axes: Axes, judged: Sequence[Judged], mark: str, colour: str, size: int, label: str) -> None:
    """Marks with the intervals of their means; those without an interval are left out."""
    known = [each for each in judged if math.isfinite(each.regret.low) and math.isfinite(each.regret.high)]
    if not known:
        return
    means = [each.regret.value for each in known]
    reach = [
        [each.regret.value - each.regret.low for each in known],
        [each.regret.high - each.regret.value for each in known],
    ]
    counts = [each.explorations for each in known]
    axes.errorbar(counts, means, yerr=reach, fmt=mark, color=colour, ms=size, lw=1, elinewidth=1, label=label)


def _number_plainly(axis: Axis, ends: tuple[float, float]) -> None:
    """Numbers on a log scale as people write them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ends
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: said(value)))
    axis.set_minor_formatter(NullFormatter())
