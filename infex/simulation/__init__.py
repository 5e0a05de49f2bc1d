"""Playing policies on environments."""

from infex.simulation.run import Run
from infex.simulation.simulator import play, play_many

__all__ = ["Run", "play", "play_many"]
