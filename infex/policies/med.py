"""Minimum empirical divergence."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import real, set_fields
from infex.core.choosing import Kind, Reads
from infex.core.laws import minimum_divergence
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.choice import LawPolicy
from infex.policies.compiled import CompiledSpec
from infex.policies.ucb import Confidence


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinMED(LawPolicy, Confidence):
    """Plays arm x with a probability in proportion to q(x) exp(-gap(x)^2/(scale beta |a - x|)^2).

    a is the greedy arm, |a - x| is in V^-1, and gaps are those of estimates (Balagopalan and Jun, 2025). q is
    the `greedy_share` for a, half of the rest by an optimal design of the arms times exp(...)^1/2, and half
    uniform, as in the authors' code: LinMED-90 with 0.9, and LinMED-99 with 0.99. Without a `design`, q is
    uniform but for the greedy share, which costs less.

    Probabilities are known exactly, and no arm has none. Under a schedule it is greedy in most of its own
    rounds too: with `every(100)`, LinMED-99 explores in one of some 10,000. `noise`, `bound`, `delta`,
    `scale` and `radius` are those of `LinUCB`, `ties` of no consequence; the authors' code has a penalty of
    noise^2/bound^2 and a delta of 0.01.

    >>> from infex import Bandit
    >>> from infex.policies import LinMED
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], LinMED(design=False), seed=1)
    >>> bandit.ask().propensity  # 0.9 + 0.1/2 before any reward
    0.95
    """

    greedy_share: float = 0.9
    design: bool = True

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        set_fields(self, greedy_share=real("greedy_share", self.greedy_share, least=0, most=1))
        if not isinstance(self.design, bool):
            raise InvalidSetting(f"design must be True or False, got {self.design!r}")

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """q f/sum q f, (K,), f = exp(-(gap/(scale beta |a - x|))^2)."""
        greedy = posterior.greedy
        beta = np.broadcast_to(self.choosing_radius(posterior), len(posterior))
        reaches = np.maximum(beta, beta[greedy]) * posterior.distances(greedy)
        arms = posterior.arms.T if self.design else None
        return minimum_divergence(posterior.estimates, reaches, arms, greedy, self.greedy_share)

    def compiled(self) -> CompiledSpec:
        """An arm in every round, drawn as `Generator.choice` does it."""
        kind = Kind.LINMED_BY_DESIGN if self.design else Kind.LINMED
        return CompiledSpec(self.compiled_base(kind, Reads.READS_WIDTHS, rate=self.greedy_share))
