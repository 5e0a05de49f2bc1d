"""Ridge statistics: what was learnt, and what a policy may read of it."""

from infex.arrays import columns_of
from infex.kernels import radius
from infex.linear.evidence import Evidence
from infex.linear.memory import Memory
from infex.linear.offer import Offer
from infex.linear.ridge import Ridge

__all__ = ["Evidence", "Memory", "Offer", "Ridge", "columns_of", "radius"]
