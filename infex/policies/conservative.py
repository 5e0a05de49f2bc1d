"""Exploration that keeps what is earned near a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import changed_settings, real, safe_repr, set_fields
from infex.models.posterior import Posterior
from infex.policies.choice import Reason
from infex.policies.controls import Control, State
from infex.policies.ucb import Confidence, RadiusForm
from infex.schedules.base import Schedule


class ConservativeState(NamedTuple):
    """How many rounds have explored, and the sum of the features that they played."""

    explored: int = 0
    features: tuple[float, ...] = ()


@final
@dataclass(frozen=True, slots=True, repr=False)
class Conservative(Control):
    """`schedule`, but no arm after which rewards could fall below a share of the baseline's."""

    keeps_rows: ClassVar[bool] = True

    schedule: Schedule | Control
    baseline: float
    alpha: float = 0.1
    delta: float | None = None
    noise: float = 1.0
    bound: float = 1.0
    radius: RadiusForm = "sum"

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        set_fields(self, baseline=real("baseline", self.baseline, above=0))
        set_fields(self, alpha=real("alpha", self.alpha, least=0, most=1))
        self._confidence()  # which refuses bad settings

    def initial_state(self) -> State:
        return ConservativeState()

    def refuses(self, t: int, arm: int, posterior: Posterior, state: State) -> str | None:
        explored, features = self._with(arm, posterior, state)
        beta = np.max(self._confidence().confidence_radius(posterior))
        width = float(np.linalg.norm(posterior.factor @ features))
        least = float(posterior.theta @ features) - float(beta) * width + (t - explored) * self.baseline
        return None if least >= (1.0 - self.alpha) * t * self.baseline else Reason.BASELINE

    def after_exploring(self, arm: int, posterior: Posterior, state: State) -> State:
        explored, features = self._with(arm, posterior, state)
        return ConservativeState(explored, tuple(features.tolist()))

    def _with(self, arm: int, posterior: Posterior, state: State) -> tuple[int, Floats]:
        """How many rounds have explored once `arm` is played, and the sum of what they played."""
        explored, features = ConservativeState(*state)
        row: Floats = np.array(posterior.arms[arm])
        return explored + 1, row + features if len(features) == row.size else row

    def _confidence(self) -> Confidence:
        return Confidence(noise=self.noise, bound=self.bound, delta=self.delta, radius=self.radius)

    def __repr__(self) -> str:
        settings = [f"baseline={self.baseline!r}", *changed_settings(self)]
        return f"conservative({', '.join([safe_repr(self.schedule), *settings])})"


def conservative(
    schedule: Schedule | Control,
    baseline: float,
    alpha: float = 0.1,
    delta: float | None = None,
    *,
    noise: float = 1.0,
    bound: float = 1.0,
    radius: RadiusForm = "sum",
) -> Conservative:
    """`schedule`, but no arm after which rewards could fall below 1 - `alpha` of the baseline's.

    `baseline` is the mean reward of what would be played without the bandit. Round t tries an arm x only if,
    with z the sum of all arms that were tried, x included, and n their number,

    z'theta - beta |z| in V^-1 + (t - n) baseline >= (1 - alpha) t baseline:

    then the means of all rounds add up to at least 1 - alpha of the baseline's with probability 1 - `delta`,
    as long as greedy rounds earn the baseline. That is CLUCB (Kazerouni, Ghavamzadeh, Abbasi-Yadkori and Van
    Roy, 2017), which plays the baseline in all rounds that do not explore. Where the arm of the base does not
    pass, the round is greedy ("skipped: baseline not safe"); no other arm is tried. Early rounds have little
    to spend, so exploring begins when t has grown. `noise`, `bound`, `delta` and `radius` mean what they mean
    in `LinUCB`, and are said here, whatever the base has; rewards are linear in features.

    >>> from infex import every
    >>> conservative(every(5), baseline=0.5)
    conservative(every(5), baseline=0.5)
    """
    return Conservative(schedule, baseline, alpha, delta, noise, bound, radius)
