"""Exploration by perturbed rewards: perturbed history, weighted bootstrap, TS-UCB."""

from dataclasses import dataclass
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, optional, real, set_fields, whole
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.choice import TIES, Ties
from infex.policies.design import spanning_arms
from infex.policies.thompson import Sampler, checked_draws

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """What policies that perturb rewards have in common."""

    noise: float = 1.0
    ties: Ties = "lowest"
    draws: int | None = None

    def __post_init__(self) -> None:
        set_fields(self, noise=real("noise", self.noise, above=0))
        one_of("ties", self.ties, TIES)
        set_fields(self, draws=optional(checked_draws, "draws", self.draws))


def untried(posterior: Posterior) -> Floats | None:
    """Scores that are largest for the first spanning arm without a reward; None if all of these have one."""
    pulls = posterior.pulls
    if pulls.all():
        return None
    first = next((arm for arm in spanning_arms(posterior.arms) if not pulls[arm]), None)
    return None if first is None else np.where(np.arange(len(posterior)) == first, 1.0, 0.0)


def scores_of(posterior: Posterior, arms: Floats, penalty: float, weights: Floats, sums: Floats) -> Floats:
    """Every shown arm's x'theta for theta = (penalty I + sum weight x x')^-1 sum x sum, (K,)."""
    played = weights > 0.0  # few of many arms
    rows = arms[played]
    gram = (rows.T * weights[played]) @ rows + penalty * np.eye(arms.shape[1])
    return posterior.scores(np.asarray(np.linalg.solve(gram, rows.T @ sums[played]), dtype=np.float64))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinPHE(Sampler, Perturbation):
    """Plays the best arm of a ridge of rewards and `scale` times as many drawn ones (Kveton et al., 2019).

    For n_k rewards of arm k there are m_k = scale n_k drawn ones, rounded up, each +`noise` or -`noise` with
    equal chances: rewards lie between these two. theta is the ridge of both, with (1 + scale) times the
    penalty. The paper has rewards from 0 to 1 and draws 0 or 1: that adds an intercept of 1/2, which arms
    without a constant feature cannot carry, so both are centred here. A scale below 1 did best, and is
    outside of the theory. It first plays, once each, arms that span all others.

    It needs fixed arms, whose rewards are counted. With Gaussian draws and a perturbed prior it would be
    `LinTS(inflation=None)`. `ties` go to the "lowest" index, or at "random"; `draws` are as in `LinTS`.

    >>> from infex import Bandit
    >>> from infex.policies import LinPHE
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], LinPHE(), seed=1)
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.ask().arm  # every direction once
    1
    """

    scale: float = 0.5

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        set_fields(self, scale=real("scale", self.scale, above=0))

    def sampled(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Floats:
        """Every arm's score under one perturbed history."""
        arms, pulls, sums = posterior.history
        first = untried(posterior)
        if first is not None:
            return first
        more = np.ceil(self.scale * pulls - ROUNDING).astype(np.int64)
        drawn = self.noise * (2 * rng.binomial(more, 0.5) - more)
        return scores_of(posterior, arms, (1.0 + self.scale) * posterior.penalty, pulls + more, sums + drawn)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedBootstrap(Sampler, Perturbation):
    """Plays the best arm of a ridge of rewards with weights drawn from Exp(1) (Vaswani et al., 2018).

    Rewards are +`noise` and -`noise`. Then the weights of an arm add up to Gamma(wins) and Gamma(losses),
    which are drawn as such: exact, and O(K) however many rewards there are. A reward in between counts as a
    part of a win and a part of a loss, which is ours. It first plays, once each, arms that span all others;
    where early rewards are all alike, it does not explore.

    It needs fixed arms, whose rewards are counted. `ties` go to the "lowest" index, or at "random"; `draws`
    are as in `LinTS`.

    >>> from infex import Bandit
    >>> from infex.policies import WeightedBootstrap
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], WeightedBootstrap(), seed=1)
    >>> bandit.tell(bandit.ask(), 1.0)
    >>> bandit.ask().arm
    1
    """

    def sampled(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Floats:
        """Every arm's score under one draw of all weights."""
        arms, pulls, sums = posterior.history
        first = untried(posterior)
        if first is not None:
            return first
        if np.any(np.abs(sums) > self.noise * pulls * (1.0 + ROUNDING)):
            raise InvalidSetting(f"rewards go beyond -noise to noise, which is {self.noise:g}: set it larger")
        wins = np.clip(0.5 * (pulls + sums / self.noise), 0.0, pulls)
        gains, losses = rng.standard_gamma(wins), rng.standard_gamma(pulls - wins)
        return scores_of(posterior, arms, posterior.penalty, gains + losses, self.noise * (gains - losses))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TSUCB(Sampler, Perturbation):
    """Plays the arm of the least (f - x'theta)/|x| in V^-1, f a sampled maximum (Baek and Farias, 2021).

    f is the mean of max_x x'theta~ over so many `samples` of N(theta, noise^2 V^-1): what Thompson sampling
    believes the best arm to be worth; 100 of them are ours. With few samples f may lie below the best
    estimate (with one, in a third of all rounds). `ties` go to the "lowest" index, or at "random"; `draws`
    are as in `LinTS`.

    >>> from infex import Bandit
    >>> from infex.policies import TSUCB
    >>> Bandit([[1.0, 0.0], [0.0, 0.5]], TSUCB(samples=20)).ask().arm
    0
    """

    samples: int = 100

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        set_fields(self, samples=whole("samples", self.samples, least=1))

    def sampled(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Floats:
        """-(f - x'theta)/|x| of every arm; of width 0, infinite where the arm is worth f or more."""
        best = np.mean(posterior.sampled_maxima(self.noise, rng, self.samples))
        gaps, widths = best - posterior.estimates, posterior.widths
        found, wide = np.where(gaps > 0.0, -np.inf, np.inf), widths > 0.0
        found[wide] = -gaps[wide] / widths[wide]
        return found
