"""Thompson sampling."""

from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real, set_fields, whole
from infex.core.choosing import Kind, Reads
from infex.errors import InvalidSetting
from infex.models.posterior import SAMPLINGS, Posterior
from infex.policies.base import SamplingPolicy
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


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinTS(SamplingPolicy, Confidence):
    """Plays the best arm of a sampled parameter theta + scale beta V^-1/2 eta (Abeille and Lazaric, 2017).

    eta is N(0, I), or uniform on the sphere of radius sqrt(d) with `sampling="spherical"`. The
    probability of the arm that is played is not known, unless it is asked for: with `law`, each round
    has so many values of eta, the same for every seed, and one of them is drawn. Then probabilities
    are known exactly, and those of a plain LinTS to a standard error of at most 1/(2 sqrt(law)). `noise`,
    `bound`, `delta` and `scale` are as in `LinUCB`: intervals have the radius beta at any `scale`. `ties` too
    are as there.

    >>> from infex import Bandit, LinTS
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], LinTS(noise=0.5, scale=0.2), seed=3)
    >>> bandit.ask().explored
    True
    """

    sampling: Literal["gaussian", "spherical"] = "gaussian"
    law: int | None = None

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        one_of("sampling", self.sampling, SAMPLINGS)
        if self.law is not None:
            set_fields(self, law=checked_draws("law", self.law))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one sample."""
        if self.law is not None:
            return draw(self.probabilities(t, posterior), rng)
        scores = posterior.perturbed(self.choosing_radius(posterior), rng, self.sampling)
        return Choice(pick(scores, self.ties, rng)[0], explore_probability=1.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The share of draws for which `arm` is the best, if the law is asked for."""
        return None if self.law is None else float(self.probabilities(t, posterior)[arm])

    def with_draws(self, draws: int) -> "LinTS":
        """The same with propensities that are known, by so many draws."""
        return self if self.law is not None else replace(self, law=draws)

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """The probability of every arm: for which share of the round's draws it is the best, (K,).

        What the law of a plain LinTS is, within a standard error of sqrt(p (1 - p)/draws); what is
        played when the law is asked for, exactly.
        """
        if self.law is None:
            raise InvalidSetting("the law of LinTS is not asked for; say LinTS(law=1000)")
        rng = stream(t, "law of LinTS", posterior.dim, self.law)
        beta, counts = self.choosing_radius(posterior), np.zeros(len(posterior))
        for _ in range(self.law):
            scores = posterior.perturbed(beta, rng, self.sampling)
            best = best_arms(scores) if self.ties == "random" else [first_best(scores)]
            counts[best] += 1.0 / len(best)
        return counts / self.law

    def compiled(self) -> CompiledSpec | None:
        """Sampling in every round, unless its law is asked for."""
        kind = Kind.LINTS_SPHERICAL if self.sampling == "spherical" else Kind.LINTS
        return None if self.law is not None else CompiledSpec(self.compiled_base(kind, Reads.READS_NOTHING))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HybridTS(Confidence):
    """Thompson sampling with probability p, else greedy (epsilon-TS; Jin, Yang, Xiao and Xu, 2023).

    In its linear form the sample is that of `LinTS` and greedy that of ridge regression. With
    `form="plain"` it looks at pulls and rewards of fixed arms alone: every arm once, then samples
    as `GaussianTS` has them, or the largest mean.

    `ties` go to the "lowest" index, or at "random".

    `noise`, `bound`, `delta` and `scale` are those of `LinTS`.

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
