"""All that a reader of a sweep gets: figures and the page, drawn from the table."""

from __future__ import annotations

from pathlib import Path

from infex.experiments import paper
from infex.experiments.results import Results
from infex.files import replace
from infex.reports import draw, page

TITLE = "Infrequent exploration in linear bandits"


def write_report(results: Results, folder: Path) -> list[Path]:
    """Writes the figures and `report.html` in place of earlier ones; the files."""
    written = draw(results, folder)
    target = folder / "report.html"
    title = results.about.get("title") or TITLE
    replace(target, page(results, title, paper.verdicts(results), paper.caveat(results)).encode())
    return [*written, target]
