"""Inverse gap weighting."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import optional, real, set_fields, whole
from infex.core.laws import inverse_gap
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import DEFAULT_DELTA, Problem
from infex.policies.choice import LawPolicy

DESIGN_CONSTANT = 4.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SpannerIGW(LawPolicy):
    """Plays arm x with probability q(x)/(l + rate gap(x)/4d), where l makes them add up (Zhu et al., 2022).

    Gaps are those of estimates. q is half the greedy arm, half an optimal design of x/sqrt(1 + rate gap/4d),
    in the place of the paper's barycentric spanner; l is then from 1/2 to 1. Without a `rate` it is
    sqrt(4 d T/(d log T + 32 log(2/delta))) for a `horizon` T, which a simulation tells by itself. This rate
    and the 4 are those of the code of Balagopalan and Jun (2025); the authors of SpannerIGW tune theirs, and
    play 1/(1 + d + rate gap) of a spanner in their own code. A `delta` that is not said is 1/T or 0.01, as in
    `LinUCB`. Probabilities are known exactly.

    Some problems cost it of order sqrt(T), whatever their gaps are (Balagopalan and Jun, 2025), so the regret
    bound of INFEX (Lee and Oh, 2025, Theorem 1) says nothing of it.

    >>> from infex import Bandit
    >>> from infex.policies import SpannerIGW
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], SpannerIGW(rate=100), seed=2).ask().propensity  # of the greedy arm
    0.75
    """

    rate: float | None = None
    horizon: int | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        set_fields(self, rate=optional(real, "rate", self.rate, least=0))
        set_fields(self, horizon=optional(whole, "horizon", self.horizon, least=1))
        set_fields(self, delta=optional(real, "delta", self.delta, above=0, most=1))

    def for_problem(self, instance: Problem, horizon: int) -> "SpannerIGW":
        """The policy once it is told the horizon, where it asks for that."""
        asks = self.rate is None and self.horizon is None
        return replace(self, horizon=horizon) if asks else self

    @property
    def missing_setting(self) -> str | None:
        """Is neither the rate nor the horizon known?"""
        known = self.rate is not None or self.horizon is not None
        return None if known else "the rate of SpannerIGW is not known: say rate, or the horizon"

    def rate_for(self, dim: int) -> float:
        """The rate, if none is named by the dimension and the horizon."""
        if self.rate is not None:
            return self.rate
        if self.horizon is None:
            raise InvalidSetting(self.missing_setting)
        doubt = 32.0 * math.log(2.0 / (self.delta or DEFAULT_DELTA))
        return math.sqrt(DESIGN_CONSTANT * dim * self.horizon / (dim * math.log(self.horizon) + doubt))

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """q/(l + rate gap/(4 d)), (K,)."""
        greedy = posterior.greedy
        gaps = np.maximum(posterior.estimate(greedy) - posterior.estimates, 0.0)
        costs = self.rate_for(posterior.dim) / (DESIGN_CONSTANT * posterior.dim) * gaps
        return inverse_gap(costs, posterior.arms.T, greedy)
