"""All that a reader of a sweep gets: figures and the page, drawn from the table."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import joblib

from infex.files import replace
from infex.lab import paper
from infex.lab.reports.figures import rendered, write_figures
from infex.lab.reports.page import page
from infex.lab.reports.series import Look
from infex.lab.results import Results
from infex.lab.simulation.simulator import cores

DEFAULT_TITLE = "Infrequent exploration in linear bandits"


def write_report(results: Results, folder: Path, show: Look = "std", log: bool = False) -> list[Path]:
    """Writes the figures, as `results.plot` would, and `report.html` in place of earlier ones; the files."""
    dims = sorted({cell.dim for cell in results.cells})
    drawing = [partial(rendered, results, dim, show=show, log=log) for dim in dims]
    jobs = [partial(report_page, results), *drawing]
    text, *figures = joblib.Parallel(n_jobs=min(cores(), len(jobs)))(joblib.delayed(job)() for job in jobs)
    written = write_figures(dict(zip(dims, figures, strict=True)), folder, paper.figures(results))
    replace(folder / "report.html", text.encode())
    return [*written, folder / "report.html"]


def report_page(results: Results) -> str:
    """The report as one self-contained page, with the claims of the paper that these runs can tell of."""
    title = results.about.get("title") or DEFAULT_TITLE
    if claims := paper.verdicts(results):
        return page(results, title, claims, paper.caveat(results))
    return page(results, title, paper.changing_verdicts(results), heading=paper.CHANGING_HEADING)
