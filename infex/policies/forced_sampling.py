"""Forced sampling: which rounds are forced, and which arms forced rounds keep."""

import math
from typing import ClassVar, Literal

import numpy as np

from infex.arrays import Floats
from infex.core.forced import least_estimate
from infex.linear import Posterior
from infex.policies.choice import Choice, Reason, explored
from infex.policies.ties import best

Rule = Literal["log", "blocks"]
RULES = ("log", "blocks")


def is_forced(rule: Rule, scale: float, t: int) -> bool:
    """Is round t forced?

    >>> [t for t in range(1, 40) if is_forced("blocks", 2, t)]
    [1, 2, 3, 4, 7, 8, 15, 16, 31, 32]
    """
    if rule == "log":
        return forced_count(scale, t) > forced_count(scale, t - 1)
    q = math.ceil(scale)
    block = (t - 1) // q + 1  # round t is one of the q after (block - 1) q
    return block & (block - 1) == 0


def forced_count(scale: float, t: int) -> int:
    """How many of rounds 1, ..., t the rule "log" forces.

    Round t is forced if fewer than g(t) = scale log(1 + t) were before it. As g is concave, all
    rounds are at first, and then as many as g, rounded up.
    """
    target = scale * math.log1p(t)
    return t if target >= t else math.ceil(target)


class Forced:
    """Plays uniform arms in forced rounds, which are kept apart, and the best of the kept arms in others."""

    __slots__ = ()

    keep: float
    reason: ClassVar[Reason]

    @property
    def uses_explored(self) -> bool:
        """Forced rounds are kept apart."""
        return True

    def is_forced(self, t: int, dim: int) -> bool:
        """Is round t forced?"""
        raise NotImplementedError

    def estimates(self, posterior: Posterior) -> tuple[Floats, Floats]:
        """Every arm's estimate from forced rounds, and from all."""
        raise NotImplementedError

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """A uniform arm in forced rounds, else the best of those that forced rounds keep."""
        if self.is_forced(t, posterior.dim):
            return explored(int(rng.integers(len(posterior))), 1.0 / len(posterior))
        return Choice(self._best(posterior), False, None, self.reason, None, 1.0, 0.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1/K in forced rounds; else 1 for the arm that is played."""
        if self.is_forced(t, posterior.dim):
            return 1.0 / len(posterior)
        return float(arm == self._best(posterior))

    def _best(self, posterior: Posterior) -> int:
        forced, scores = self.estimates(posterior)
        kept = forced >= least_estimate(float(np.max(forced)), self.keep)
        return best(np.where(kept, scores, -math.inf))
