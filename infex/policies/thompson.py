"""Thompson sampling."""

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, optional, real, set_fields, whole
from infex.core.choosing import Kind, Reads
from infex.errors import InvalidSetting
from infex.models.layout import Radius
from infex.models.posterior import SAMPLINGS, Posterior
from infex.policies.base import DEFAULT_DELTA, Policy, SamplingPolicy, with_settings
from infex.policies.choice import TIES, Choice, Ties, best_arms, draw, exploring_choice, first_best, pick
from infex.policies.compiled import BaseSpec, CompiledSpec
from infex.policies.greedy import GREEDIES
from infex.policies.ucb import Confidence
from infex.streams import stream


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianTS:
    """Plays the best of samples N(S_k/(n_k + 1), noise^2/(n_k + 1)) (Agrawal and Goyal, 2017).

    It looks at pulls n_k and summed rewards S_k of fixed arms alone, at no features.

    `ties` go to the "lowest" index, or at "random".

    >>> from infex import Bandit, Infex, every
    >>> from infex.policies import GaussianTS
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], Infex(GaussianTS(), every(5)))
    >>> bandit.ask().explored
    False
    """

    noise: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        set_fields(self, noise=real("noise", self.noise, least=0))
        one_of("ties", self.ties, TIES)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one sample."""
        arm, _ = pick(sampled_means(posterior, self.noise, rng), self.ties, rng)
        return Choice(arm, explore_probability=1.0)

    def compiled(self) -> CompiledSpec:
        """A sample in every round."""
        random_ties = self.ties == "random"
        return CompiledSpec(
            BaseSpec(Kind.GAUSSIAN_TS, Reads.READS_NOTHING, noise=self.noise, random_ties=random_ties)
        )


def sampled_means(posterior: Posterior, noise: float, rng: np.random.Generator) -> Floats:
    """One draw of every arm's mean."""
    weights = posterior.pulls + 1.0
    found: Floats = posterior.sums / weights + noise / np.sqrt(weights) * rng.standard_normal(len(posterior))
    return found


MOST_DRAWS = 10**6  # of a round, by which propensities are known


def checked_draws(name: str, draws: object) -> int:
    """A number of draws that a round can take."""
    number = whole(name, draws, least=1)
    if number > MOST_DRAWS:
        raise InvalidSetting(f"{name} must be at most {MOST_DRAWS}, got {number}")
    return number


