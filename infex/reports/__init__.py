"""Figures and the self-contained page; the only room that knows a plotting library."""

from infex.reports.figures import draw, figure
from infex.reports.page import page

__all__ = ["draw", "figure", "page"]
