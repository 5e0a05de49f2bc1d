"""Optimism by a Bernstein bound: less noise, less exploration."""

import math
from dataclasses import dataclass
from typing import final

from infex.arrays import Floats
from infex.checks import one_of, optional, real, set_fields
from infex.models.posterior import Posterior
from infex.policies.base import DEFAULT_DELTA
from infex.policies.choice import TIES, IndexPolicy, Ties


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedOFUL(IndexPolicy):
    """Plays the arm of the largest x'theta + scale beta |x| in V^-1, with weights in V (Zhou et al., 2021).

    For rewards whose noise has a known standard deviation sigma(x) and is at most R, the `largest_noise`:
    give the bandit `estimator=Weighted(weight=lambda x: 1/max(sigma(x), R/sqrt(d))**2)`. After n rewards

    beta = 8 sqrt(d log(1 + n/(d penalty s^2)) l) + 4 R/s l + sqrt(penalty) bound with l = log(4 n^2/delta),

    the Bernstein bound, with 8, 4 and the logarithms as quoted by Zhang, Zhou and Gu (2021, Theorem 5.1); s
    is the `least_noise` of any weight, R/sqrt(d) if it is not named. Its constants make it far wider than
    LinUCB's unless standard deviations differ by orders of magnitude: `scale` is for choosing alone. `bound`,
    `delta` and `ties` are those of `LinUCB`. It is deterministic.

    >>> from infex import Bandit, models
    >>> from infex.policies import WeightedOFUL
    >>> precise = models.Weighted(weight=lambda x: 100.0 if x[0] else 1.0)
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], WeightedOFUL(least_noise=0.1), estimator=precise).ask().arm
    0
    """

    largest_noise: float = 1.0
    least_noise: float | None = None
    bound: float = 1.0
    delta: float | None = None
    scale: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        set_fields(self, largest_noise=real("largest_noise", self.largest_noise, above=0))
        set_fields(self, least_noise=optional(real, "least_noise", self.least_noise, above=0))
        for name, value in (("bound", self.bound), ("scale", self.scale)):
            set_fields(self, **{name: real(name, value, least=0)})
        set_fields(self, delta=optional(real, "delta", self.delta, above=0, most=1))
        one_of("ties", self.ties, TIES)

    def confidence_radius(self, posterior: Posterior) -> float:
        """beta, of intervals."""
        dim, penalty, rewards = posterior.dim, posterior.penalty, max(posterior.moments.n_observations, 1)
        least = self.largest_noise / math.sqrt(dim) if self.least_noise is None else self.least_noise
        doubt = math.log(4.0 * rewards**2 / (self.delta or DEFAULT_DELTA))
        volume = dim * math.log1p(rewards / (dim * penalty * least**2))
        spread = 8.0 * math.sqrt(volume * doubt) + 4.0 * self.largest_noise / least * doubt
        return spread + math.sqrt(penalty) * self.bound

    def index(self, posterior: Posterior) -> Floats:
        """x'theta + scale beta |x| of every arm."""
        return posterior.upper(self.scale * self.confidence_radius(posterior))
