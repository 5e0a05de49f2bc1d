"""Figures for papers: regret with its spread on the left, computation time on the right."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from infex._stats import mean_intervals, spread
from infex.arrays import Floats
from infex.checks import one_of
from infex.errors import InvalidSetting
from infex.files import replace
from infex.lab.reports.series import (
    DASHES,
    LOOKS,
    OTHER_COLOURS,
    Look,
    Strip,
    Style,
    plain_frame,
    played,
    small_legend,
    strip,
    styles,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from infex.lab.results import Cell, Results


DRAWN_BY = "drawn by infex"  # a figure that says so is ours to replace
FIGURE_DPI = 150
SVG_SALT = "infex"  # without it, the ids in an SVG are random
FORMATS: dict[str, dict[str, Any]] = {  # what a file says of itself; a date would differ in every run
    "png": {"Software": DRAWN_BY},
    "svg": {"Creator": DRAWN_BY, "Date": None},
    "pdf": {"Creator": DRAWN_BY, "CreationDate": None},
}


def file_settings() -> AbstractContextManager[None]:
    """Settings of matplotlib with which every file is written, while the context is open.

    Fonts in PDF and PostScript are TrueType (Type 42): many conferences refuse matplotlib's default, Type 3.
    """
    from matplotlib import rc_context

    return rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.hashsalt": SVG_SALT})


def picture(figure: Figure, kind: str) -> bytes:
    """A figure in one of the formats."""
    sink = BytesIO()
    with file_settings():
        figure.savefig(sink, format=kind, dpi=FIGURE_DPI, metadata=FORMATS[kind])
    return sink.getvalue()


def placed_picture(figure: Figure, kind: str) -> bytes:
    """The same, of a figure whose parts have their places: `savefig` would draw it once more for them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    sink = BytesIO()
    write: dict[str, Any] = {
        "png": FigureCanvasAgg.print_png,
        "svg": FigureCanvasSVG.print_svg,
        "pdf": FigureCanvasPdf.print_pdf,
    }
    canvas = {"png": FigureCanvasAgg, "svg": FigureCanvasSVG, "pdf": FigureCanvasPdf}[kind](figure)
    figure.set_dpi(FIGURE_DPI)
    with file_settings():
        write[kind](canvas, sink, metadata=FORMATS[kind])
    return sink.getvalue()


def format_of(path: Path) -> str:
    """The format that a file's name asks for, if it can be drawn."""
    kind = path.suffix[1:].lower()
    if kind not in FORMATS:
        raise InvalidSetting(f"a picture is a file .png, .svg or .pdf, got {path}")
    return kind


def write_figure(figure: Figure, path: Path) -> Path:
    """Writes a figure in the format that the file's name says."""
    replace(path, picture(figure, format_of(path)))
    return path


FIGURE_WIDTH = 10.5  # inches
LETTER_SIZE = 9  # points
LEGEND_LINE = 0.18  # inches
NAME_WIDTH = 100  # characters in a line of the legend
NAME_WIDTH_BESIDE_TIMES = 34  # characters
LINES_WITH_BANDS = 9  # the bands of more lines would cover each other
FIGURE_FILE = re.compile(rf"figure\d+\.({'|'.join(FORMATS)})")


def figure(results: Results, dim: int | None = None, *, show: Look = "std", log: bool = False) -> Figure:
    """A matplotlib figure with a row for each problem, or each of one dimension, in the `show` of `strip`.

    With `log` both axes of regret are logarithmic.
    """
    from infex.lab.reports.paper_figure import PaperFigure

    cells = [cell for cell in results.cells if dim in (None, cell.dim)]
    if not cells:
        raise InvalidSetting("there is nothing to draw: no run went well")
    looks = styles(results.policies, results.bases, results.rules)
    heights = [_height(played(results, cell)) for cell in cells]
    labels = [policy for policy in results.policies if any(results.has(cell, policy) for cell in cells)]
    names = [_wrapped(label, NAME_WIDTH) for label in labels]
    columns = _columns(names)
    below = 0.55 + LEGEND_LINE * sum(name.count("\n") + 1 for name in names) / columns
    drawn = PaperFigure(figsize=(FIGURE_WIDTH, sum(heights) + below), layout="constrained")
    axes = drawn.subplots(len(cells), 2, squeeze=False, width_ratios=(3, 2), height_ratios=heights)
    for (left, right), cell in zip(axes, cells, strict=True):
        _regret(left, results, cell, looks, show, log)
        _time(right, results, cell, looks)
    axes[-1][0].set_xlabel("round")
    axes[-1][1].set_xlabel("time a run: dots are medians")
    lines = {line.get_label(): line for left, _ in axes for line in left.get_lines()}
    handles = [lines[label] for label in labels]
    drawn.legend(
        handles,
        names,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=3.2,
        fontsize=LETTER_SIZE,
    )
    return drawn


