"""The confidence radius as settings that LinUCB and LinTS share."""

import warnings
from dataclasses import dataclass

from infex.checks import one_of, real, told
from infex.core.choosing import Kind, Reads
from infex.errors import LargeReward
from infex.linear import Posterior, Radius
from infex.policies.form import BaseForm
from infex.policies.settling import UNSAID_DELTA
from infex.policies.ties import TIES, Ties
from infex.policies.traits import Policy


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
    """

    noise: float = 1.0
    bound: float = 1.0
    delta: float | None = None
    scale: float = 1.0
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        for name, value in (("noise", self.noise), ("bound", self.bound), ("scale", self.scale)):
            object.__setattr__(self, name, real(name, value, least=0))
        if self.delta is not None:
            object.__setattr__(self, "delta", real("delta", self.delta, above=0, most=1))
        one_of("ties", self.ties, TIES)

    @property
    def greatest(self) -> float:
        """A reward larger than this is far beyond beta, which is no less than `bound` without any noise."""
        return self.bound + 8.0 * max(self.noise, self.bound)

    @property
    def failure(self) -> float:
        """The chance of failure that is played: `delta`, or 0.01 where none is said and no horizon known."""
        return UNSAID_DELTA if self.delta is None else self.delta

    def base_of(self, kind: Kind, reads: Reads) -> BaseForm:
        """The same settings in a compiled loop."""
        numbers = self.noise, self.bound, self.failure, self.scale
        return BaseForm(kind, reads, *numbers, random_ties=self.ties == "random")

    def radius(self, posterior: Posterior) -> Radius:
        """beta, of intervals: one, or one for each arm where each has a regression of its own."""
        return posterior.radii(self.noise, self.bound, self.failure)

    def choosing_radius(self, posterior: Posterior) -> Radius:
        """scale beta, by which the base chooses."""
        return self.scale * self.radius(posterior)


DEFAULT = Confidence()


def warn_of_large(policy: Policy, reward: float, stacklevel: int) -> None:
    """Warns that exploring rounds will hardly explore."""
    warnings.warn(
        f"a reward of {reward:g} is far beyond the noise and bound of {told(policy)}: its exploring rounds "
        "will hardly explore. Set both in the unit of the rewards, or bring rewards to about -1 to 1.",
        LargeReward,
        stacklevel=stacklevel + 1,
    )
