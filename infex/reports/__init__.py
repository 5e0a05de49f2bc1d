"""Figures and the self-contained page; the only room that knows a plotting library."""

from infex.reports.figures import draw, figure
from infex.reports.page import Verdict, page

__all__ = ["Verdict", "draw", "figure", "page"]
