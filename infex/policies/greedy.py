"""The greedy policy."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.checks import one_of
from infex.linear import Evidence
from infex.policies.protocol import Choice
from infex.policies.ties import TIES, Ties, pick, share


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Plays the arm of the largest estimate x'theta; it never explores.

    >>> Greedy()
    Greedy(ties='lowest')
    """

    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        one_of("ties", self.ties, TIES)

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The greedy arm."""
        if self.ties == "lowest":
            return Choice(evidence.greedy, explored=False)
        return Choice(pick(evidence.estimates, self.ties, rng), explored=False)

    def probability(self, t: int, evidence: Evidence, arm: int) -> float:
        """1 for the greedy arm; shared among ties that are broken at random."""
        if self.ties == "lowest":
            return float(arm == evidence.greedy)
        return share(evidence.estimates, self.ties, arm)


GREEDY: dict[Ties, Greedy] = {"lowest": Greedy(), "random": Greedy(ties="random")}
