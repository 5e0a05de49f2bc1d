"""Ridge statistics: what was learnt, and what a policy may read of it."""

from infex.linear.evidence import Evidence, Spent
from infex.linear.known import Known, Learnt
from infex.linear.memory import Memory
from infex.linear.regression import RidgeStatistics

__all__ = ["Evidence", "Known", "Learnt", "Memory", "RidgeStatistics", "Spent"]
