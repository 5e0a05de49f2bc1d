"""All that a reader of a sweep gets: figures and the page, drawn from the table."""

from __future__ import annotations

from pathlib import Path

from infex.experiments import contexts, paper
from infex.experiments.results import Results
from infex.files import replace
from infex.reports import draw, page

TITLE = "Infrequent exploration in linear bandits"


def write_report(results: Results, folder: Path) -> list[Path]:
    """Writes the figures and `report.html` in place of earlier ones; the files."""
    written = draw(results, folder, paper.figures(results))
    target = folder / "report.html"
    title = results.about.get("title") or TITLE
    if found := paper.verdicts(results):
        text = page(results, title, found, paper.caveat(results))
    else:
        text = page(results, title, contexts.verdicts(results), heading=contexts.HEADING)
    replace(target, text.encode())
    return [*written, target]
