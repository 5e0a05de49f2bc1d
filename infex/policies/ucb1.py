"""UCB1."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice, explored
from infex.policies.form import BaseForm, Form
from infex.policies.ties import TIES, Ties, picked, share


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UCB1:
    """Every arm once, then the largest mean + noise sqrt(8 log n / n_k).

    From Auer, Cesa-Bianchi and Fischer (2002). It looks at pulls and rewards of fixed arms alone, at
    no features; n counts all rewards and n_k those of arm k. `noise` is half the length of the
    interval of rewards: 1 for +1 and -1, and 0.5 for 0 and 1, which gives the sqrt(2 log n / n_k) of
    the original. An arm whose reward is pending counts as not played yet.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex import Bandit, UCB1
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], UCB1())
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.ask().arm  # every arm once
    1
    """

    noise: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", real("noise", self.noise, least=0))
        one_of("ties", self.ties, TIES)

    def compiled(self) -> Form:
        """The largest index in every round."""
        tied = self.ties == "random"
        return Form(BaseForm(Kind.UCB1, Reads.READS_NOTHING, noise=self.noise, random_ties=tied))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the largest index."""
        return explored(*picked(self.indices(posterior), self.ties, rng))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the arm of the largest index; shared among ties that are broken at random."""
        return share(self.indices(posterior), self.ties, arm)

    def indices(self, posterior: Posterior) -> Floats:
        """Every arm's index; infinite for one that was never told a reward."""
        pulls = np.maximum(posterior.pulls, 1)
        bonus = 8.0 * math.log(max(posterior.pulled, 1))  # n counts arms that are not shown, too
        found: Floats = posterior.sums / pulls + self.noise * np.sqrt(bonus / pulls)
        found[posterior.pulls == 0] = np.inf
        return found
