"""Indexed minimum empirical divergence."""

import math
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import optional, real, set_fields, whole
from infex.core.choosing import Kind, Reads, divergence_indices
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import Problem
from infex.policies.choice import IndexPolicy
from infex.policies.compiled import CompiledSpec
from infex.policies.ucb import Confidence


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinIMED(IndexPolicy, Confidence):
    """Plays the arm of the least gap^2/(scale beta |x|)^2 - log (scale beta |x|)^2 (Bian and Tan, 2024).

    |x| is in V^-1. In `variant` 1 the gap is that of estimates; 2 has at most log T for the greedy arm, for a
    `horizon` T, which a simulation tells by itself; in 3 the gap is that of upper bounds, and the arm of the
    largest has at most log(`cap`/gap^2) for the largest gap, where 30 is that of the code of Balagopalan and
    Jun (2025). It is deterministic.

    An arm whose features are all 0 has the width 0, and -log 0 is infinite: variant 1 never plays it, even if
    it is the best, while 2 and 3 do where it is the arm that their limit is for. For other arms the limit of
    variant 2 does not bind at the radius of the theory, so that it plays as variant 1, and variant 1 explores
    more than LinUCB: its index asks for widths even where gaps are clear. `noise`, `bound`, `delta`, `scale`,
    `radius` and `ties` are those of `LinUCB`.

    >>> from infex import Bandit
    >>> from infex.policies import LinIMED
    >>> Bandit([[1.0, 0.0], [0.0, 0.5]], LinIMED(variant=3)).ask().arm
    0
    """

    variant: Literal[1, 2, 3] = 1
    cap: float = 30.0
    horizon: int | None = None

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        if type(self.variant) is not int or self.variant not in (1, 2, 3):
            raise InvalidSetting(f"variant must be 1, 2 or 3, got {self.variant!r}")
        set_fields(self, cap=real("cap", self.cap, above=0))
        set_fields(self, horizon=optional(whole, "horizon", self.horizon, least=1))

    def for_problem(self, instance: Problem, horizon: int) -> "LinIMED":
        """The policy once it is told the horizon, where it asks for that."""
        asks = self.variant == 2 and self.horizon is None
        return replace(self, horizon=horizon) if asks else self

    @property
    def missing_setting(self) -> str | None:
        """Is the horizon of variant 2 not known?"""
        known = self.variant != 2 or self.horizon is not None
        return None if known else "variant 2 of LinIMED needs the horizon: say horizon=..."

    def index(self, posterior: Posterior) -> Floats:
        """-gap^2/(scale beta |x|)^2 + log (scale beta |x|)^2 of every arm; -infinity for one of width 0."""
        beta = self.choosing_radius(posterior)
        scores = posterior.upper(beta) if self.variant == 3 else posterior.estimates
        gaps = np.max(scores) - scores
        found = divergence_indices(gaps, beta * posterior.widths)
        if self.variant == 2:
            if self.horizon is None:
                raise InvalidSetting(self.missing_setting)
            found[posterior.greedy] = max(-math.log(self.horizon), found[posterior.greedy])
        elif self.variant == 3 and (most := float(np.max(gaps))) > 0.0:
            best = int(np.argmin(gaps))
            found[best] = max(-math.log(self.cap / (most * most)), found[best])
        return found

    def compiled(self) -> CompiledSpec | None:
        """The least divergence in every round."""
        if self.variant == 3:
            return CompiledSpec(self.compiled_base(Kind.LINIMED_BY_UPPER, Reads.READS_WIDTHS, rate=self.cap))
        if self.variant == 2 and self.horizon is None:
            return None
        limit = -math.log(self.horizon) if self.variant == 2 and self.horizon else -math.inf
        return CompiledSpec(self.compiled_base(Kind.LINIMED, Reads.READS_WIDTHS, rate=limit))
