"""The LASSO bandit that need not know how sparse the parameter is."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.core.forced import fading_strength
from infex.linear import Posterior
from infex.policies.choice import Choice, Reason
from infex.policies.form import ForcedForm
from infex.policies.ties import TIES, Ties, picked, share


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AgnosticLassoBandit:
    """Plays the best arm of a LASSO estimate; it never explores (Oh, Iyengar and Zeevi, 2021).

    After n rewards the strength is `strength` sqrt((4 log n + 2 log d)/n). It lives on contexts
    that change by themselves; among fixed arms it is greedy, and may stay with a bad arm.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex import AgnosticLassoBandit, environments, play
    >>> play(environments.sparse(dim=4, arms=5, seed=1), AgnosticLassoBandit(), horizon=20).horizon
    20
    """

    strength: float = 0.1
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", real("strength", self.strength, least=0))
        one_of("ties", self.ties, TIES)

    def compiled(self) -> ForcedForm:
        """LASSO in every round, in a loop of its own."""
        return ForcedForm(False, later=self.strength, of_n=4.0, of_d=2.0, random_ties=self.ties == "random")

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of the estimate."""
        arm, share = picked(self._scores(posterior), self.ties, rng)
        return Choice(arm, False, None, Reason.LASSO, None, share, 0.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the best arm; shared among ties that are broken at random."""
        return share(self._scores(posterior), self.ties, arm)

    def _scores(self, posterior: Posterior) -> Floats:
        moments = posterior.moments
        strength = fading_strength(self.strength, 4.0, 2.0, moments.told, moments.moment.size)
        return posterior.scores(moments.lasso(strength))
