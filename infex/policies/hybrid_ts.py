"""Thompson sampling in a share of rounds."""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.core.choosing import Kind, Reads
from infex.linear import Posterior
from infex.policies.choice import Choice, explored
from infex.policies.confidence import Confidence
from infex.policies.form import Form
from infex.policies.gaussian_ts import sampled_means
from infex.policies.greedy import GREEDIES
from infex.policies.ties import picked


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HybridTS(Confidence):
    """Thompson sampling with probability p, else greedy (epsilon-TS; Jin, Yang, Xiao and Xu, 2023).

    In its linear form the sample is that of `LinTS` and greedy that of ridge regression. With
    `form="plain"` it looks at pulls and rewards of fixed arms alone: every arm once, then samples
    as `GaussianTS` has them, or the largest mean.

    `ties` go to the "lowest" index, or at "random".

    `noise`, `bound`, `delta` and `scale` are those of `LinTS`.

    >>> from infex import HybridTS, environments, play
    >>> run = play(environments.gaussian(dim=3, arms=5, seed=1), HybridTS(p=0.1), horizon=200)
    >>> 0 < run.explored < 100
    True
    """

    p: float = 0.1
    form: Literal["linear", "plain"] = "linear"

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        object.__setattr__(self, "p", real("p", self.p, least=0, most=1))
        one_of("form", self.form, ("linear", "plain"))

    def compiled(self) -> Form:
        """Its form, with this share of rounds."""
        if self.form == "plain":
            return Form(self.base_of(Kind.PLAIN_HYBRID_TS, Reads.READS_NOTHING)._replace(rate=self.p))
        return Form(self.base_of(Kind.HYBRID_TS, Reads.READS_SCORES)._replace(rate=self.p))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one sample with probability p, else the greedy one."""
        if self.form == "plain" and not posterior.pulls.all():
            return explored(int(np.argmin(posterior.pulls > 0)), 1.0)
        if rng.random() < self.p:
            return Choice(
                picked(self._sampled(posterior, rng), self.ties, rng)[0], explore_probability=self.p
            )
        if self.form == "linear":
            return Choice(
                GREEDIES[self.ties].picked(posterior, rng)[0], explored=False, explore_probability=self.p
            )
        return Choice(
            picked(posterior.sums / posterior.pulls, self.ties, rng)[0],
            explored=False,
            explore_probability=self.p,
        )

    def _sampled(self, posterior: Posterior, rng: np.random.Generator) -> Floats:
        if self.form == "plain":
            return sampled_means(posterior, self.noise, rng)
        return posterior.perturbed(self.choosing_radius(posterior), rng)
