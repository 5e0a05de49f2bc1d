"""How rarely may one explore? The answer for a user's own problem, by simulation."""

from infex.lab.planner.planner import Plan, plan

__all__ = ["Plan", "plan"]