class Sampler(SamplingPolicy):
    """A policy that plays the arm of the largest sampled score, whose probabilities are known by draws alone.

    With `draws`, each round has so many, the same for every seed, and one of them is played.
    """

    __slots__ = ()

    ties: Ties
    draws: int | None

    def sampled(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Floats:
        """The scores of every arm by one draw, (K,)."""
        raise NotImplementedError

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one sample."""
        if self.draws is not None:
            return draw(self.probabilities(t, posterior), rng)
        return Choice(pick(self.sampled(t, posterior, rng), self.ties, rng)[0], explore_probability=1.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The share of draws for which `arm` is the best, if `draws` are asked for."""
        return None if self.draws is None else float(self.probabilities(t, posterior)[arm])

    def with_draws(self, draws: int) -> Policy:
        """The same with propensities that are known, by so many draws."""
        return self if self.draws is not None else with_settings(self, draws=draws)

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """The probability of every arm: for which share of the round's draws it is the best, (K,).

        With `draws` asked for, these are exactly the probabilities of what is played. Those of the policy
        without them are within a standard error of sqrt(p (1 - p)/draws).
        """
        if self.draws is None:
            kind = type(self).__name__
            raise InvalidSetting(f"the probabilities of {kind} are not known; say {kind}(draws=1000)")
        rng = stream(t, "law of LinTS", posterior.dim, self.draws)
        counts = np.zeros(len(posterior))
        for _ in range(self.draws):
            scores = self.sampled(t, posterior, rng)
            best = best_arms(scores) if self.ties == "random" else [first_best(scores)]
            counts[best] += 1.0 / len(best)
        return counts / self.draws


Inflation = Literal["abeille", "agrawal"]
INFLATIONS = ("abeille", "agrawal", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSampling(Confidence):
    """What is sampled: theta + scale v V^-1/2 eta, with v by its `inflation`."""

    sampling: Literal["gaussian", "spherical"] = "gaussian"
    draws: int | None = None
    inflation: Inflation | None = "abeille"

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        one_of("sampling", self.sampling, SAMPLINGS)
        one_of("inflation", self.inflation, INFLATIONS)
        set_fields(self, draws=optional(checked_draws, "draws", self.draws))

    def spread(self, t: int, posterior: Posterior) -> Radius:
        """scale v, the factor of V^-1/2 eta."""
        if self.inflation == "abeille":
            return self.choosing_radius(posterior)
        if self.inflation == "agrawal":
            doubt = math.log(t / (self.delta or DEFAULT_DELTA))
            return self.scale * (self.noise * math.sqrt(9.0 * posterior.dim * doubt))
        return self.scale * self.noise

    def compiled_sampler(self, kind: Kind, reads: Reads) -> CompiledSpec | None:
        """How compiled loops play it: not if `draws` are asked for, or v depends on the round."""
        if self.draws is not None or self.inflation == "agrawal":
            return None
        base = self.compiled_base(kind, reads)
        return CompiledSpec(
            base if self.inflation else base._replace(scale=0.0, bonus=self.scale * self.noise)
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinTS(Sampler, ParameterSampling):
    """Plays the best arm of a sampled parameter theta + scale v V^-1/2 eta.

    The `inflation` names v. "abeille" is beta, the radius of `LinUCB` (Abeille and Lazaric, 2017; Lee and Oh,
    2025). "agrawal" is noise sqrt(9 d log(t/delta)) (Agrawal and Goyal, 2013, as on arXiv, with our t in the
    place of T; the proceedings have (24/epsilon) log(1/delta) in the place of 9 log(T/delta)). None is the
    noise: what most people run, and for which some problems have linear regret (Hamidi and Bayati, 2020).

    eta is N(0, I), or uniform on the sphere of radius sqrt(d) with `sampling="spherical"`. The
    probability of the arm that is played is not known, unless it is asked for: with `draws`, each round
    has so many values of eta, the same for every seed, and one of them is drawn. Then probabilities
    are known exactly, and those of a plain LinTS to a standard error of at most 1/(2 sqrt(draws)). `noise`,
    `bound`, `delta`, `scale` and `radius` are as in `LinUCB`: intervals have the radius beta at any `scale`.
    `ties` too are as there.

    >>> from infex import Bandit, LinTS
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], LinTS(noise=0.5, scale=0.2), seed=3)
    >>> bandit.ask().explored
    True
    """

    def sampled(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Floats:
        """Every arm's mean under one sampled parameter."""
        return posterior.perturbed(self.spread(t, posterior), rng, self.sampling)

    def compiled(self) -> CompiledSpec | None:
        """Sampling in every round."""
        kind = Kind.LINTS_SPHERICAL if self.sampling == "spherical" else Kind.LINTS
        return self.compiled_sampler(kind, Reads.READS_NOTHING)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OptimisticTS(Sampler, ParameterSampling):
    """Plays the arm of the largest max(x'theta, x'theta~), where theta~ is the sample of `LinTS`.

    So no sample makes an arm look worse than its estimate (May, Korda, Lee and Leslie, 2012). `noise`,
    `bound`, `delta`, `scale`, `radius`, `ties`, `sampling`, `draws` and `inflation` are those of `LinTS`.

    >>> from infex import Bandit
    >>> from infex.policies import OptimisticTS
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], OptimisticTS(inflation=None), seed=3).ask().explored
    True
    """

    def sampled(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Floats:
        """The larger of every arm's estimate and its mean under one sampled parameter."""
        drawn = posterior.perturbed(self.spread(t, posterior), rng, self.sampling)
        return np.maximum(posterior.estimates, drawn)

    def compiled(self) -> CompiledSpec | None:
        """Sampling in every round."""
        spherical = self.sampling == "spherical"
        kind = Kind.OPTIMISTIC_TS_SPHERICAL if spherical else Kind.OPTIMISTIC_TS
        return self.compiled_sampler(kind, Reads.READS_WIDTHS)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HybridTS(Confidence):
    """Thompson sampling with probability p, else greedy (epsilon-TS; Jin, Yang, Xiao and Xu, 2023).

    In its linear form the sample is that of `LinTS` and greedy that of ridge regression. With
    `form="plain"` it looks at pulls and rewards of fixed arms alone: every arm once, then samples
    as `GaussianTS` has them, or the largest mean.

    `ties` go to the "lowest" index, or at "random".

    `noise`, `bound`, `delta`, `scale` and `radius` are those of `LinTS`.

    >>> from infex.lab import environments, play
    >>> from infex.policies import HybridTS
    >>> run = play(environments.gaussian(dim=3, arms=5, seed=1), HybridTS(p=0.1), horizon=200)
    >>> 0 < run.explored < 100
    True
    """

    p: float = 0.1
    form: Literal["linear", "plain"] = "linear"

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        set_fields(self, p=real("p", self.p, least=0, most=1))
        one_of("form", self.form, ("linear", "plain"))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one sample with probability p, else the greedy one."""
        if self.form == "plain" and not posterior.pulls.all():
            return exploring_choice(int(np.argmin(posterior.pulls > 0)), 1.0)
        tries = bool(rng.random() < self.p)
        if tries:
            arm, _ = pick(self._sampled(posterior, rng), self.ties, rng)
        elif self.form == "linear":
            arm, _ = GREEDIES[self.ties].pick(posterior, rng)
        else:
            arm, _ = pick(posterior.sums / posterior.pulls, self.ties, rng)
        return Choice(arm, tries, explore_probability=self.p)

    def _sampled(self, posterior: Posterior, rng: np.random.Generator) -> Floats:
        if self.form == "plain":
            return sampled_means(posterior, self.noise, rng)
        return posterior.perturbed(self.choosing_radius(posterior), rng)

    def compiled(self) -> CompiledSpec:
        """Its form, with this share of rounds."""
        if self.form == "plain":
            return CompiledSpec(self.compiled_base(Kind.PLAIN_HYBRID_TS, Reads.READS_NOTHING, rate=self.p))
        return CompiledSpec(self.compiled_base(Kind.HYBRID_TS, Reads.READS_SCORES, rate=self.p))
