"""A bandit for use: ask and tell, save and load."""

from infex.bandit.bandit import Bandit
from infex.bandit.changes import Changes
from infex.bandit.decision import Decided, Decision
from infex.bandit.decisions import Decisions
from infex.rounds import Exploration

__all__ = ["Bandit", "Changes", "Decided", "Decision", "Decisions", "Exploration"]
