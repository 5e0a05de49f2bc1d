"""Figures that a paper can take as they are. This module imports matplotlib: import it where one draws."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import EngFormatter, MaxNLocator
from numpy.typing import NDArray

from infex.arrays import Floats, Integers
from infex.checks import one_of, real, whole
from infex.errors import InvalidSetting
from infex.files import replace
from infex.lab.reports.series import (
    DASHES,
    LOOKS,
    OTHER_COLOURS,
    STEEPEST,
    Band,
    Look,
    Style,
    line_and_band,
    strip,
    styles,
)

if TYPE_CHECKING:
    from infex.lab.comparison import SettingLine
    from infex.lab.results import Cell, Results

DRAWN_BY = "drawn by infex"  # a figure that says so is ours to replace
FIGURE_DPI = 150
FORMATS: dict[str, dict[str, Any]] = {  # what a file says of itself; a date would differ in every run
    "png": {"Software": DRAWN_BY},
    "svg": {"Creator": DRAWN_BY, "Date": None},
    "pdf": {"Creator": DRAWN_BY, "CreationDate": None},
}
FIGURE_FILE = re.compile(rf"figure\d+\.({'|'.join(FORMATS)})")
LETTER_SIZE = 9  # points

# Files


class PaperFigure(Figure):
    """A matplotlib figure whose files publishers accept, and which are the same in every run.

    Fonts in PDF and PostScript are TrueType (Type 42): many conferences refuse matplotlib's default, Type 3.
    Without a salt, the ids in an SVG would be random.
    """

    def savefig(self, *args: Any, **settings: Any) -> None:
        """As `matplotlib.figure.Figure.savefig`."""
        with rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": "infex"}):
            super().savefig(*args, **settings)


def picture(figure: Figure, kind: str) -> bytes:
    """A figure as a file of one of the formats."""
    sink = BytesIO()
    figure.savefig(sink, format=kind, dpi=FIGURE_DPI, metadata=FORMATS[kind])
    return sink.getvalue()


def format_of(path: Path) -> str:
    """The format that a file's name asks for; InvalidSetting for one that is not drawn."""
    kind = path.suffix[1:].lower()
    if kind not in FORMATS:
        raise InvalidSetting(f"a picture is a file .png, .svg or .pdf, got {path}")
    return kind


def write_figure(figure: Figure, path: Path) -> Path:
    """Writes a figure in the format that the file's name says."""
    replace(path, picture(figure, format_of(path)))
    return path


def rendered(results: Results, dim: int, *, show: Look = "std", log: bool = False) -> dict[str, bytes]:
    """Regret and time on the problems of one dimension, in every format."""
    with rc_context({"font.size": LETTER_SIZE}):
        cells = [cell for cell in results.cells if cell.dim == dim]
        drawn = regret_figure(results, cells, show=show, log=log, times=True)
        drawn.draw_without_rendering()  # places all parts once, rather than for each format
        drawn.set_layout_engine("none")
        return {kind: picture(drawn, kind) for kind in FORMATS}


def write_figures(
    figures: Mapping[int, Mapping[str, bytes]], folder: Path, numbers: Mapping[int, int] | None = None
) -> list[Path]:
    """Writes the figure of each dimension, in every format; the files. Earlier figures of ours are removed.

    `numbers` are those of the figures, by dimension; without them figures count from 1.
    """
    numbers = numbers or {dim: number for number, dim in enumerate(figures, 1)}
    written = []
    for dim, pictures in figures.items():
        for kind, data in pictures.items():
            written.append(folder / f"figure{numbers[dim]}.{kind}")
            replace(written[-1], data)
    for path in folder.iterdir():
        ours = FIGURE_FILE.fullmatch(path.name) and DRAWN_BY.encode() in path.read_bytes()
        if ours and path not in written:
            path.unlink()
    return written


# Regret by round, with or without time

PANEL_WIDTH, PANEL_HEIGHT = 3.6, 2.7  # inches
WIDTH_WITH_TIMES = 10.5  # inches
LEGEND_LINE = 0.18  # inches
NAME_WIDTH = 100  # characters in a line of the legend
NAME_WIDTH_BESIDE_TIMES = 34  # characters
LINES_WITH_BANDS = 9  # the bands of more lines would cover each other
LINES_WITHOUT_MARKERS = 6
MARKERS = "os^vDPX<>ph*"
MARKS_OF_A_LINE = 4  # markers and whiskers, spread over its rounds
INCHES_OF_A_TICK = 0.8
MOST_TICKS_OF_A_PANEL = 5
MOST_COLUMNS = 3  # of panels, unless more are asked for


