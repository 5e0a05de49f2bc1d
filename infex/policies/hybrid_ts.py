"""Thompson sampling in a share of rounds."""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.linear import Evidence
from infex.policies.confidence import Confidence
from infex.policies.gaussian_ts import sampled_means
from infex.policies.greedy import GREEDY
from infex.policies.protocol import Choice
from infex.policies.ties import pick


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HybridTS(Confidence):
    """Thompson sampling with probability p, else greedy (epsilon-TS; Jin, Yang, Xiao and Xu, 2023).

    In its linear form the sample is that of `LinTS` and greedy that of ridge regression. With
    `form="plain"` it looks at pulls and rewards of fixed arms alone: every arm once, then samples
    as `GaussianTS` has them, or the largest mean.
    """

    p: float = 0.1
    form: Literal["linear", "plain"] = "linear"

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        object.__setattr__(self, "p", real("p", self.p, least=0, most=1))
        one_of("form", self.form, ("linear", "plain"))

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The best arm of one sample on a coin's word, else the greedy one."""
        if self.form == "plain" and not evidence.pulls.all():
            return Choice(int(np.argmin(evidence.pulls > 0)))
        if rng.random() < self.p:
            return Choice(pick(self._sampled(evidence, rng), self.ties, rng))
        if self.form == "linear":
            return GREEDY[self.ties].choose(t, evidence, rng)
        return Choice(pick(evidence.sums / evidence.pulls, self.ties, rng), explored=False)

    def _sampled(self, evidence: Evidence, rng: np.random.Generator) -> Floats:
        if self.form == "plain":
            return sampled_means(evidence, self.noise, rng)
        return evidence.perturbed(self.radius(evidence), rng)
