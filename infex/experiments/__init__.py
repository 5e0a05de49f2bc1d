"""Sweeps: many runs on a laptop or a cluster, kept as they come, read as one table.

What plays runs needs no tables: workers load neither pyarrow nor joblib.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infex.experiments.results import Results
    from infex.experiments.sweep import Sweep

__all__ = ["Results", "Sweep"]


def __getattr__(name: str) -> object:
    """`Results` and `Sweep`, loaded when they are asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return vars(import_module(f"infex.experiments.{name.lower()}"))[name]
