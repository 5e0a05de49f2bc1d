"""Figures for papers: regret with its spread on the left, computation time on the right."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from infex.errors import InvalidSetting
from infex.files import replace
from infex.reports.styles import P, Shown, Style, styles

NAME = "drawn by infex"  # by which a figure of ours is known
FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": NAME},
    "svg": {"Creator": NAME, "Date": None},
    "pdf": {"Creator": NAME, "CreationDate": None},
}
OURS = re.compile(rf"figure\d+\.({'|'.join(FORMATS)})")


def figure(results: Shown[P], dim: int | None = None) -> Any:
    """A matplotlib figure with a row for each problem of one dimension."""
    from matplotlib.figure import Figure

    dims = sorted({cell.dim for cell in results.cells})
    dim = dims[0] if dim is None and dims else dim
    cells = [cell for cell in results.cells if cell.dim == dim]
    if not cells:
        raise InvalidSetting(f"there are no runs of dimension {dim}; there are {dims}")
    looks = styles(results.policies, results.bases)
    drawn = Figure(figsize=(10.5, 3.1 * len(cells) + 1.3), layout="constrained")
    axes = drawn.subplots(len(cells), 2, squeeze=False, width_ratios=(3, 2))
    for (left, right), cell in zip(axes, cells, strict=True):
        _regret(left, results, cell, looks)
        _time(right, results, cell, looks)
    axes[-1][0].set_xlabel("round")
    axes[-1][1].set_xlabel("seconds a run (median)")
    lines = {line.get_label(): line for left, _ in axes for line in left.get_lines()}
    labels = [policy for policy in results.policies if policy in lines]
    handles = [lines[label] for label in labels]
    columns = max(1, min(4, -(-len(labels) // 3)))
    drawn.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, handlelength=3.2)
    return drawn


def draw(results: Shown[P], folder: Path) -> list[Path]:
    """Writes a figure for each dimension, in every format; the files. Other figures of ours go."""
    from matplotlib import rc_context

    written = []
    with rc_context({"svg.hashsalt": "infex", "font.size": 9}):
        for number, dim in enumerate(sorted({cell.dim for cell in results.cells}), 1):
            drawn = figure(results, dim)
            drawn.draw_without_rendering()
            drawn.set_layout_engine("none")  # which would place all anew for every format
            for kind, facts in FORMATS.items():
                path, sink = folder / f"figure{number}.{kind}", BytesIO()
                drawn.savefig(sink, format=kind, dpi=150, metadata=facts)
                replace(path, sink.getvalue())
                written.append(path)
    for path in folder.iterdir():
        if OURS.fullmatch(path.name) and path not in written and NAME.encode() in path.read_bytes():
            path.unlink()
    return written


def _regret(axes: Any, results: Shown[P], cell: P, looks: dict[str, Style]) -> None:
    """Mean regret, with one standard deviation about it."""
    top = 0.0
    for policy in results.policies:
        if not results.has(cell, policy):
            continue
        rounds, mean, std = results.band(cell, policy)
        look = looks[policy]
        axes.plot(rounds, mean, color=look.colour, dashes=look.dash or (None, None), lw=1.5, label=policy)
        if std.any():
            axes.fill_between(rounds, mean - std, mean + std, color=look.colour, alpha=0.06, lw=0)
        top = max(top, float(mean.max()))
    axes.set_ylim(0, 1.15 * top or 1)
    axes.set_xlim(left=0)
    axes.set_ylabel("regret")
    axes.set_title(results.title(cell), loc="left", fontsize=10)
    _quiet(axes)


def _time(axes: Any, results: Shown[P], cell: P, looks: dict[str, Style]) -> None:
    """Median computation time; every run is a dot."""
    shown = [policy for policy in results.policies if results.has(cell, policy)]
    for place, policy in enumerate(reversed(shown)):
        seconds, look = np.maximum(results.seconds(cell, policy), 1e-9), looks[policy]
        axes.plot(seconds, np.full(seconds.size, place), "|", color=look.colour, alpha=0.35, ms=6)
        axes.plot(np.median(seconds), place, "o", color=look.colour, ms=5)
    axes.set_yticks(range(len(shown)), list(reversed(shown)), fontsize=8)
    axes.set_xscale("log")
    _quiet(axes)


def _quiet(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, lw=0.6)
    axes.set_axisbelow(True)
