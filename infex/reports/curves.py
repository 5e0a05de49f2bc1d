"""Lines against the horizon on logarithmic scales: bounds, and regret where exploration is too rare."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infex.reports.styles import DASHES, OTHER_COLOURS, plain_frame, small_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
CURVE_COLOURS = ("#0072B2", "#D55E00", "#009E73", *OTHER_COLOURS)


class Line(NamedTuple):
    """One curve; where `faint` is true it says nothing, and is drawn faintly."""

    label: str
    x: Floats
    y: Floats
    faint: NDArray[np.bool_] | None = None


def curves(
    lines: Iterable[Line],
    *,
    title: str,
    ylabel: str,
    limit: Line | None = None,
    mark: float | None = None,
) -> Figure:
    """A matplotlib figure: curves against the horizon, a dotted limit, a mark at one horizon."""
    from infex.reports.paper_figure import PaperFigure

    drawn = PaperFigure(figsize=(8.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    given = list(lines)
    for place, line in enumerate(given):
        _draw_line(axes, line, CURVE_COLOURS[place % len(CURVE_COLOURS)], DASHES[place % len(DASHES)])
    if limit is not None:
        axes.plot(limit.x, limit.y, color="#000000", lw=1.0, ls=":", label=limit.label)
    if mark is not None:
        axes.axvline(mark, color="#7F7F7F", lw=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if limit is not None:
        axes.set_ylim(*_ends(given, limit))
    axes.set_xlabel("horizon T")
    axes.set_ylabel(ylabel)
    axes.set_title(title, loc="left", fontsize=10)
    plain_frame(axes)
    small_legend(axes)
    return drawn


def _draw_line(axes: Axes, line: Line, colour: str, dash: tuple[float, ...]) -> None:
    dashes = dash or (None, None)
    y = np.where(np.isfinite(line.y) & (line.y > 0), line.y, np.nan)
    faint = np.zeros(y.size, bool) if line.faint is None else line.faint
    if faint.any():
        axes.plot(line.x, y, color=colour, dashes=dashes, lw=1.2, alpha=0.3)
    axes.plot(line.x, np.where(faint, np.nan, y), color=colour, dashes=dashes, lw=1.8, label=line.label)


def _ends(lines: list[Line], limit: Line) -> tuple[float, float]:
    """The ends of the vertical axis: about the limit, and up to a thousand times as high."""
    highest = max(float(np.nanmax(line.y, initial=0.0, where=np.isfinite(line.y))) for line in lines)
    top = max(float(np.max(limit.y)), min(highest, 1e3 * float(np.max(limit.y))))
    return max(1.0, 0.5 * float(np.min(limit.y))), 2.0 * top
