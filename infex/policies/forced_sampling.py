"""Forced sampling: OLS and LASSO bandits."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, optional, real, set_fields, whole
from infex.core.models import fading_strength, least_estimate
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import FixedProblem, Problem
from infex.policies.choice import (
    TIES,
    Choice,
    Reason,
    Ties,
    best,
    draw,
    pick,
    pick_propensity,
    uniform_choice,
)
from infex.policies.compiled import ForcedSpec
from infex.policies.design import optimal_design

Rule = Literal["log", "blocks"]
RULES = ("log", "blocks")
ForcedBy = Literal["uniform", "design"]
FORCED_BY = ("uniform", "design")


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
    """Plays drawn arms in forced rounds, which are kept apart, and the best of the kept arms in others."""

    __slots__ = ()

    keep: float
    forced_by: ForcedBy
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
        """A drawn arm in forced rounds, else the best of those that forced rounds keep."""
        if self.is_forced(t, posterior.dim):
            if self.forced_by == "uniform":
                return uniform_choice(len(posterior), rng)
            return draw(optimal_design(posterior.arms), rng)
        return Choice(self._best(posterior), False, None, self.reason, None, 1.0, 0.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1/K, or the arm's share of the design, in forced rounds; else 1 for the arm that is played."""
        if self.is_forced(t, posterior.dim):
            if self.forced_by == "uniform":
                return 1.0 / len(posterior)
            return float(optimal_design(posterior.arms)[arm])
        return float(arm == self._best(posterior))

    def _best(self, posterior: Posterior) -> int:
        forced, scores = self.estimates(posterior)
        kept = forced >= least_estimate(float(np.max(forced)), self.keep)
        return best(np.where(kept, scores, -math.inf))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OLSBandit(Forced):
    """Forced uniform rounds, and two least-squares estimates (Goldenshluger and Zeevi, 2013).

    With one parameter for all arms, as in Bastani and Bayati (2020). A round of the forced set
    plays a uniform arm. Any other keeps the arms whose estimate from forced rounds alone is within
    `keep`/2 of the best, and plays the best of them by the estimate from all rounds. Where least
    squares has many solutions it takes the shortest. With `forced_by="design"`, arms of forced rounds are
    drawn by an optimal design (`lab.optimal_design`).

    `rule` is the forced set: with "log", round t is forced if fewer than `scale` log(1 + t) were
    before it; with "blocks" it is {(2^n - 1) q + j: n >= 0, 1 <= j <= q} with q the `scale`, rounded
    up. `scale` is d^2 if it is not named. `preset="paper"` takes 8 d^2 and for `keep` the true gap, which a
    simulation alone can tell: so that most of 10^4 rounds are forced at d = 10, as Lee and Oh
    report. The constants of the theory would force more than 10^8 rounds.

    >>> from infex.lab import environments, play
    >>> from infex.policies import OLSBandit
    >>> play(environments.gaussian(dim=3, arms=5, seed=1), OLSBandit(keep=0.1), horizon=200).horizon
    200
    """

    rule: Rule = "log"
    scale: float | None = None
    keep: float = 0.5
    preset: Literal["paper"] | None = None
    forced_by: ForcedBy = "uniform"

    reason: ClassVar[Reason] = Reason.LEAST_SQUARES

    def __post_init__(self) -> None:
        one_of("rule", self.rule, RULES)
        one_of("forced_by", self.forced_by, FORCED_BY)
        set_fields(self, keep=real("keep", self.keep, least=0))
        set_fields(self, scale=optional(real, "scale", self.scale, above=0))
        one_of("preset", self.preset, ("paper", None))
        if self.preset is not None and (self.scale is not None or self.keep != 0.5):
            got = f"{self.scale if self.scale is None else f'{self.scale:g}'} and {self.keep:g}"
            raise InvalidSetting(f"the preset {self.preset!r} names scale and keep; got {got} too")

    def for_problem(self, instance: Problem, horizon: int) -> "OLSBandit":
        """The policy once it is told the problem: a preset asks for the true gap."""
        if self.preset is None:
            return self
        gaps = instance.gaps if isinstance(instance, FixedProblem) else np.zeros(0)
        if not (gaps > 0).any():
            raise InvalidSetting("preset 'paper' needs fixed arms with a gap; say scale and keep instead")
        scale = 8.0 * instance.theta.size**2
        return replace(self, preset=None, scale=scale, keep=float(gaps[gaps > 0].min()))

    @property
    def missing_setting(self) -> str | None:
        """Is the gap of the preset not known?"""
        if self.preset is None:
            return None
        return "preset 'paper' needs the true gap, which a simulation alone can tell; say scale and keep"

    def scale_for(self, dim: int) -> float:
        """The scale, if none is named by the dimension."""
        return float(dim * dim) if self.scale is None else self.scale

    def is_forced(self, t: int, dim: int) -> bool:
        """Is round t forced?"""
        if self.missing_setting is not None:
            raise InvalidSetting(self.missing_setting)
        return is_forced(self.rule, self.scale_for(dim), t)

    def estimates(self, posterior: Posterior) -> tuple[Floats, Floats]:
        """Every arm's estimate from forced rounds, and from all."""
        forced, both = posterior.explored.moments.least_squares(), posterior.moments.least_squares()
        return posterior.scores(forced), posterior.scores(both)

    def compiled(self) -> ForcedSpec | None:
        """Forced sampling, by least squares, if no design is needed."""
        return ForcedSpec(True, self.keep) if self.forced_by == "uniform" else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LassoBandit(Forced):
    """Forced uniform rounds, and two LASSO estimates (Bastani and Bayati, 2020), for one sparse parameter.

    Rounds (2^n - 1) q + j with 1 <= j <= q are forced. Any other keeps the arms whose LASSO
    estimate from forced rounds, of strength `first`, is within `keep`/2 of the best, and plays the
    best of them by the LASSO estimate from all n rewards, of strength `later` sqrt((log n + log d)/n).
    `q` is 2 d if it is not named. `forced_by` is as in `OLSBandit`.

    >>> from infex.lab import environments, play
    >>> from infex.policies import LassoBandit
    >>> play(environments.sparse(dim=4, arms=5, seed=1), LassoBandit(), horizon=20).horizon
    20
    """

    q: int | None = None
    keep: float = 0.5
    first: float = 0.05
    later: float = 0.05
    forced_by: ForcedBy = "uniform"

    reason: ClassVar[Reason] = Reason.LASSO

    def __post_init__(self) -> None:
        one_of("forced_by", self.forced_by, FORCED_BY)
        set_fields(self, q=optional(whole, "q", self.q, least=1))
        for name, value in (("keep", self.keep), ("first", self.first), ("later", self.later)):
            set_fields(self, **{name: real(name, value, least=0)})

    def is_forced(self, t: int, dim: int) -> bool:
        """Is round t forced?"""
        return is_forced("blocks", 2 * dim if self.q is None else self.q, t)

    def estimates(self, posterior: Posterior) -> tuple[Floats, Floats]:
        """Every arm's estimate from forced rounds, and from all."""
        moments, forced = posterior.moments, posterior.explored.moments.lasso(self.first)
        strength = fading_strength(self.later, 1.0, 1.0, moments.n_observations, moments.moment.size)
        return posterior.scores(forced), posterior.scores(moments.lasso(strength))

    def compiled(self) -> ForcedSpec | None:
        """Forced sampling, by LASSO, if no design is needed."""
        uniform = self.forced_by == "uniform"
        return ForcedSpec(True, self.keep, self.first, self.later) if uniform else None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AgnosticLassoBandit:
    """Plays the best arm of a LASSO estimate; it never explores (Oh, Iyengar and Zeevi, 2021).

    After n rewards the strength is `strength` sqrt((4 log n + 2 log d)/n). It lives on contexts
    that change by themselves; among fixed arms it is greedy, and may stay with a bad arm.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex.lab import environments, play
    >>> from infex.policies import AgnosticLassoBandit
    >>> play(environments.sparse(dim=4, arms=5, seed=1), AgnosticLassoBandit(), horizon=20).horizon
    20
    """

    strength: float = 0.1
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        set_fields(self, strength=real("strength", self.strength, least=0))
        one_of("ties", self.ties, TIES)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of the estimate."""
        arm, propensity = pick(self._scores(posterior), self.ties, rng)
        return Choice(arm, False, None, Reason.LASSO, None, propensity, 0.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the best arm; shared among ties that are broken at random."""
        return pick_propensity(self._scores(posterior), self.ties, arm)

    def _scores(self, posterior: Posterior) -> Floats:
        moments = posterior.moments
        strength = fading_strength(self.strength, 4.0, 2.0, moments.n_observations, moments.moment.size)
        return posterior.scores(moments.lasso(strength))

    def compiled(self) -> ForcedSpec:
        """LASSO in every round."""
        return ForcedSpec(False, later=self.strength, of_n=4.0, of_d=2.0, random_ties=self.ties == "random")
