"""How rarely may one explore? The answer for a user's own problem, by simulation."""

from infex.planning.answer import Plan
from infex.planning.planner import plan

__all__ = ["Plan", "plan"]
