"""The LASSO bandit with forced sampling."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.checks import real, whole
from infex.linear import Evidence
from infex.linear.kernels import Floats
from infex.policies.forced import is_forced, kept_arms
from infex.policies.protocol import Choice
from infex.policies.ties import best


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LassoBandit:
    """Forced uniform rounds, and two LASSO estimates (Bastani and Bayati, 2020), for one sparse parameter.

    Rounds (2^n - 1) q + j with 1 <= j <= q are forced. Any other keeps the arms whose LASSO
    estimate from forced rounds, of strength `first`, is within `keep`/2 of the best, and plays the
    best of them by the LASSO estimate from all n rewards, of strength `later` sqrt((log n + log d)/n).
    `q` is 2 d if it is not named.
    """

    q: int | None = None
    keep: float = 0.5
    first: float = 0.05
    later: float = 0.05

    def __post_init__(self) -> None:
        if self.q is not None:
            object.__setattr__(self, "q", whole("q", self.q, least=1))
        for name in ("keep", "first", "later"):
            object.__setattr__(self, name, real(name, getattr(self, name), least=0))

    @property
    def uses_explored(self) -> bool:
        """Forced rounds are kept apart."""
        return True

    def choose(self, t: int, evidence: Evidence, rng: np.random.Generator) -> Choice:
        """A uniform arm in forced rounds, else the best of those that forced rounds keep."""
        if self._is_forced(t, evidence):
            return Choice(int(rng.integers(len(evidence))), explored=True)
        return Choice(best(self._scores(evidence)), explored=False, reason="best by LASSO")

    def probability(self, t: int, evidence: Evidence, arm: int) -> float:
        """1/K in forced rounds; else 1 for the arm that is played."""
        if self._is_forced(t, evidence):
            return 1.0 / len(evidence)
        return float(arm == best(self._scores(evidence)))

    def _is_forced(self, t: int, evidence: Evidence) -> bool:
        q = 2 * evidence.arms.shape[1] if self.q is None else self.q
        return is_forced("blocks", q, t)

    def _scores(self, evidence: Evidence) -> Floats:
        arms, moments = evidence.arms, evidence.moments
        n, dim = max(moments.told, 1), arms.shape[1]
        forced = arms @ evidence.explored.moments.lasso(self.first)
        strength = self.later * math.sqrt((math.log(n) + math.log(dim)) / n)
        scores: Floats = arms @ moments.lasso(strength)
        return np.where(kept_arms(forced, self.keep), scores, -math.inf)
