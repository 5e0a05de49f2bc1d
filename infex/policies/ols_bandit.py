"""OLSBandit."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, final

import numpy as np

from infex.arrays import Floats
from infex.checks import one_of, real
from infex.errors import InvalidSetting
from infex.linear import Posterior
from infex.policies.choice import Reason
from infex.policies.forced_sampling import RULES, Forced, Rule, is_forced
from infex.policies.form import ForcedForm
from infex.policies.traits import Played, PlayedFixed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OLSBandit(Forced):
    """Forced uniform rounds, and two least-squares estimates (Goldenshluger and Zeevi, 2013).

    With one parameter for all arms, as in Bastani and Bayati (2020). A round of the forced set
    plays a uniform arm. Any other keeps the arms whose estimate from forced rounds alone is within
    `keep`/2 of the best, and plays the best of them by the estimate from all rounds. Where least
    squares has many solutions it takes the shortest.

    `rule` is the forced set: with "log", round t is forced if fewer than `scale` log(1 + t) were
    before it; with "blocks" it is {(2^n - 1) q + j: n >= 0, 1 <= j <= q} with q the `scale`, rounded
    up. `scale` is d^2 if it is not named. `preset="paper"` takes 8 d^2 and for `keep` the true gap, which a
    simulation alone can tell: so that most of 10^4 rounds are forced at d = 10, as Lee and Oh
    report. The constants of the theory would force more than 10^8 rounds.

    >>> from infex import OLSBandit, environments, play
    >>> play(environments.gaussian(dim=3, arms=5, seed=1), OLSBandit(keep=0.1), horizon=200).horizon
    200
    """

    rule: Rule = "log"
    scale: float | None = None
    keep: float = 0.5
    preset: Literal["paper"] | None = None

    reason: ClassVar[Reason] = Reason.LEAST_SQUARES

    def __post_init__(self) -> None:
        one_of("rule", self.rule, RULES)
        object.__setattr__(self, "keep", real("keep", self.keep, least=0))
        if self.scale is not None:
            object.__setattr__(self, "scale", real("scale", self.scale, above=0))
        if self.preset is not None:
            one_of("preset", self.preset, ("paper",))
            if self.scale is not None or self.keep != 0.5:
                got = f"{self.scale if self.scale is None else f'{self.scale:g}'} and {self.keep:g}"
                raise InvalidSetting(f"the preset {self.preset!r} names scale and keep; got {got} too")

    def informed(self, instance: Played, horizon: int) -> "OLSBandit":
        """The policy once it is told the problem: a preset asks for the true gap."""
        if self.preset is None:
            return self
        gaps = instance.gaps if isinstance(instance, PlayedFixed) else np.zeros(0)
        if not (gaps > 0).any():
            raise InvalidSetting("preset 'paper' needs fixed arms with a gap; say scale and keep instead")
        scale = 8.0 * instance.theta.size**2
        return replace(self, preset=None, scale=scale, keep=float(gaps[gaps > 0].min()))

    def compiled(self) -> ForcedForm:
        """Forced sampling, in a loop of its own."""
        return ForcedForm(True, self.keep)

    def scale_for(self, dim: int) -> float:
        """The scale, if none is named by the dimension."""
        return float(dim * dim) if self.scale is None else self.scale

    def is_forced(self, t: int, dim: int) -> bool:
        """Is round t forced?"""
        if self.preset is not None:
            raise InvalidSetting(
                "preset 'paper' needs the true gap, which a simulation alone can tell; say scale and keep"
            )
        return is_forced(self.rule, self.scale_for(dim), t)

    def estimates(self, posterior: Posterior) -> tuple[Floats, Floats]:
        """Every arm's estimate from forced rounds, and from all."""
        forced, both = posterior.explored.moments.least_squares(), posterior.moments.least_squares()
        return posterior.scores(forced), posterior.scores(both)
