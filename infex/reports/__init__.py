"""Figures and the self-contained page; the only room that knows a plotting library."""

from infex.reports.figures import draw, figure
from infex.reports.page import page
from infex.reports.setting_figures import setting_figure

__all__ = ["draw", "figure", "page", "setting_figure"]
