"""Information-directed sampling."""

from dataclasses import dataclass
from typing import Literal, final

from infex.arrays import Floats
from infex.checks import one_of
from infex.core.choosing import Kind, Reads
from infex.core.laws import information_directed
from infex.models.posterior import Posterior
from infex.policies.choice import LawPolicy, first_best
from infex.policies.compiled import CompiledSpec
from infex.policies.ucb import Confidence


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LinIDS(LawPolicy, Confidence):
    """Draws one of two arms, so that squared regret over information is least (Kirschner and Krause, 2018).

    The regret of x is bounded by max_y ucb(y) - lcb(x), with bounds x'theta -+ scale beta |x| in V^-1. Its
    `gain` is log(1 + |x|^2)/2 ("variance"), or by how much log |u|^2 falls if x is played, where u is the arm
    of the largest upper bound ("directed"); bounds and both gains are as in Kirschner's own code. Of all laws
    of arms, the one of the least E[regret]^2/E[gain] has at most two; it is found exactly, among the edges of
    the upper hull of (regret, gain).

    Probabilities are known exactly. `noise`, `bound`, `delta`, `scale` and `radius` are those of `LinUCB`,
    `ties` of no consequence.

    >>> from infex import Bandit
    >>> from infex.policies import LinIDS
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 0.5]], LinIDS(gain="directed"))
    >>> bandit.ask().propensity
    1.0
    """

    gain: Literal["variance", "directed"] = "variance"

    def __post_init__(self) -> None:
        Confidence.__post_init__(self)
        one_of("gain", self.gain, ("variance", "directed"))

    def probabilities(self, t: int, posterior: Posterior) -> Floats:
        """The law of the least ratio, (K,)."""
        beta = self.choosing_radius(posterior)
        uppers = posterior.upper(beta)
        best = first_best(uppers)
        joint = posterior.covariances(best) if self.gain == "directed" else None
        return information_directed(uppers, posterior.upper(-beta), posterior.widths, joint, best)

    def compiled(self) -> CompiledSpec:
        """An arm in every round, drawn as `Generator.choice` does it."""
        kind = Kind.LINIDS_DIRECTED if self.gain == "directed" else Kind.LINIDS
        return CompiledSpec(self.compiled_base(kind, Reads.READS_WIDTHS))
