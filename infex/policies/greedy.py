"""The greedy policy."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.checks import one_of
from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice
from infex.policies.form import BaseForm, Form
from infex.policies.ties import TIES, Ties, picked, share
from infex.schedules import never


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Plays the arm of the largest estimate x'theta; it never explores.

    `ties` go to the "lowest" index, or at "random".

    >>> Greedy()
    Greedy(ties='lowest')
    """

    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        one_of("ties", self.ties, TIES)

    def compiled(self) -> Form:
        """Greedy in every round."""
        tied = self.ties == "random"
        base = BaseForm(Kind.GREEDY, Reads.READS_SCORES, random_ties=tied)
        return Form(base, schedule=never(), random_ties=tied)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The greedy arm."""
        arm, share = self.picked(posterior, rng)
        return Choice(arm, False, None, "", None, share, 0.0)

    def picked(self, posterior: Posterior, rng: np.random.Generator) -> tuple[int, float]:
        """The greedy arm, and with which probability it is picked among ties."""
        if self.ties == "lowest":
            return posterior.greedy, 1.0
        return picked(posterior.estimates, self.ties, rng)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the greedy arm; shared among ties that are broken at random."""
        if self.ties == "lowest":
            return float(arm == posterior.greedy)
        return share(posterior.estimates, self.ties, arm)


GREEDIES: dict[Ties, Greedy] = {"lowest": Greedy(), "random": Greedy(ties="random")}