def regret_figure(
    results: Results,
    cells: Sequence[Cell],
    *,
    names: Mapping[str, str] | None = None,
    show: Look = "std",
    log: bool = False,
    times: bool = False,
    columns: int | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Regret by round, a panel for each problem; with `times` each has one of computation time beside it.

    `names` are the policies to draw, in this order, with their names in the legend. `columns` is how many
    problems stand side by side, and `size` the width and height in inches.
    """
    one_of("show", show, tuple(LOOKS))
    names = names or {policy: policy for policy in results.policies}
    names = {policy: name for policy, name in names.items() if any(results.has(c, policy) for c in cells)}
    if not names:
        raise InvalidSetting("there is nothing to draw: no run went well")
    if columns is None:
        columns = 1 if times else MOST_COLUMNS
    columns = whole("columns", columns, least=1)
    columns = min(columns, len(cells))
    rows = -(-len(cells) // columns)
    legend = [_wrapped(name, NAME_WIDTH) for name in names.values()]
    width, height = _size(size, len(names), rows, columns, legend, times)
    drawn = PaperFigure(figsize=(width, height), layout="constrained")
    ratios = (3, 2) * columns if times else (1,) * columns
    grid = drawn.subplots(rows, len(ratios), squeeze=False, width_ratios=ratios)
    panels = grid.reshape(-1, 2 if times else 1)
    looks = styles(results.policies, results.bases, results.rules)
    spreads = False
    for panel, cell in zip(panels, cells, strict=False):
        mine = {policy: name for policy, name in names.items() if results.has(cell, policy)}
        spreads |= _draw_regret(panel[0], results, cell, mine, looks, show, log)
        if times:
            _draw_times(panel[1], results, cell, mine, looks)
    for panel in panels[len(cells) :]:
        for axes in panel:
            axes.set_visible(False)
    lines = {line.get_label(): line for panel in panels for line in panel[0].get_lines()}
    drawn.legend(
        [lines[policy] for policy in names],
        legend,
        loc="outside lower center",
        ncols=_legend_columns(legend, width),
        frameon=False,
        handlelength=3.2,
        fontsize=LETTER_SIZE,
        title=LOOKS[show] if spreads else None,
        title_fontsize=LETTER_SIZE - 1,
    )
    return drawn


def _size(
    size: tuple[float, float] | None, policies: int, rows: int, columns: int, legend: list[str], times: bool
) -> tuple[float, float]:
    """Width and height in inches: as asked for, or enough for all panels and the legend."""
    if size is not None:
        try:
            width, height = size
        except (TypeError, ValueError):
            raise InvalidSetting(f"size must be a width and a height in inches, got {size!r}") from None
        return real("the width of size", width, above=0), real("the height of size", height, above=0)
    width = WIDTH_WITH_TIMES * columns if times else max(PANEL_WIDTH * columns, 1.6 * PANEL_WIDTH)
    most = max(_wrapped(name, NAME_WIDTH_BESIDE_TIMES).count("\n") + 1 for name in legend)
    panel = max(PANEL_HEIGHT, 0.7 + (0.05 + 0.135 * most) * policies) if times else PANEL_HEIGHT
    lines = sum(name.count("\n") + 1 for name in legend) / _legend_columns(legend, width)
    return width, panel * rows + 0.75 + LEGEND_LINE * lines


def _draw_regret(
    axes: Axes,
    results: Results,
    cell: Cell,
    names: Mapping[str, str],
    looks: Mapping[str, Style],
    show: Look,
    log: bool,
) -> bool:
    """Draws lines with a band each, or with bars where lines are many; is there any spread to be seen?"""
    strips = {policy: strip(results, cell, policy, show) for policy in names}
    for place, (policy, each) in enumerate(strips.items()):
        colour, dash = looks[policy]
        at = _marked(each.rounds, (place + 1) / (len(strips) + 1), log)
        marker = MARKERS[place % len(MARKERS)] if len(strips) > LINES_WITHOUT_MARKERS else None
        axes.plot(
            each.rounds, each.value, color=colour, dashes=dash or (None, None), lw=1.4, label=policy,
            marker=marker, markevery=at, ms=4,
        )  # fmt: skip
        if each.is_wide and len(strips) > LINES_WITH_BANDS:
            axes.vlines(each.rounds[at], each.low[at], each.high[at], color=colour, lw=0.8, alpha=0.7)
        elif each.is_wide:
            axes.fill_between(each.rounds, each.low, each.high, color=colour, alpha=0.09, lw=0)
    _scale_regret(axes, list(strips.values()), log)
    axes.set_xlabel("round")
    axes.set_ylabel("cumulative regret")
    axes.set_title(results.title(cell), loc="left", fontsize=LETTER_SIZE)
    _plain_frame(axes)
    axes.set_axisbelow(True)
    return any(each.is_wide for each in strips.values())


def _marked(rounds: Integers, share: float, log: bool) -> list[int]:
    """Which recorded rounds have a mark: evenly spread, from a `share` of their distance on."""
    shares = (np.arange(MARKS_OF_A_LINE) + share) / MARKS_OF_A_LINE
    wanted = rounds[-1] ** shares if log else rounds[-1] * shares
    return sorted({int(np.abs(rounds - t).argmin()) for t in wanted})


def _scale_regret(axes: Axes, strips: Sequence[Band], log: bool) -> None:
    """Both axes from 0 to the last round and the highest band, or both logarithmic."""
    last, top = int(strips[-1].rounds[-1]), max(float(each.high.max()) for each in strips)
    if log and top > 0:  # no logarithm shows what is nil throughout
        least = min(float(np.min(each.value, where=each.value > 0, initial=top)) for each in strips)
        axes.set_xscale("log")
        axes.set_yscale("log", nonpositive="mask")
        axes.set_ylim(max(least, 1e-4 * top) / 1.3, 1.3 * top)
        axes.set_xlim(right=last)
        return
    axes.set_ylim(0, 1.04 * top or 1)
    axes.set_xlim(0, last)
    few = MaxNLocator(_most_ticks(axes), integer=True).tick_values(0, last)
    axes.set_xticks([t for t in few if t <= last])


def _most_ticks(axes: Axes) -> int:
    """How many numbers have room below a panel."""
    spec, drawn = axes.get_subplotspec(), axes.get_figure(root=True)
    if spec is None or drawn is None:
        return MOST_TICKS_OF_A_PANEL
    width = drawn.get_figwidth() / spec.get_gridspec().ncols
    return max(2, min(MOST_TICKS_OF_A_PANEL, int(width / INCHES_OF_A_TICK)))


def _draw_times(
    axes: Axes, results: Results, cell: Cell, names: Mapping[str, str], looks: Mapping[str, Style]
) -> None:
    """Median computation time of each policy; every run is a short mark."""
    seconds = {policy: np.maximum(results.seconds(cell, policy), 1e-9) for policy in reversed(list(names))}
    for place, (policy, each) in enumerate(seconds.items()):
        axes.plot(each, np.full(each.size, place), "|", color=looks[policy].colour, alpha=0.35, ms=6)
        axes.plot(np.median(each), place, "o", color=looks[policy].colour, ms=5)
    shown = [_wrapped(names[policy], NAME_WIDTH_BESIDE_TIMES) for policy in seconds]
    axes.set_yticks(range(len(shown)), shown, fontsize=8)
    axes.set_ylim(-0.6, len(shown) - 0.4)
    low, high = (end(float(end(each)) for each in seconds.values()) for end in (min, max))
    axes.set_xscale("log")
    axes.set_xlim(low / 1.25, high * 1.25)
    few = ticks(low / 1.2, high * 1.2)
    few = few[:: -(-len(few) // _most_ticks(axes))]
    axes.set_xticks(few, list(map(EngFormatter("s"), few)))
    axes.set_xticks([], minor=True)
    axes.set_xlabel("time of a run")
    _plain_frame(axes)
    axes.set_axisbelow(True)


def _plain_frame(axes: Axes) -> None:
    """Leaves the left and the lower edge of axes, and draws a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)


