"""LinUCB with a constant bonus."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.checks import one_of, real
from infex.linear import Evidence
from infex.policies.protocol import Choice
from infex.policies.ties import TIES, Ties, pick, share


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FixedBonusUCB:
    """Plays the arm of the largest x'theta + bonus |x| in V^-1 (Li, Chu, Langford and Schapire, 2010).

    This is what many libraries call LinUCB. The bonus (alpha) stays the same, where that of
    `LinUCB` follows the theory and is far wider.
    """

    bonus: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bonus", real("bonus", self.bonus, least=0))
        one_of("ties", self.ties, TIES)

    def radius(self, evidence: Evidence) -> float:
        """The bonus."""
        return self.bonus

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The arm of the largest upper bound."""
        return Choice(pick(evidence.upper(self.bonus), self.ties, rng))

    def probability(self, t: int, evidence: Evidence, arm: int) -> float:
        """1 for the arm of the largest upper bound; shared among ties that are broken at random."""
        return share(evidence.upper(self.bonus), self.ties, arm)
