"""Feature maps: what a context and each arm are together, as one row of features for each arm.

For people used to libraries of contexts and arms: a bandit with a map is asked with a context, and
all arms of the map are on offer in every round.

>>> from infex import Bandit, LinUCB
>>> bandit = Bandit(features=disjoint(["tea", "coffee"], context_dim=2), policy=LinUCB())
>>> bandit.ask(context=[0.6, 0.8]).label
'tea'
"""

from infex.features.base import Encoded, EncodedMany, Encoder, FeatureMap
from infex.features.custom import Joined, Transformed, joined, transformed
from infex.features.disjoint import Disjoint, disjoint
from infex.features.hybrid import Hybrid, HybridTheta, hybrid
from infex.features.interactions import Interactions, interactions
from infex.features.kernels import kernel, rbf
from infex.features.table import ContextTable, table
from infex.features.vectors import ClipNorm, clip_norm

__all__ = [
    "ClipNorm",
    "ContextTable",
    "Disjoint",
    "Encoded",
    "EncodedMany",
    "Encoder",
    "FeatureMap",
    "Hybrid",
    "HybridTheta",
    "Interactions",
    "Joined",
    "Transformed",
    "clip_norm",
    "disjoint",
    "hybrid",
    "interactions",
    "joined",
    "kernel",
    "rbf",
    "table",
    "transformed",
]
