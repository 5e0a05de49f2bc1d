"""LinTS."""

from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, whole
from infex.core.choosing import Kind, Reads
from infex.errors import InvalidSetting
from infex.linear import Posterior
from infex.linear.posterior import SAMPLINGS
from infex.policies.choice import Choice, explored
from infex.policies.confidence import Confidence
from infex.policies.form import Form
from infex.policies.ties import lowest, picked, tied
from infex.streams import stream

MOST_DRAWS = 10**6  # of which a law is made in a round


def checked_draws(name: str, draws: object) -> int:
    """A number of draws that a round can take."""
    number = whole(name, draws, least=1)
    if number > MOST_DRAWS:
        raise InvalidSetting(f"{name} must be at most {MOST_DRAWS}, got {number}")
    return number


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinTS(Confidence):
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
            object.__setattr__(self, "law", checked_draws("law", self.law))

    def compiled(self) -> Form | None:
        """Sampling in every round, unless its law is asked for."""
        kind = Kind.LINTS_SPHERICAL if self.sampling == "spherical" else Kind.LINTS
        return None if self.law is not None else Form(self.base_of(kind, Reads.READS_NOTHING))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The best arm of one sample."""
        if self.law is not None:
            laws = self.laws(t, posterior)
            arm = int(rng.choice(laws.size, p=laws))
            return explored(arm, float(laws[arm]))
        scores = posterior.perturbed(self.choosing_radius(posterior), rng, self.sampling)
        return Choice(picked(scores, self.ties, rng)[0], explore_probability=1.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """The share of draws for which `arm` is the best, if the law is asked for."""
        return None if self.law is None else float(self.laws(t, posterior)[arm])

    def with_law(self, draws: int) -> "LinTS":
        """The same with a law that is known, by so many draws."""
        return self if self.law is not None else replace(self, law=draws)

    def laws(self, t: int, posterior: Posterior) -> Floats:
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
            best = tied(scores) if self.ties == "random" else [lowest(scores)]
            counts[best] += 1.0 / len(best)
        return counts / self.law
