"""Learners and models of other libraries as policies: bases of `Infex`, or models of its greedy rounds.

Nothing is imported here: what is handed over brings its own library.
"""

from infex.adapters.coba import from_coba
from infex.adapters.mabwiser import from_mabwiser
from infex.adapters.river import from_river
from infex.adapters.scikit_learn import from_sklearn

__all__ = ["from_coba", "from_mabwiser", "from_river", "from_sklearn"]
