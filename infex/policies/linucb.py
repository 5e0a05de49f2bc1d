"""LinUCB."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice, explored
from infex.policies.confidence import Confidence
from infex.policies.form import Form
from infex.policies.ties import picked, share


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinUCB(Confidence):
    """Plays the arm of the largest x'theta + scale beta |x| in V^-1 (OFUL; Abbasi-Yadkori et al., 2011).

    beta = noise sqrt(alpha + 2 log(1/delta)) + sqrt(penalty) bound: `noise` is how far rewards scatter
    about their mean, `bound` the greatest length of theta (about the greatest mean reward), both in the unit
    of the rewards. `scale` is for choosing alone, and practice needs far less than 1. The intervals `low` to
    `high` of decisions are x'theta -+ beta |x| at any `scale`, and hold in all rounds at once with
    probability 1 - `delta`. `ties` go to the "lowest" index, or at "random".

    >>> from infex import Bandit, LinUCB
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], LinUCB(noise=0.5, scale=0.2))
    >>> bandit.ask().explored
    True
    """

    def compiled(self) -> Form:
        """Optimistic in every round."""
        return Form(self.base_of(Kind.LINUCB, Reads.READS_WIDTHS))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the largest upper bound."""
        return explored(*picked(posterior.upper(self.choosing_radius(posterior)), self.ties, rng))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the arm of the largest upper bound; shared among ties that are broken at random."""
        return share(posterior.upper(self.choosing_radius(posterior)), self.ties, arm)
