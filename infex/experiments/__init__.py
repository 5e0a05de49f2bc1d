"""Sweeps: many runs on a laptop or a cluster, kept as they come, read as one table."""

from infex.experiments.results import Results
from infex.experiments.sweep import Sweep

__all__ = ["Results", "Sweep"]
