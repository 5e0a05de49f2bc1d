"""A bandit for use: ask and tell, save and load."""

from infex.bandit.bandit import Bandit
from infex.bandit.decision import Decision, Exploration

__all__ = ["Bandit", "Decision", "Exploration"]
