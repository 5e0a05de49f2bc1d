"""All that a reader of a sweep gets: figures and the page, drawn from the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib

from infex.files import replace
from infex.lab import paper
from infex.lab.reports import page, rendered, write_figures
from infex.lab.reports.series import Look
from infex.lab.results import Results
from infex.lab.simulation.simulator import cores

DEFAULT_TITLE = "Infrequent exploration in linear bandits"


def write_report(results: Results, folder: Path, show: Look = "std", log: bool = False) -> list[Path]:
    """Writes the figures, as `results.plot` would, and `report.html` in place of earlier ones; the files."""
    dims = sorted({cell.dim for cell in results.cells})
    drawing = [partial(rendered, results, dim, show=show, log=log) for dim in dims]
    text, *figures = _on_all_cores([partial(_page, results), *drawing])
    written = write_figures(dict(zip(dims, figures, strict=True)), folder, paper.figures(results))
    target = folder / "report.html"
    replace(target, text.encode())
    return [*written, target]


def _page(results: Results) -> str:
    title = results.about.get("title") or DEFAULT_TITLE
    if claims := paper.verdicts(results):
        return page(results, title, claims, paper.caveat(results))
    return page(results, title, paper.changing_verdicts(results), heading=paper.CHANGING_HEADING)


def _on_all_cores(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each job gives; in processes of their own, where there are several."""
    workers = min(cores(), len(jobs))
    if workers < 2:
        return [job() for job in jobs]
    found: list[Any] = joblib.Parallel(n_jobs=workers)(joblib.delayed(job)() for job in jobs)
    return found
