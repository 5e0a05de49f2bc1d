"""A figure of final regret against the values of a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from infex.checks import one_of
from infex.reports.shown import Floats
from infex.reports.strips import LOOKS, Look
from infex.reports.styles import DASHES, OTHER_COLOURS, plain_frame, small_legend
from infex.statistics import mean_intervals, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTING_COLOURS = ("#0072B2", "#D55E00", "#009E73", *OTHER_COLOURS)
MOST_TICKS = 12  # values that are all written at the axis
STEEPEST = 20.0  # the largest value over the least, from which a logarithmic axis is used


class Drawn(Protocol):
    """One line: its name, the values of the setting, and the regrets of the runs with each value."""

    @property
    def name(self) -> str:
        """What the legend says."""

    @property
    def values(self) -> Sequence[Any]:
        """The values."""

    @property
    def regrets(self) -> Sequence[Floats]:
        """Final regret of the runs with each value."""


def setting_figure(
    setting: str, lines: Sequence[Drawn], show: Look | None = None, log: bool = False
) -> Figure:
    """A matplotlib figure of regret with bars, a line for each name.

    `show` as in `strip`, or None: means with one standard error, and medians as hollow dots. With `log`
    regret has a logarithmic axis, and so have values that are positive numbers.
    """
    from infex.reports.paper_figure import PaperFigure

    if show is not None:
        one_of("show", show, tuple(LOOKS))
    drawn = PaperFigure(figsize=(8.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    values = [value for line in lines for value in line.values]
    words = _words(values)
    for place, line in enumerate(lines):
        colour, dash = SETTING_COLOURS[place % len(SETTING_COLOURS)], DASHES[place % len(DASHES)]
        _draw(axes, line, words, colour, dash, show)
    _scale(axes, words, values, log)
    if log:
        axes.set_yscale("log", nonpositive="mask")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(setting)
    bars = "mean and standard error; hollow: median" if show is None else LOOKS[show]
    axes.set_ylabel(f"final regret: {bars}")
    plain_frame(axes)
    small_legend(axes)
    return drawn


def _words(values: list[Any]) -> list[str]:
    """The values in the order in which they come, where some are texts; else none."""
    some_are_texts = any(isinstance(value, str) for value in values)
    return list(dict.fromkeys(map(str, values))) if some_are_texts else []


def _scale(axes: Axes, words: list[str], values: list[Any], log: bool) -> None:
    if words:
        axes.set_xticks(range(len(words)), words, rotation=20, ha="right", fontsize=8)
    elif min(values) > 0 and (log or max(values) >= STEEPEST * min(values)):
        axes.set_xscale("log")
        if len(set(values)) <= MOST_TICKS:
            axes.set_xticks(sorted(set(values)), [f"{value:g}" for value in sorted(set(values))])
            axes.set_xticks([], minor=True)


def _draw(
    axes: Axes, line: Drawn, words: list[str], colour: str, dash: tuple[float, ...], show: Look | None
) -> None:
    x = [words.index(str(value)) for value in line.values] if words else list(line.values)
    centre, low, high = _centre_and_bars(line.regrets, show)
    axes.plot(x, centre, color=colour, dashes=dash or (None, None), lw=1.6, marker=".", label=line.name)
    bars = np.nan_to_num([centre - low, high - centre])
    axes.errorbar(x, centre, bars, fmt="none", ecolor=colour, elinewidth=1.0, alpha=0.7)
    if show is None:
        axes.plot(x, list(map(np.median, line.regrets)), "o", mfc="none", color=colour, ms=5, alpha=0.8)


def _centre_and_bars(regrets: Sequence[Floats], show: Look | None) -> tuple[Floats, Floats, Floats]:
    """The line, and the ends of the bar of each value; NaN where runs are too few for a bar."""
    if show == "median":
        low, centre, high = np.array([np.quantile(each, (0.25, 0.5, 0.75)) for each in regrets]).T
        return centre, low, high
    if show == "interval":
        centre, low, high = np.array(mean_intervals(regrets)).T
        return centre, low, high
    spreads = [spread(each) for each in regrets]
    centre, std = np.array([(each.mean, each.std) for each in spreads]).T
    reach = std if show == "std" else std / np.sqrt([each.runs for each in spreads])
    return centre, centre - reach, centre + reach
