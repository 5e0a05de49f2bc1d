"""Ridge statistics: what was learnt, and what a policy may read of it."""

from infex.linear.known import Known
from infex.linear.memory import Memory
from infex.linear.offers import InBlock, InContext, Layout, Offer, On, Radius, Separate
from infex.linear.posterior import Posterior
from infex.linear.regression import RidgeStatistics
from infex.linear.spent import Spent

__all__ = [
    "InBlock",
    "InContext",
    "Known",
    "Layout",
    "Memory",
    "Offer",
    "On",
    "Posterior",
    "Radius",
    "RidgeStatistics",
    "Separate",
    "Spent",
]
