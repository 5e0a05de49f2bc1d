"""The uniform policy."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.linear import Evidence
from infex.policies.protocol import Choice


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Plays an arm drawn uniformly."""

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """Any arm."""
        return Choice(int(rng.integers(len(evidence))))

    def probability(self, t: int, evidence: Evidence, arm: int) -> float:
        """1/K for every arm."""
        return 1.0 / len(evidence)
