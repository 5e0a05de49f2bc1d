"""LinUCB."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.linear import Evidence
from infex.policies.confidence import Confidence
from infex.policies.protocol import Choice
from infex.policies.ties import pick, share


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinUCB(Confidence):
    """Plays the arm of the largest x'theta + beta |x| in V^-1 (OFUL; Abbasi-Yadkori et al., 2011)."""

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The arm of the largest upper bound."""
        return Choice(pick(evidence.upper(self.radius(evidence)), self.ties, rng))

    def probability(self, t: int, evidence: Evidence, arm: int) -> float:
        """1 for the arm of the largest upper bound; shared among ties that are broken at random."""
        return share(evidence.upper(self.radius(evidence)), self.ties, arm)
