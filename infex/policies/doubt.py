"""Exploration where the data leave doubt about which arm is the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Floats
from infex.checks import changed_settings, real, safe_repr, set_fields
from infex.core.choosing import largest_expected_improvement
from infex.core.controls import ControlKind
from infex.models.posterior import Posterior
from infex.policies.choice import Reason
from infex.policies.compiled import ControlSpec
from infex.policies.controls import Control, State
from infex.schedules.base import Schedule
from infex.schedules.periodic import always

ALWAYS = always()


class Rivals(NamedTuple):
    """How far each arm's estimate is below the greedy arm's, and the width of that difference, (K,).

    An arm that exploring may not try has the width 0, as the greedy arm has: about it nothing can be done.
    """

    gaps: Floats
    distances: Floats

    @staticmethod
    def of(posterior: Posterior) -> Rivals:
        """Those of the arms on offer; pending decisions narrow the widths, as for all that explores."""
        greedy = posterior.greedy
        gaps = np.maximum(posterior.estimate(greedy) - posterior.estimates, 0.0)
        distances = posterior.narrowed.distances(greedy)
        if posterior.allowed is not None:
            distances[~posterior.allowed] = 0.0
        return Rivals(gaps, distances)


class LedgerState(NamedTuple):
    """What rounds that did not explore were expected to lose, since the last that did."""

    total: float = 0.0


@final
@dataclass(frozen=True, slots=True, repr=False)
class Ledger(Control):
    """The rounds of `schedule` in which what greedy rounds may have lost adds up to `limit`."""

    limit: float
    schedule: Schedule | Control = ALWAYS
    noise: float = 1.0

    plans = True
    stays_due = True

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        set_fields(self, limit=real("limit", self.limit, above=0))
        set_fields(self, noise=real("noise", self.noise, above=0))

    @property
    def window(self) -> int:
        return 2  # this round and the one before

    def initial_state(self) -> State:
        return LedgerState()

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        if posterior.spent.since(t - 1)[0] > 0:
            return Reason.JUST_EXPLORED
        return None if self._total(posterior, state) >= self.limit else Reason.LITTLE_AT_STAKE

    def earliest(self, t: int, posterior: Posterior) -> int:
        return t + 2 if posterior.spent.since(t)[0] > 0 else t + 1

    def after_skip(self, posterior: Posterior, state: State) -> State:
        return LedgerState(self._total(posterior, state))

    def after_exploring(self, arm: int, posterior: Posterior, state: State) -> State:
        return LedgerState()

    def _total(self, posterior: Posterior, state: State) -> float:
        """The total with what this round is expected to lose if it is greedy."""
        gaps, distances = Rivals.of(posterior)
        return LedgerState(*state).total + largest_expected_improvement(gaps, distances, self.noise)

    def compiled(self) -> ControlSpec:
        return ControlSpec(ControlKind.LEDGER, limit=self.limit, over=self.window, noise=self.noise)

    def __repr__(self) -> str:
        return f"ledger({', '.join([repr(self.limit), *changed_settings(self)])})"


def ledger(limit: float, schedule: Schedule | Control = ALWAYS, *, noise: float = 1.0) -> Ledger:
    """Explores when what greedy rounds are expected to lose has added up to `limit`.

    In each round of `schedule` S grows by rho = max_x D psi(gap/D), psi(z) = phi(z) - z Phi(-z). The maximum
    is over the rivals x of the greedy arm g: all arms on offer that exploring may try. gap is the estimate of
    g minus that of x, and D = `noise` |x - g| in V^-1 the deviation of that difference. So rho is the
    expected improvement (Jones, Schonlau and Welch, 1998) of knowing the better of g and x in this round, for
    the rival with which it is most, if theta is normal around its estimate with the covariance noise^2 V^-1.
    Once S has reached `limit`, the round explores, unless the round before did, and S is 0 again.

    S and `limit` are in the unit of rewards, and `noise` is their deviation around the mean; leave it at 1
    where rewards are 0 or 1 and the estimator is `Logistic`. D is read as if pending decisions had been told
    their estimates. Arms and contexts of a round count in that round alone. A round that a request or
    another control keeps from exploring adds to S as any greedy one, and the next that may explore does: so
    there is nothing to make up for, and `catching_up` is refused. Each round in which an exploration is due
    and kept from happening counts as planned and as skipped (`bandit.exploration()`). A round of `schedule`
    in which none is due has the reason "little at stake" or "just explored".

    It needs no horizon and never closes: exploring becomes rarer as doubt falls. Such a schedule depends on
    the data, so the regret bound of INFEX says nothing of it.

    >>> from infex import every
    >>> ledger(1.0), ledger(0.5, every(2), noise=0.1)
    (ledger(1.0), ledger(0.5, schedule=every(2), noise=0.1))
    """
    return Ledger(limit, schedule, noise)


@final
@dataclass(frozen=True, slots=True, repr=False)
class Doubtful(Control):
    """The rounds of `schedule` in which the data do not exclude that a rival of the greedy arm is better."""

    schedule: Schedule | Control
    scale: float = 1.0
    noise: float = 1.0

    def __post_init__(self) -> None:
        Control.__post_init__(self)
        set_fields(self, scale=real("scale", self.scale, least=0))
        set_fields(self, noise=real("noise", self.noise, above=0))

    def objects(self, t: int, posterior: Posterior, state: State) -> str | None:
        gaps, distances = Rivals.of(posterior)
        reach = self.noise * math.sqrt(2.0 * self.scale * math.log(t + 1.0))
        return None if bool(np.any(gaps < reach * distances)) else Reason.NO_DOUBT

    def compiled(self) -> ControlSpec:
        return ControlSpec(ControlKind.DOUBT, noise=self.noise, scale=self.scale)

    def __repr__(self) -> str:
        return f"doubtful({', '.join([safe_repr(self.schedule), *changed_settings(self)])})"


def doubtful(schedule: Schedule | Control, scale: float = 1.0, *, noise: float = 1.0) -> Doubtful:
    """`schedule`, but only while a rival of the greedy arm may be better, by a test in every round.

    Round t explores if it is in `schedule` and min_x gap^2/(2 D^2) < `scale` log(1 + t), with rivals x, gap
    and D by `noise` as in `ledger`: by the generalised likelihood ratio some rival may be better. Unlike
    `until_certain` it never stops for good: where the data contradict, and as log t grows, it explores again.
    With a smaller `scale` it explores less. Other rounds of `schedule` have the reason "skipped: no doubt".

    Such a schedule depends on the data, so the regret bound of INFEX says nothing of it.

    >>> from infex import every
    >>> doubtful(every(20), scale=0.1)
    doubtful(every(20), scale=0.1)
    """
    return Doubtful(schedule, scale, noise)
