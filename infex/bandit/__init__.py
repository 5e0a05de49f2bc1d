"""A bandit for use: ask and tell, save and load."""

from infex.bandit.bandit import Bandit
from infex.bandit.decision import Decision, DecisionRecord, Decisions
from infex.bandit.exploration import Exploration
from infex.bandit.replication import Changes

__all__ = ["Bandit", "Changes", "Decision", "DecisionRecord", "Decisions", "Exploration"]
