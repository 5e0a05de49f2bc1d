"""Exploration until the greedy arm is known to be the best."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import changed_settings, safe_repr
from infex.core.controls import ControlKind
from infex.models.posterior import Posterior
from infex.policies.base import DEFAULT_DELTA
from infex.policies.choice import Reason
from infex.policies.compiled import ControlSpec
from infex.policies.controls import Control, State
from infex.policies.ucb import Confidence, RadiusForm
from infex.schedules.base import Schedule

NO_ARMS = -1


class CertainState(NamedTuple):
    """A checksum of the fixed arms among which it stopped, -1 before."""

    arms: int = NO_ARMS


@final
@dataclass(frozen=True, slots=True, repr=False)
class UntilCertain(Control):
    """`schedule` until the greedy arm's lower bound exceeds every other arm's upper bound."""

    schedule: Schedule | Control
    delta: float | None = None
    noise: float = 1.0
    bound: float = 1.0
    scale: float = 1.0
    radius: RadiusForm = "sum"

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        self._confidence()  # which refuses bad settings

    def initial_state(self) -> State:
        return CertainState()

    def ends(self, posterior: Posterior, state: State) -> bool:
        return posterior.fixed and CertainState(*state).arms == _checksum(posterior.arms)

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        return Reason.CERTAIN if self.ends(posterior, state) or self._is_certain(posterior) else None

    def after_skip(self, posterior: Posterior, state: State) -> State:
        return CertainState(_checksum(posterior.arms)) if posterior.fixed else state

    def _is_certain(self, posterior: Posterior) -> bool:
        beta = self._confidence().choosing_radius(posterior)
        uppers = np.array(posterior.upper(beta))
        best = posterior.greedy
        uppers[best] = -math.inf
        return bool(posterior.upper(-beta)[best] > uppers.max())

    def _confidence(self) -> Confidence:
        return Confidence(
            noise=self.noise, bound=self.bound, delta=self.delta, scale=self.scale, radius=self.radius
        )

    def compiled(self) -> ControlSpec:
        radius = self.noise, self.bound, self.delta or DEFAULT_DELTA, self.scale, self.radius == "mixture"
        return ControlSpec(ControlKind.CERTAINTY, False, 0.0, 0, *radius)

    def __repr__(self) -> str:
        return f"until_certain({', '.join([safe_repr(self.schedule), *changed_settings(self)])})"


def until_certain(
    schedule: Schedule | Control,
    delta: float | None = None,
    *,
    noise: float = 1.0,
    bound: float = 1.0,
    scale: float = 1.0,
    radius: RadiusForm = "sum",
) -> UntilCertain:
    """`schedule` until the greedy arm's lower bound exceeds every other arm's upper bound.

    The bounds are those that `LinUCB` compares with this `noise`, `bound`, `delta`, `scale` and `radius`. At
    a `scale` of 1 the greedy arm then is the best with probability 1 - `delta`; a smaller one stops earlier,
    without that promise. A `delta` that is not said is 1/T where a horizon T is known, and 0.01 elsewhere.
    Among fixed arms exploring has stopped for good, unless arms come or go; arms that change every round, and
    requests that offer but some, are judged in each round that is due.

    Such a schedule depends on the data, so it is outside the threshold of the paper: the regret
    bound of INFEX and its omega(log t) speak of schedules fixed beforehand (Lee and Oh, 2025).

    >>> from infex import every
    >>> until_certain(every(20), delta=0.001)
    until_certain(every(20), delta=0.001)
    """
    return UntilCertain(schedule, delta, noise, bound, scale, radius)


def _checksum(arms: Floats) -> int:
    return zlib.crc32(arms.tobytes())
