"""LinTS."""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from infex.checks import one_of
from infex.linear import Evidence
from infex.linear.evidence import SAMPLINGS
from infex.policies.confidence import Confidence
from infex.policies.protocol import Choice
from infex.policies.ties import pick


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinTS(Confidence):
    """Plays the best arm of a sampled parameter theta + beta V^-1/2 eta (Abeille and Lazaric, 2017).

    eta is N(0, I), or uniform on the sphere of radius sqrt(d) with `sampling="spherical"`.
    """

    sampling: Literal["gaussian", "spherical"] = "gaussian"

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        one_of("sampling", self.sampling, SAMPLINGS)

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """The best arm of one sample."""
        scores = evidence.perturbed(self.radius(evidence), rng, self.sampling)
        return Choice(pick(scores, self.ties, rng))
