"""Optimism of a random degree."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import real, set_fields, whole
from infex.core.choosing import Kind, Reads
from infex.models.posterior import Posterior
from infex.policies.choice import Choice, exploring_choice, pick, pick_propensity
from infex.policies.compiled import CompiledSpec
from infex.policies.ucb import Confidence

LAST_WEIGHT = 1e-6  # of Z = 1, before weights are divided by their sum: that of the authors' code


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RandLinUCB(Confidence):
    """Plays the arm of the largest x'theta + Z scale beta |x| in V^-1, Z random (Vaswani et al., 2020).

    Z is one of `levels` equally spaced numbers from 0 to 1, weighted by the density of N(0, `spread`^2), and
    Z = 1 by 1e-6: optimistic and coupled, as in the paper's experiments. Probabilities of arms are known
    exactly, by going through all levels. `noise`, `bound`, `delta`, `scale`, `radius` and `ties` are
    those of `LinUCB`; the paper bounds the determinant in beta by its largest value, and has a bound of
    sqrt(d), a delta of 1/T and a penalty of 10^-4.

    >>> from infex import Bandit
    >>> from infex.policies import RandLinUCB
    >>> decision = Bandit([[1.0, 0.0], [0.0, 0.5]], RandLinUCB()).ask()
    >>> decision.arm, round(decision.propensity, 3)  # before any reward it plays the longest arm
    (0, 1.0)
    """

    levels: int = 20
    spread: float = 0.125

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        set_fields(self, levels=whole("levels", self.levels, least=2))
        set_fields(self, spread=real("spread", self.spread, above=0))

    def law_of_degrees(self) -> tuple[Floats, Floats]:
        """The values of Z, and their probabilities, (levels,)."""
        degrees = np.linspace(0.0, 1.0, self.levels)
        weights = np.exp(-0.5 * np.square(degrees / self.spread)) / (self.spread * math.sqrt(2.0 * math.pi))
        weights[-1] = LAST_WEIGHT
        return degrees, weights / weights.sum()

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the largest index, for one Z."""
        degrees, chances = self.law_of_degrees()
        degree = float(degrees[rng.choice(self.levels, p=chances)])
        arm, _ = pick(posterior.upper(degree * self.choosing_radius(posterior)), self.ties, rng)
        return exploring_choice(arm, self.propensity(t, posterior, arm))

    def compiled(self) -> CompiledSpec:
        """A degree in every round, drawn as `Generator.choice` does it."""
        degrees, chances = self.law_of_degrees()
        below = chances.cumsum()
        base = self.compiled_base(Kind.RAND_LINUCB, Reads.READS_WIDTHS)
        return CompiledSpec(
            base._replace(degrees=(tuple((below / below[-1]).tolist()), tuple(degrees.tolist())))
        )

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """The probability of those Z for which the index of `arm` is the largest."""
        beta, chance = self.choosing_radius(posterior), 0.0
        for degree, weight in zip(*self.law_of_degrees(), strict=True):
            chance += float(weight) * pick_propensity(posterior.upper(degree * beta), self.ties, arm)
        return chance
