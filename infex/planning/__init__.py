"""How rarely may one explore? The answer for a user's own problem, by simulation."""

from infex.planning.planner import Plan, plan

__all__ = ["Plan", "plan"]
