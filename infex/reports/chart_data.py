"""What the charts of a page draw, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from infex.reports.shown import Floats, P, Shown, played
from infex.reports.strips import strip
from infex.reports.styles import Style


def chart_data(results: Shown[P], looks: dict[str, Style]) -> dict[str, Any]:
    """A chart for each problem, with a line for each policy that has runs of it."""
    return {"cells": [_chart(results, cell, looks) for cell in results.cells]}


def on_page(colour: str) -> str:
    """A colour as the page has it: black is that of the text, which is light on a dark page."""
    return "currentColor" if colour == "#000000" else colour


def _chart(results: Shown[P], cell: P, looks: dict[str, Style]) -> dict[str, Any]:
    lines = [_line(results, cell, policy, looks[policy]) for policy in played(results, cell)]
    last = max((line["rounds"][-1] for line in lines), default=1)
    return {"label": cell.environment, "lines": lines, "horizon": last}


def _line(results: Shown[P], cell: P, policy: str, look: Style) -> dict[str, Any]:
    drawn = {"policy": policy, "colour": on_page(look.colour), "dash": list(look.dash)}
    regret = _means(results, cell, policy) | _ranges(results, cell, policy)
    return drawn | regret | _times(results, cell, policy)


def _means(results: Shown[P], cell: P, policy: str) -> dict[str, Any]:
    rounds, mean, std = results.band(cell, policy)
    return {"rounds": rounds.tolist(), "mean": _short(mean), "std": _short(std)}


def _ranges(results: Shown[P], cell: P, policy: str) -> dict[str, Any]:
    inner, middle = strip(results, cell, policy, "interval"), strip(results, cell, policy, "median")
    quartiles = [_short(middle.low), _short(middle.line), _short(middle.high)]
    return {"interval": [_short(inner.low), _short(inner.high)], "quartiles": quartiles}


def _times(results: Shown[P], cell: P, policy: str) -> dict[str, Any]:
    seconds = results.seconds(cell, policy)
    middle = np.array([max(float(np.median(seconds)), 1e-9)])
    return {"times": _short(np.maximum(seconds, 1e-9)), "time": _short(middle)[0]}


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in values.tolist()]
