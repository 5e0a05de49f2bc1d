"""Optimism: LinUCB and its relatives."""

import math
import warnings
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, optional, real, safe_repr, set_fields
from infex.core.choosing import Kind, Reads
from infex.errors import LargeReward
from infex.models.layout import Radius
from infex.models.posterior import Posterior
from infex.policies.base import DEFAULT_DELTA, Policy, StatefulPolicy, are_numbers
from infex.policies.choice import TIES, Choice, IndexPolicy, Ties, exploring_choice, pick, pick_propensity
from infex.policies.compiled import BaseSpec, CompiledSpec

RadiusForm = Literal["sum", "mixture"]
RADIUS_FORMS = ("sum", "mixture")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """beta = noise sqrt(alpha + 2 log(1/delta)) + sqrt(penalty) bound; a base chooses by scale beta.

    alpha is the posterior's `log_det_ratio`.

    `noise`: how far rewards scatter about their mean x'theta: their standard deviation, or half
    the length of the interval they lie in (rewards of +1 and -1: 1). `bound`: the greatest length
    of theta, about the greatest mean reward of any arm (with a feature map, in any context: theta is
    then that of contexts divided by `longest`). Both are in the unit of the rewards: with rewards of 20
    to 40 and the defaults of 1, exploring rounds would not explore.

    The intervals estimate +- beta width, `low` and `high` of a decision, then hold in all rounds at once
    with probability 1 - `delta` (Abbasi-Yadkori, Pal and Szepesvari, 2011, Theorem 2); those of one arm,
    where each has a regression of its own, whose log_det_ratio then is meant. A `delta` that is not
    said (None) is 1/T where a horizon T is known, as in `play` and in sweeps, and 0.01 elsewhere, as in a
    `Bandit`. `scale` is for choosing alone: practice explores with far less than 1, and intervals stay.

    With `radius="mixture"`, beta = sqrt(noise^2 (alpha + 2 log(1/delta)) + penalty bound^2): the same
    promise, and strictly smaller where neither part is 0. It follows from the tail bound of Flynn, Reeb,
    Kandemir and Peters (2023, AMM-UCB) for a mixture of N(0, noise^2/penalty I), in a few lines that are
    ours. The "sum" is that of Lee and Oh (2025).
    """

    noise: float = 1.0
    bound: float = 1.0
    delta: float | None = None
    scale: float = 1.0
    ties: Ties = "lowest"
    radius: RadiusForm = "sum"

    def __post_init__(self) -> None:
        for name, value in (("noise", self.noise), ("bound", self.bound), ("scale", self.scale)):
            set_fields(self, **{name: real(name, value, least=0)})
        set_fields(self, delta=optional(real, "delta", self.delta, above=0, most=1))
        one_of("ties", self.ties, TIES)
        one_of("radius", self.radius, RADIUS_FORMS)

    def confidence_radius(self, posterior: Posterior) -> Radius:
        """beta, of intervals: one, or one for each arm where each has a regression of its own."""
        delta = self.delta or DEFAULT_DELTA
        return posterior.radii(self.noise, self.bound, delta, self.radius == "mixture")

    def choosing_radius(self, posterior: Posterior) -> Radius:
        """scale beta, by which the base chooses."""
        return self.scale * self.confidence_radius(posterior)

    @property
    def reward_bound(self) -> float:
        """A reward larger than this is far beyond beta, which is no less than `bound` without any noise."""
        return self.bound + 8.0 * max(self.noise, self.bound)

    def compiled_base(self, kind: Kind, reads: Reads, rate: float = 0.0) -> BaseSpec:
        """The same settings in a compiled loop."""
        numbers = self.noise, self.bound, self.delta or DEFAULT_DELTA, self.scale
        ties, mixture = self.ties == "random", self.radius == "mixture"
        return BaseSpec(kind, reads, *numbers, rate=rate, random_ties=ties, mixture=mixture)


DEFAULT_CONFIDENCE = Confidence()


