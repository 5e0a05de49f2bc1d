"""Playing policies on environments."""

from infex.lab.simulation.run import Run
from infex.lab.simulation.simulator import play, play_many

__all__ = ["Run", "play", "play_many"]