def _legend_columns(names: list[str], width: float) -> int:
    """As many columns as have room for the longest name, at most 4."""
    font = FontProperties(size=LETTER_SIZE)
    lines = [line for name in names for line in name.split("\n")]
    longest = max(text_to_path.get_text_width_height_descent(line, font, False)[0] for line in lines) / 72
    return max(1, min(int((width - 0.2) / (longest + 0.75)), 4))


def _wrapped(name: str, width: int) -> str:
    """A name in at most two lines of `width` characters."""
    return "\n".join(textwrap.wrap(name, width, max_lines=2, placeholder=" ..."))


def ticks(low: float, high: float) -> list[float]:
    """Two to four round numbers between `low` and `high`, for a log scale.

    >>> ticks(2e-4, 3e-1), ticks(3.1e-4, 5.1e-4)
    ([0.001, 0.01, 0.1], [0.0004, 0.0005])
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7), tuple(range(10, 100))):
        scale = 10 if parts[0] == 10 else 1
        numbers = [float(f"{part * 10.0**power / scale:.3g}") for power in powers for part in parts]
        numbers = [number for number in numbers if low <= number <= high]
        if len(numbers) >= 2:
            break
    return numbers[:: -(-len(numbers) // 4)]


# Regret against a setting, and curves against the horizon

LINE_COLOURS = ("#0072B2", "#D55E00", "#43862E", *OTHER_COLOURS)
PLAIN_SIZE = (8.0, 5.0)  # inches
MOST_TICKS = 12  # values that are all written at the axis


def setting_figure(
    setting: str,
    lines: Sequence[SettingLine],
    show: Look | None = None,
    log: bool = False,
    size: tuple[float, float] | None = None,
    levels: Mapping[str, float] = types.MappingProxyType({}),
) -> Figure:
    """Final regret against the values of a setting, a line with bars for each name.

    `show` as in `strip`, or None: means with one standard error, and medians as hollow dots. With `log`
    regret has a logarithmic axis, and so have values that are positive numbers. `levels` are drawn across.
    """
    if show is not None:
        one_of("show", show, tuple(LOOKS))
    drawn = PaperFigure(figsize=size or PLAIN_SIZE, layout="constrained")
    axes = drawn.subplots()
    values = [value for line in lines for value in line.values]
    words = list(dict.fromkeys(map(str, values))) if any(isinstance(each, str) for each in values) else []
    for (colour, dash), line in zip(_line_styles(), lines, strict=False):
        x = [words.index(str(value)) for value in line.values] if words else list(line.values)
        centre, low, high = line_and_band(line.regrets, show or "std")
        if show is None:  # one standard error
            reach = (high - centre) / np.sqrt([each.size for each in line.regrets])
            low, high = centre - reach, centre + reach
        axes.plot(x, centre, color=colour, dashes=dash or (None, None), lw=1.6, marker=".", label=line.name)
        bars = np.nan_to_num([centre - low, high - centre])
        axes.errorbar(x, centre, bars, fmt="none", ecolor=colour, elinewidth=1.0, alpha=0.7)
        if show is None:
            axes.plot(x, list(map(np.median, line.regrets)), "o", mfc="none", color=colour, ms=5, alpha=0.8)
    for (name, level), dash in zip(levels.items(), itertools.cycle(DASHES[1:]), strict=False):
        axes.axhline(level, color="#7F7F7F", dashes=dash, lw=1.0, label=name)
    if words:
        axes.set_xticks(range(len(words)), words, rotation=20, ha="right", fontsize=8)
    elif min(values) > 0 and (log or max(values) >= STEEPEST * min(values)):
        axes.set_xscale("log")
        if len(set(values)) <= MOST_TICKS:
            axes.set_xticks(sorted(set(values)), [f"{value:g}" for value in sorted(set(values))])
            axes.set_xticks([], minor=True)
    if log:
        axes.set_yscale("log", nonpositive="mask")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(setting)
    axes.set_ylabel("final regret")
    _plain_frame(axes)
    names = [str(line.get_label()) for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    drawn.legend(
        loc="outside lower center",
        ncols=_legend_columns(names, drawn.get_figwidth()),
        frameon=False,
        fontsize=8,
        handlelength=3.2,
        title="mean and standard error; hollow: median" if show is None else LOOKS[show],
        title_fontsize=8,
    )
    return drawn


def _line_styles() -> Iterator[Style]:
    """Styles without end, for lines that are no policies."""
    return map(Style, itertools.cycle(LINE_COLOURS), itertools.cycle(DASHES))


class Line(NamedTuple):
    """One curve; where `faint` is true it says nothing, and is drawn faintly."""

    label: str
    x: Floats
    y: Floats
    faint: NDArray[np.bool_] | None = None


def curves(
    lines: Sequence[Line],
    *,
    title: str,
    ylabel: str,
    limit: Line | None = None,
    mark: float | None = None,
) -> Figure:
    """Curves against the horizon, with a dotted limit and a mark at one horizon, on logarithmic axes."""
    drawn = PaperFigure(figsize=PLAIN_SIZE, layout="constrained")
    axes = drawn.subplots()
    for (colour, dash), line in zip(_line_styles(), lines, strict=False):
        dashes = dash or (None, None)
        y = np.where(np.isfinite(line.y) & (line.y > 0), line.y, np.nan)
        faint = np.zeros(y.size, bool) if line.faint is None else line.faint
        if faint.any():
            axes.plot(line.x, y, color=colour, dashes=dashes, lw=1.2, alpha=0.3)
        axes.plot(line.x, np.where(faint, np.nan, y), color=colour, dashes=dashes, lw=1.8, label=line.label)
    if mark is not None:
        axes.axvline(mark, color="#7F7F7F", lw=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if limit is not None:  # the axis ends about the limit, and at most a thousand times as high
        axes.plot(limit.x, limit.y, color="#000000", lw=1.0, ls=":", label=limit.label)
        highest = max(float(np.nanmax(line.y, initial=0.0, where=np.isfinite(line.y))) for line in lines)
        top = max(float(np.max(limit.y)), min(highest, 1e3 * float(np.max(limit.y))))
        axes.set_ylim(max(1.0, 0.5 * float(np.min(limit.y))), 2.0 * top)
    axes.set_xlabel("horizon T")
    axes.set_ylabel(ylabel)
    axes.set_title(title, loc="left", fontsize=10)
    _plain_frame(axes)
    axes.legend(frameon=False, fontsize=8, handlelength=3.2)
    return drawn
