"""Figures whose files publishers accept. This module loads matplotlib: import it where a figure is drawn."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from infex.lab.reports.figures import file_settings


class PaperFigure(Figure):
    """A matplotlib figure that is written with the settings of all our files, also by its own `savefig`."""

    def savefig(self, *args: Any, **settings: Any) -> None:
        """As `matplotlib.figure.Figure.savefig`."""
        with file_settings():
            super().savefig(*args, **settings)
