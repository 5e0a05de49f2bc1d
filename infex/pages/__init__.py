"""Self-contained pages: HTML, one chart script and one style sheet for all of them.

The charts are drawn by a script of our own, `chart.js`, because neither library whose script comes with a
Python package fits a page below 1 MB: Bokeh's script alone has 1.27 MB, and Vega's, which Altair takes from
an extension module of 88 MB (vl-convert), has 0.9 MB, makes functions from text, which the service's content
security policy forbids, and has no cursor for the keyboard.
"""

from infex.pages.html import breakable, chart, rounded, shell, table, tools

__all__ = ["breakable", "chart", "rounded", "shell", "table", "tools"]
