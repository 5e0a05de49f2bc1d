"""Figures as bytes and as files: the same figure gives the same bytes in every run."""

from __future__ import annotations

from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infex.errors import InvalidSetting
from infex.files import replace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
