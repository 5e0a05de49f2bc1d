"""Thompson sampling for plain arms."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice
from infex.policies.form import BaseForm, Form
from infex.policies.ties import TIES, Ties, picked


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianTS:
    """Plays the best of samples N(S_k/(n_k + 1), noise^2/(n_k + 1)) (Agrawal and Goyal, 2017).

    It looks at pulls n_k and summed rewards S_k of fixed arms alone, at no features.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex import Bandit, GaussianTS, Infex, every
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Infex(GaussianTS(), every(5)))
    >>> bandit.ask().explored
    False
    """

    noise: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", real("noise", self.noise, least=0))
        one_of("ties", self.ties, TIES)

    def compiled(self) -> Form:
        """A sample in every round."""
        tied = self.ties == "random"
        return Form(BaseForm(Kind.GAUSSIAN_TS, Reads.READS_NOTHING, noise=self.noise, random_ties=tied))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one sample."""
        return Choice(
            picked(sampled_means(posterior, self.noise, rng), self.ties, rng)[0], explore_probability=1.0
        )


def sampled_means(posterior: Posterior, noise: float, rng: np.random.Generator) -> Floats:
    """One draw of every arm's mean."""
    weights = posterior.pulls + 1.0
    found: Floats = posterior.sums / weights + noise / np.sqrt(weights) * rng.standard_normal(len(posterior))
    return found
