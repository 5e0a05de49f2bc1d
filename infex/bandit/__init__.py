"""A bandit for use: ask and tell, save and load."""

from infex.bandit.bandit import Bandit
from infex.bandit.decision import Decided, Decision
from infex.rounds import Exploration

__all__ = ["Bandit", "Decided", "Decision", "Exploration"]
