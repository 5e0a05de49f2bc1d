"""Playing policies on environments."""

from infex.simulation.playing import play
from infex.simulation.run import Run

__all__ = ["Run", "play"]
