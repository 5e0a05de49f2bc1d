"""The LASSO bandit with forced sampling."""

from dataclasses import dataclass
from typing import ClassVar, final

from infex.arrays import Floats
from infex.checks import real, whole
from infex.core.forced import fading_strength
from infex.linear import Posterior
from infex.policies.choice import Reason
from infex.policies.forced_sampling import Forced, is_forced
from infex.policies.form import ForcedForm


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LassoBandit(Forced):
    """Forced uniform rounds, and two LASSO estimates (Bastani and Bayati, 2020), for one sparse parameter.

    Rounds (2^n - 1) q + j with 1 <= j <= q are forced. Any other keeps the arms whose LASSO
    estimate from forced rounds, of strength `first`, is within `keep`/2 of the best, and plays the
    best of them by the LASSO estimate from all n rewards, of strength `later` sqrt((log n + log d)/n).
    `q` is 2 d if it is not named.

    >>> from infex import LassoBandit, environments, play
    >>> play(environments.sparse(dim=4, arms=5, seed=1), LassoBandit(), horizon=20).horizon
    20
    """

    q: int | None = None
    keep: float = 0.5
    first: float = 0.05
    later: float = 0.05

    reason: ClassVar[Reason] = Reason.LASSO

    def __post_init__(self) -> None:
        if self.q is not None:
            object.__setattr__(self, "q", whole("q", self.q, least=1))
        for name, value in (("keep", self.keep), ("first", self.first), ("later", self.later)):
            object.__setattr__(self, name, real(name, value, least=0))

    def compiled(self) -> ForcedForm:
        """Forced sampling by LASSO, in a loop of its own."""
        return ForcedForm(True, self.keep, self.first, self.later)

    def is_forced(self, t: int, dim: int) -> bool:
        """Is round t forced?"""
        return is_forced("blocks", 2 * dim if self.q is None else self.q, t)

    def estimates(self, posterior: Posterior) -> tuple[Floats, Floats]:
        """Every arm's estimate from forced rounds, and from all."""
        moments, forced = posterior.moments, posterior.explored.moments.lasso(self.first)
        strength = fading_strength(self.later, 1.0, 1.0, moments.told, moments.moment.size)
        return posterior.scores(forced), posterior.scores(moments.lasso(strength))
