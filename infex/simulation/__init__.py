"""Playing policies on environments."""

from infex.simulation.many import play_many
from infex.simulation.playing import play
from infex.simulation.run import Run

__all__ = ["Run", "play", "play_many"]
