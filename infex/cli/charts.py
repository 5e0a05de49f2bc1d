"""Pictures made of characters, for the terminal: marks on logarithmic scales."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console

Floats = NDArray[np.float64]

SERIES_MARKS = "o+x*#@%&"  # one for each series, so that no colours are needed
LIMIT_MARK = "."
CHART_HEIGHT = 18
NARROWEST_CHART, WIDEST_CHART = 30, 72  # characters from the first to the last column
AXIS_WIDTH = 10  # characters for the numbers of the vertical axis


class Series(NamedTuple):
    """Points with a name, joined by a line or not; without a `mark` of their own they get the next one."""

    label: str
    x: ArrayLike
    y: ArrayLike
    joined: bool = True
    mark: str = ""


def chart(series: list[Series], *, across: str, upward: str, width: int = 80) -> str:
    """Series in one picture, on logarithmic scales; what is not a positive number has no mark.

    >>> print(chart([Series("t", [1, 100], [1, 100])], across="t", upward="regret").splitlines()[0])
    regret
    """
    marked = [
        each if each.mark else each._replace(mark=SERIES_MARKS[place % len(SERIES_MARKS)])
        for place, each in enumerate(series)
    ]
    columns = min(max(width - AXIS_WIDTH - 4, NARROWEST_CHART), WIDEST_CHART)
    points = [_points(each) for each in marked]
    left, right = _range([x for x, _ in points])
    low, high = _range([y for _, y in points])
    grid = [[" "] * columns for _ in range(CHART_HEIGHT)]
    for each, (x, y) in reversed(list(zip(marked, points, strict=True))):
        if each.joined and x.size > 1:
            x, y = _joined(x, y, left, right, columns)
        places = _cells(x, left, right, columns), _cells(y, low, high, CHART_HEIGHT)
        for column, row in zip(*places, strict=True):
            grid[CHART_HEIGHT - 1 - row][column] = each.mark
    lines = [upward]
    ticks = {CHART_HEIGHT - 1 - row: label for row, label in _ticks(low, high, CHART_HEIGHT, apart=3)}
    for row, marks in enumerate(grid):
        lines.append(
            f"{ticks.get(row, ''):>{AXIS_WIDTH}} {'+' if row in ticks else '|'}{''.join(marks).rstrip()}"
        )
    lines += _foot(left, right, columns, across)
    return "\n".join([*lines, *(f"{'':{AXIS_WIDTH}} {each.mark} {each.label}" for each in marked)])


def show_chart(series: list[Series], *, across: str, upward: str) -> None:
    """Prints a chart as wide as the terminal."""
    console = Console(highlight=False)
    picture = chart(series, across=across, upward=upward, width=console.width)
    console.print(picture, markup=False, soft_wrap=True)


def _points(series: Series) -> tuple[Floats, Floats]:
    """The logarithms of positive numbers; all others are left out."""
    x, y = (np.asarray(each, float) for each in (series.x, series.y))
    drawn = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
    return np.log10(x[drawn]), np.log10(y[drawn])


def _range(values: list[Floats]) -> tuple[float, float]:
    every = np.concatenate([np.zeros(0), *values])
    low, high = (float(every.min()), float(every.max())) if every.size else (0.0, 1.0)
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)


def _joined(x: Floats, y: Floats, left: float, right: float, columns: int) -> tuple[Floats, Floats]:
    """A point in each column from the first to the last."""
    at, order = _within(np.linspace(left, right, columns), x), np.argsort(x, kind="stable")
    return at, np.interp(at, x[order], y[order])


def _within(columns: Floats, x: Floats) -> Floats:
    """The columns from the first point to the last."""
    return np.asarray(columns[(columns >= x.min() - 1e-9) & (columns <= x.max() + 1e-9)])


def _cells(values: Floats, low: float, high: float, count: int) -> NDArray[np.int64]:
    """The cell of each value on a scale of so many cells."""
    return np.rint((values - low) / (high - low) * (count - 1)).astype(np.int64)


def _ticks(low: float, high: float, cells: int, apart: int) -> list[tuple[int, str]]:
    """Round numbers within a scale and their cells, at least `apart` cells from each other."""
    for steps in ((0.0, math.log10(2), math.log10(5)), (0.0,)):
        marks: list[tuple[int, str]] = []
        for power in range(math.floor(low), math.ceil(high) + 1):
            for step in steps:
                cell = round((power + step - low) / (high - low) * (cells - 1))
                if low - 1e-9 <= power + step <= high + 1e-9:
                    marks.append((cell, _number(10.0 ** (power + step), 10.0**high)))
        if marks and all(later[0] - sooner[0] >= apart for sooner, later in pairwise(marks)):
            return marks
    kept: list[tuple[int, str]] = []
    for cell, label in marks:
        if not kept or cell - kept[-1][0] >= apart:
            kept.append((cell, label))
    return kept


def _number(value: float, largest: float) -> str:
    """A number as people write it, or as a power of ten if the scale goes past a million."""
    if largest < 1e6 - 1:
        return f"{value:,.0f}" if value >= 1 else f"{value:g}"
    return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _foot(left: float, right: float, columns: int, across: str) -> list[str]:
    axis, labels = ["-"] * columns, [" "] * columns
    for cell, label in reversed(_ticks(left, right, columns, apart=9)):
        axis[cell] = "+"
        first = min(cell, columns - len(label))
        if not "".join(labels[first : first + len(label) + 1]).strip():
            labels[first : first + len(label)] = label
    return [
        f"{'':{AXIS_WIDTH}} +{''.join(axis)}",
        f"{'':{AXIS_WIDTH}}  {''.join(labels).rstrip()}",
        f"{'':{AXIS_WIDTH}}  {across:>{columns}}",
    ]
