"""Feature maps: what a context and each arm are together, as one row of features for each arm.

For people used to libraries of contexts and arms: a bandit with a map is asked with a context, and
all arms of the map are on offer in every round.

>>> from infex import Bandit, LinUCB
>>> bandit = Bandit(features=disjoint(["tea", "coffee"], context_dim=2), policy=LinUCB())
>>> bandit.ask(context=[0.6, 0.8]).label
'tea'
"""

from infex.features.disjoint_arms import Disjoint, disjoint
from infex.features.encoder import Encoded, EncodedMany, Encoder
from infex.features.feature_map import FeatureMap
from infex.features.hybrid_arms import Hybrid, HybridTheta, hybrid
from infex.features.interactions import Interactions, interactions
from infex.features.joining import Joined, joined
from infex.features.shortening import Shortened, shortened
from infex.features.table_encoding import ContextTable, table
from infex.features.transforming import Transformed, transformed

__all__ = [
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
    "Shortened",
    "Transformed",
    "disjoint",
    "hybrid",
    "interactions",
    "joined",
    "shortened",
    "table",
    "transformed",
]
