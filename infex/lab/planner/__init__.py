"""How rarely may one explore? The answer for a user's own problem, by simulation."""

from infex.lab.planner.planner import plan
from infex.lab.planner.report import Plan

__all__ = ["Plan", "plan"]
