"""Figures and the self-contained page; the only room that knows a plotting library."""

from infex.lab.reports.figures import figure, rendered, setting_figure, write_figures
from infex.lab.reports.page import page

__all__ = ["figure", "page", "rendered", "setting_figure", "write_figures"]
