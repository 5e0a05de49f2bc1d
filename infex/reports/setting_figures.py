"""A figure of final regret against the values of a setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from infex.reports.styles import DASHES, OTHER_COLOURS, plain_frame, small_legend
from infex.statistics import Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTING_COLOURS = ("#0072B2", "#D55E00", "#009E73", *OTHER_COLOURS)
MOST_TICKS = 12  # values that are all written at the axis
STEEPEST = 20.0  # the largest value over the least, from which a logarithmic axis is used

Drawn = tuple[str, Sequence[Any], Sequence[Spread]]


def setting_figure(setting: str, lines: Sequence[Drawn]) -> Figure:
    """A matplotlib figure: means with one standard error, medians as hollow dots, a line for each name."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    values = [value for _, given, _ in lines for value in given]
    words = _words(values)
    for place, line in enumerate(lines):
        _draw(axes, line, words, SETTING_COLOURS[place % len(SETTING_COLOURS)], DASHES[place % len(DASHES)])
    _scale(axes, words, values)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(setting)
    axes.set_ylabel("final regret: mean and standard error; hollow: median")
    plain_frame(axes)
    small_legend(axes)
    return drawn


def _words(values: list[Any]) -> list[str]:
    """The values in the order in which they come, where some are texts; else none."""
    some_are_texts = any(isinstance(value, str) for value in values)
    return list(dict.fromkeys(map(str, values))) if some_are_texts else []


def _scale(axes: Axes, words: list[str], values: list[Any]) -> None:
    if words:
        axes.set_xticks(range(len(words)), words, rotation=20, ha="right", fontsize=8)
    elif min(values) > 0 and max(values) >= STEEPEST * min(values):
        axes.set_xscale("log")
        if len(set(values)) <= MOST_TICKS:
            axes.set_xticks(sorted(set(values)), [f"{value:g}" for value in sorted(set(values))])
            axes.set_xticks([], minor=True)


def _draw(axes: Axes, line: Drawn, words: list[str], colour: str, dash: tuple[float, ...]) -> None:
    name, values, spreads = line
    x = [words.index(str(value)) for value in values] if words else list(values)
    means = np.array([each.mean for each in spreads])
    errors = np.array([each.std / np.sqrt(each.runs) for each in spreads])
    axes.plot(x, means, color=colour, dashes=dash or (None, None), lw=1.6, marker=".", label=name)
    axes.errorbar(x, means, np.nan_to_num(errors), fmt="none", ecolor=colour, elinewidth=1.0, alpha=0.7)
    axes.plot(x, [each.median for each in spreads], "o", mfc="none", color=colour, ms=5, alpha=0.8)