def warn_of_large(policy: Policy, reward: float, stacklevel: int) -> None:
    """Warns that exploring rounds will hardly explore."""
    warnings.warn(
        f"a reward of {reward:g} is far beyond the noise and bound of {safe_repr(policy)}: its exploring "
        "rounds will hardly explore. Set both in the unit of the rewards, or bring rewards to about -1 to 1.",
        LargeReward,
        stacklevel=stacklevel + 1,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinUCB(IndexPolicy, Confidence):
    """Plays the arm of the largest x'theta + scale beta |x| in V^-1 (OFUL; Abbasi-Yadkori et al., 2011).

    beta = noise sqrt(alpha + 2 log(1/delta)) + sqrt(penalty) bound: `noise` is how far rewards scatter
    about their mean, `bound` the greatest length of theta (about the greatest mean reward), both in the unit
    of the rewards. `scale` is for choosing alone, and practice needs far less than 1. The intervals `low` to
    `high` of decisions are x'theta -+ beta |x| at any `scale`, and hold in all rounds at once with
    probability 1 - `delta`. `ties` go to the "lowest" index, or at "random".

    With `radius="mixture"`, beta = sqrt(noise^2 (alpha + 2 log(1/delta)) + penalty bound^2), which is smaller
    and keeps the same promise (Flynn et al., 2023).

    >>> from infex import Bandit, LinUCB
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], LinUCB(noise=0.5, scale=0.2))
    >>> bandit.ask().explored
    True
    """

    def index(self, posterior: Posterior) -> Floats:
        """x'theta + scale beta |x| of every arm."""
        return posterior.upper(self.choosing_radius(posterior))

    def compiled(self) -> CompiledSpec:
        """Optimistic in every round."""
        return CompiledSpec(self.compiled_base(Kind.LINUCB, Reads.READS_WIDTHS))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FixedBonusUCB(IndexPolicy):
    """Plays the arm of the largest x'theta + bonus |x| in V^-1 (Li, Chu, Langford and Schapire, 2010).

    This is what many libraries call LinUCB. The bonus (alpha) stays the same, where that of
    `LinUCB` follows the theory and is far wider.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex import Bandit
    >>> from infex.policies import FixedBonusUCB
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], FixedBonusUCB(bonus=0.5))
    >>> bandit.tell(bandit.ask(), -1.0)
    >>> bandit.ask().arm
    1
    """

    bonus: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        set_fields(self, bonus=real("bonus", self.bonus, least=0))
        one_of("ties", self.ties, TIES)

    def confidence_radius(self, posterior: Posterior) -> float:
        """The bonus."""
        return self.bonus

    def index(self, posterior: Posterior) -> Floats:
        """x'theta + bonus |x| of every arm."""
        return posterior.upper(self.bonus)

    def compiled(self) -> CompiledSpec:
        """LinUCB with a constant radius."""
        random_ties = self.ties == "random"
        return CompiledSpec(
            BaseSpec(Kind.LINUCB, Reads.READS_WIDTHS, bonus=self.bonus, random_ties=random_ties)
        )


ROUNDED_GROWTH = 1e-9  # an arm of length 1 makes det V grow by exactly 2 at first


class SwitchingState(NamedTuple):
    """The log_det_ratio at the last switch, and the optimistic parameter that it found."""

    log_det_ratio: float
    theta: tuple[float, ...]

    @property
    def has_parameters(self) -> bool:
        """It is of the features that arms have now."""
        return True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RarelySwitchingUCB(StatefulPolicy, Confidence):
    """LinUCB whose optimistic parameter is found anew when det V has grown by a factor 1 + growth.

    Until then it plays the best arm of the last one (Abbasi-Yadkori, Pal and Szepesvari, 2011,
    section 5.1): of order d log T switches in T rounds. Among fixed arms that is one arm between
    two switches. It is made for estimators that forget nothing: where det V stops growing, it
    stops switching.

    `ties` go to the "lowest" index, or at "random".

    `noise`, `bound`, `delta`, `scale` and `radius` are those of `LinUCB`.

    >>> from infex.lab import environments, play
    >>> from infex.policies import RarelySwitchingUCB
    >>> play(environments.gaussian(dim=3, arms=5, seed=1), RarelySwitchingUCB(growth=0.5), horizon=50).horizon
    50
    """

    growth: float = 1.0

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        set_fields(self, growth=real("growth", self.growth, above=0))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of the optimistic parameter, which it remembers until the next switch."""
        if not self._switches(posterior):
            return exploring_choice(*pick(self._scores(posterior), self.ties, rng))
        beta = self.choosing_radius(posterior)
        arm, propensity = pick(posterior.upper(beta), self.ties, rng)
        theta = tuple(posterior.optimistic(arm, beta).tolist())
        return exploring_choice(arm, propensity, SwitchingState(posterior.log_det_ratio, theta))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the arm that is played; shared among ties that are broken at random."""
        if self._switches(posterior):
            return pick_propensity(posterior.upper(self.choosing_radius(posterior)), self.ties, arm)
        return pick_propensity(self._scores(posterior), self.ties, arm)

    def _switches(self, posterior: Posterior) -> bool:
        """Has log det V grown by log(1 + growth) since the last switch?"""
        last = posterior.policy_state
        grown = math.log1p(self.growth) + ROUNDED_GROWTH
        return last is None or posterior.log_det_ratio > last.log_det_ratio + grown

    def _scores(self, posterior: Posterior) -> Floats:
        return posterior.scores(np.array(posterior.policy_state.theta, dtype=np.float64))

    def restore_state(self, state: object, dim: int) -> SwitchingState | None:
        """A state of its own, with a parameter of the right length."""
        if not isinstance(state, SwitchingState) or not are_numbers(state.theta, dim):
            return None
        return state if are_numbers((state.log_det_ratio,), 1) else None

    def compiled(self) -> CompiledSpec:
        """Optimistic at every switch, and the best arm of that in between."""
        return CompiledSpec(self.compiled_base(Kind.RARELY_SWITCHING, Reads.READS_WIDTHS, rate=self.growth))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UCB1(IndexPolicy):
    """Every arm once, then the largest mean + noise sqrt(8 log n / n_k).

    From Auer, Cesa-Bianchi and Fischer (2002). It looks at pulls and rewards of fixed arms alone, at
    no features; n counts all rewards and n_k those of arm k. `noise` is half the length of the
    interval of rewards: 1 for +1 and -1, and 0.5 for 0 and 1, which gives the sqrt(2 log n / n_k) of
    the original. An arm whose reward is pending counts as not played yet.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex import Bandit
    >>> from infex.policies import UCB1
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], UCB1())
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.ask().arm  # every arm once
    1
    """

    noise: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        set_fields(self, noise=real("noise", self.noise, least=0))
        one_of("ties", self.ties, TIES)

    def index(self, posterior: Posterior) -> Floats:
        """mean + noise sqrt(8 log n / n_k) of every arm; infinite for one that was never told a reward."""
        pulls = np.maximum(posterior.pulls, 1)
        bonus = 8.0 * math.log(max(posterior.pulled, 1))  # n counts arms that are not shown, too
        found: Floats = posterior.sums / pulls + self.noise * np.sqrt(bonus / pulls)
        found[posterior.pulls == 0] = np.inf
        return found

    def compiled(self) -> CompiledSpec:
        """The largest index in every round."""
        random_ties = self.ties == "random"
        return CompiledSpec(
            BaseSpec(Kind.UCB1, Reads.READS_NOTHING, noise=self.noise, random_ties=random_ties)
        )
