"""Figures, LaTeX tables and the self-contained page of a sweep."""