def _wrapped(name: str, width: int) -> str:
    """A name in at most two lines of `width` characters."""
    return "\n".join(textwrap.wrap(name, width, max_lines=2, placeholder=" ..."))


def _columns(names: list[str]) -> int:
    """The columns of a legend: as many as have room for the longest name, at most 4, of at least 3 names."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=LETTER_SIZE)
    lines = [line for name in names for line in name.split("\n")]
    longest = max(text_to_path.get_text_width_height_descent(line, font, False)[0] for line in lines) / 72
    return max(1, min(int((FIGURE_WIDTH - 0.2) / (longest + 0.75)), 4, -(-len(names) // 3)))


def _height(policies: list[str]) -> float:
    """Inches for one problem: enough for the names beside its times."""
    most = max(_wrapped(policy, NAME_WIDTH_BESIDE_TIMES).count("\n") + 1 for policy in policies)
    return max(3.1, 0.7 + (0.05 + 0.135 * most) * len(policies))


def write_figures(
    figures: Mapping[int, Mapping[str, bytes]], folder: Path, numbers: Mapping[int, int] | None = None
) -> list[Path]:
    """Writes the figure of each dimension, in every format; the files. Earlier figures of ours are removed.

    `numbers` are those of the figures, by dimension; without them figures count from 1.
    """
    numbers = numbers or {dim: number for number, dim in enumerate(figures, 1)}
    written = [path for dim in figures for path in _write(figures[dim], folder / f"figure{numbers[dim]}")]
    for path in folder.iterdir():
        if path not in written and _is_drawn_by_us(path):
            path.unlink()
    return written


def _write(pictures: Mapping[str, bytes], name: Path) -> Iterator[Path]:
    """Writes a figure in every format; each file once it is there."""
    for kind, data in pictures.items():
        path = name.with_suffix(f".{kind}")
        replace(path, data)
        yield path


def _is_drawn_by_us(path: Path) -> bool:
    return bool(FIGURE_FILE.fullmatch(path.name)) and DRAWN_BY.encode() in path.read_bytes()


def rendered(results: Results, dim: int, *, show: Look = "std", log: bool = False) -> dict[str, bytes]:
    """The figure of one dimension in every format."""
    from matplotlib import rc_context

    with rc_context({"font.size": LETTER_SIZE}):
        drawn = figure(results, dim, show=show, log=log)
        _place(drawn)
        return {kind: placed_picture(drawn, kind) for kind in FORMATS}


def _place(drawn: Figure) -> None:
    """Places all parts of a figure, once: the engine would do it anew for each format."""
    if engine := drawn.get_layout_engine():
        engine.execute(drawn)
    drawn.set_layout_engine("none")


def _regret(axes: Axes, results: Results, cell: Cell, looks: dict[str, Style], show: Look, log: bool) -> None:
    """Regret with a band about each line, or with bars at the end where lines are many."""
    strips = {policy: strip(results, cell, policy, show) for policy in played(results, cell)}
    for place, (policy, each) in enumerate(strips.items()):
        _draw_line(axes, each, looks[policy], policy)
        if each.has_band and len(strips) > LINES_WITH_BANDS:
            _draw_bar(axes, each, looks[policy].colour, place / len(strips))
        elif each.has_band:
            _draw_band(axes, each, looks[policy].colour)
    _scale_axes(axes, list(strips.values()), log)
    axes.set_ylabel(_regret_label(list(strips.values()), show))
    axes.set_title(results.title(cell), loc="left", fontsize=10)
    _quiet(axes)


def _draw_line(axes: Axes, each: Strip, look: Style, policy: str) -> None:
    dashes = look.dash or (None, None)
    axes.plot(each.rounds, each.line, color=look.colour, dashes=dashes, lw=1.5, label=policy)


def _draw_band(axes: Axes, each: Strip, colour: str) -> None:
    axes.fill_between(each.rounds, each.low, each.high, color=colour, alpha=0.09, lw=0)


def _draw_bar(axes: Axes, each: Strip, colour: str, place: float) -> None:
    """The last band of a line, behind its last round; `place` from 0 to 1 is that among all bars."""
    end = each.rounds[-1] * (1.02 + 0.2 * place)
    axes.vlines(end, each.low[-1], each.high[-1], color=colour, lw=1.2, alpha=0.8)
    axes.plot(end, each.line[-1], ".", color=colour, ms=4)


def _regret_label(strips: list[Strip], show: Look) -> str:
    if not any(each.has_band for each in strips):
        return "regret: median" if show == "median" else "regret"
    centre, spread = LOOKS[show].split(", ")
    many = len(strips) > LINES_WITH_BANDS
    return f"regret: {centre}; bars: {spread} at the end" if many else f"regret: {centre}, bands of {spread}"


def _scale_axes(axes: Axes, strips: list[Strip], log: bool) -> None:
    top = max(float(each.high.max()) for each in strips)
    if log and top > 0:  # no logarithm shows what is nil throughout
        _log_axes(axes, min(_least(each.line, top) for each in strips), top)
    else:
        _plain_axes(axes, int(strips[-1].rounds[-1]), top)


def _plain_axes(axes: Axes, last: int, top: float) -> None:
    """Both from 0, with few ticks of rounds."""
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(0, 1.04 * top or 1)
    axes.set_xlim(left=0)
    axes.set_xticks([t for t in MaxNLocator(5, integer=True).tick_values(0, last) if t <= last])


def _log_axes(axes: Axes, least: float, top: float) -> None:
    """Both logarithmic; regret from its least line on."""
    axes.set_xscale("log")
    axes.set_yscale("log", nonpositive="mask")
    axes.set_ylim(least / 1.3, 1.3 * top)


def _least(line: Floats, top: float) -> float:
    """The least number above 0, or a ten-thousandth of the greatest of all if that is more."""
    return max(float(np.min(line, where=line > 0, initial=top)), 1e-4 * top)


def _time(axes: Axes, results: Results, cell: Cell, looks: dict[str, Style]) -> None:
    """Median computation time; every run is a short mark."""
    shown = list(reversed(played(results, cell)))
    seconds = [np.maximum(results.seconds(cell, policy), 1e-9) for policy in shown]
    for place, policy in enumerate(shown):
        _draw_times(axes, seconds[place], place, looks[policy].colour)
    _name_rows(axes, shown)
    _scale_times(axes, min(float(each.min()) for each in seconds), max(float(each.max()) for each in seconds))
    _quiet(axes)


def _draw_times(axes: Axes, seconds: Floats, place: int, colour: str) -> None:
    axes.plot(seconds, np.full(seconds.size, place), "|", color=colour, alpha=0.35, ms=6)
    axes.plot(np.median(seconds), place, "o", color=colour, ms=5)


def _name_rows(axes: Axes, policies: list[str]) -> None:
    names = [_wrapped(policy, NAME_WIDTH_BESIDE_TIMES) for policy in policies]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(-0.6, len(names) - 0.4)


def _scale_times(axes: Axes, low: float, high: float) -> None:
    axes.set_xscale("log")
    axes.set_xlim(low / 1.25, high * 1.25)
    few = ticks(low / 1.2, high * 1.2)
    axes.set_xticks(few, [duration(tick) for tick in few])
    axes.set_xticks([], minor=True)


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


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(0.00035), duration(0.02), duration(30)
    ('350 µs', '20 ms', '30 s')
    """
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= 0.9999 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def _quiet(axes: Axes) -> None:
    plain_frame(axes)
    axes.set_axisbelow(True)


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
    from infex.lab.reports.paper_figure import PaperFigure

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
    from infex.lab.reports.paper_figure import PaperFigure

    drawn = PaperFigure(figsize=(8.0, 5.0), layout="constrained")
    axes = drawn.subplots()
    given = list(lines)
    for place, line in enumerate(given):
        _draw_curve(axes, line, CURVE_COLOURS[place % len(CURVE_COLOURS)], DASHES[place % len(DASHES)])
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


def _draw_curve(axes: Axes, line: Line, colour: str, dash: tuple[float, ...]) -> None:
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
