"""LinUCB with a constant bonus."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.checks import one_of, real
from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice, explored
from infex.policies.form import BaseForm, Form
from infex.policies.ties import TIES, Ties, picked, share


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FixedBonusUCB:
    """Plays the arm of the largest x'theta + bonus |x| in V^-1 (Li, Chu, Langford and Schapire, 2010).

    This is what many libraries call LinUCB. The bonus (alpha) stays the same, where that of
    `LinUCB` follows the theory and is far wider.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex import Bandit, FixedBonusUCB
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], FixedBonusUCB(bonus=0.5))
    >>> bandit.tell(bandit.ask(), -1.0)
    >>> bandit.ask().arm
    1
    """

    bonus: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bonus", real("bonus", self.bonus, least=0))
        one_of("ties", self.ties, TIES)

    def radius(self, posterior: Posterior) -> float:
        """The bonus."""
        return self.bonus

    def compiled(self) -> Form:
        """LinUCB with a constant radius."""
        tied = self.ties == "random"
        return Form(BaseForm(Kind.LINUCB, Reads.READS_WIDTHS, bonus=self.bonus, random_ties=tied))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the largest upper bound."""
        return explored(*picked(posterior.upper(self.bonus), self.ties, rng))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the arm of the largest upper bound; shared among ties that are broken at random."""
        return share(posterior.upper(self.bonus), self.ties, arm)
