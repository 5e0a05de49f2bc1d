"""Playing policies on environments."""

from infex.lab.simulation.simulator import Run, play, play_many

__all__ = ["Run", "play", "play_many"]
