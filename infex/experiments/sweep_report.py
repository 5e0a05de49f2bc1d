"""All that a reader of a sweep gets: figures and the page, drawn from the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import joblib

from infex.experiments import changing_arms, paper
from infex.experiments.results import Results
from infex.files import replace
from infex.reports import draw, page
from infex.reports.strips import Look
from infex.simulation.many import cores

Picture = TypeVar("Picture")

DEFAULT_TITLE = "Infrequent exploration in linear bandits"


def write_report(results: Results, folder: Path, show: Look = "std", log: bool = False) -> list[Path]:
    """Writes the figures, as `results.plot` would, and `report.html` in place of earlier ones; the files."""
    written = draw(results, folder, paper.figures(results), _on_all_cores, show=show, log=log)
    target = folder / "report.html"
    title = results.about.get("title") or DEFAULT_TITLE
    if claims := paper.verdicts(results):
        text = page(results, title, claims, paper.caveat(results))
    else:
        text = page(results, title, changing_arms.verdicts(results), heading=changing_arms.CHANGING_HEADING)
    replace(target, text.encode())
    return [*written, target]


def _on_all_cores(draw_one: Callable[[int], Picture], dims: list[int]) -> Iterable[Picture]:
    """A `map` that draws figures in processes of their own, where there are several."""
    workers = min(cores(), len(dims))
    if workers < 2:
        return map(draw_one, dims)
    figures: Iterable[Picture] = joblib.Parallel(n_jobs=workers)(
        joblib.delayed(draw_one)(dim) for dim in dims
    )
    return figures
