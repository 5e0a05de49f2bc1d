"""Figures whose files publishers accept. This module loads matplotlib: import it where a figure is drawn."""

from __future__ import annotations

from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from infex.reports.figure_files import FONT_SETTINGS


class PaperFigure(Figure):
    """A matplotlib figure whose `savefig` embeds TrueType fonts (Type 42) in PDF and PostScript files.

    matplotlib's default is Type 3, which the checks of many conferences and publishers refuse.
    """

    def savefig(self, *args: Any, **settings: Any) -> None:
        """As `matplotlib.figure.Figure.savefig`."""
        with rc_context(FONT_SETTINGS):
            super().savefig(*args, **settings)
