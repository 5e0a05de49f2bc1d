"""All that a reader of a sweep gets: figures and the page, drawn from the table."""

from __future__ import annotations

from pathlib import Path

from infex.experiments import paper
from infex.experiments.results import Results
from infex.files import replace
from infex.reports import draw, page

TITLE = "Infrequent exploration in linear bandits"


def write_report(results: Results, folder: Path, title: str = TITLE) -> list[Path]:
    """Writes the figures and `report.html`; the files."""
    written = draw(results, folder)  # type: ignore[arg-type]
    target = folder / "report.html"
    replace(target, page(results, title, paper.verdicts(results)).encode())
    return [*written, target]
