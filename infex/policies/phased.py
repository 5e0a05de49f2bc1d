"""Phased elimination by optimal designs."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeGuard, final

import numpy as np

from infex.arrays import Floats
from infex.checks import optional, real, set_fields
from infex.models.posterior import Posterior
from infex.models.sums import Moments
from infex.policies.base import DEFAULT_DELTA, StatefulPolicy, are_numbers
from infex.policies.choice import Choice, exploring_choice
from infex.policies.design import optimal_design


class Quota(NamedTuple):
    """How often an arm, by its place among all, is played in a phase, and how often it is still to be."""

    place: int
    pulls: int
    left: int


class PhaseState(NamedTuple):
    """The phase, the arms that were eliminated, the pulls of the phase, and the sums when it began."""

    phase: int
    eliminated: tuple[int, ...]
    quotas: tuple[Quota, ...]
    gram: tuple[float, ...]
    moment: tuple[float, ...]

    @property
    def has_arms(self) -> bool:
        """It names arms by their places."""
        return True


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PhasedElimination(StatefulPolicy):
    """Plays optimal designs in phases, and eliminates arms (Lattimore and Szepesvari, 2020, section 22.1).

    Phase l = 1, 2, ... plays arm x of those that are left 2 d pi(x) noise^2 4^l log(K l (l + 1)/delta) times,
    rounded up, where pi is their optimal design (`lab.optimal_design`). Then it estimates theta by least
    squares of the rewards of this phase alone, and eliminates the arms that are more than 2 2^-l worse than
    the best. Pulls of a phase are interleaved, which is ours: the arm with the largest share of them still to
    come is next. (The book plays them in any order, and leaves out the noise, which is 1 there.)

    `noise` is as in `LinUCB`; a `delta` that is not said is 1/T or 0.01, as there. It needs fixed arms, and
    as a base of `Infex` data="own": what it promises is for arms that were fixed before their rewards. It is
    deterministic. With late rewards a phase is judged by those that came.

    >>> from infex import Bandit
    >>> from infex.policies import PhasedElimination
    >>> bandit = Bandit([[1.0, 0.0], [0.0, 1.0]], PhasedElimination())
    >>> [bandit.ask().arm for _ in range(4)]
    [0, 1, 0, 1]
    """

    keeps_rows: ClassVar[bool] = True

    noise: float = 1.0
    delta: float | None = None

    needs_own_data = True

    def __post_init__(self) -> None:
        set_fields(self, noise=real("noise", self.noise, above=0))
        set_fields(self, delta=optional(real, "delta", self.delta, above=0, most=1))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The next arm of the phase."""
        arm, state = self._next(posterior)
        return exploring_choice(arm, 1.0, state)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the next arm of the phase."""
        return float(arm == self._next(posterior)[0])

    def _next(self, posterior: Posterior) -> tuple[int, PhaseState]:
        """The arm, and the state once it is played; the best estimate, if no arm of the phase is shown."""
        state: PhaseState | None = posterior.policy_state
        _ = posterior.history  # arms that change are refused
        places = posterior.places.tolist()
        if state is None or not any(quota.left for quota in state.quotas):
            state = self._phase(posterior, state)
        shown, quotas = set(places), state.quotas
        due = [n for n, quota in enumerate(quotas) if quota.left and quota.place in shown]
        if not due:
            active = [arm for arm, place in enumerate(places) if place not in state.eliminated]
            return max(active or range(len(places)), key=posterior.estimate), state
        n = max(due, key=lambda n: (quotas[n].left / quotas[n].pulls, -quotas[n].place))
        chosen = quotas[n]._replace(left=quotas[n].left - 1)
        return places.index(chosen.place), state._replace(quotas=(*quotas[:n], chosen, *quotas[n + 1 :]))

    def _phase(self, posterior: Posterior, last: PhaseState | None) -> PhaseState:
        """The next phase: the arms that are left, and their pulls."""
        moments, places, eliminated = posterior.moments, posterior.places.tolist(), set[int]()
        phase = 1 if last is None else last.phase + 1
        if last is not None:
            eliminated = set(last.eliminated)
            gram = moments.gram - np.array(last.gram, dtype=np.float64).reshape(moments.gram.shape)
            learnt = Moments(
                gram, moments.moment - np.array(last.moment, dtype=np.float64), moments.n_observations
            )
            scores = posterior.scores(learnt.least_squares())
            active = [arm for arm, place in enumerate(places) if place not in eliminated]
            worst = max((scores[arm] for arm in active), default=0.0) - 2.0 * 0.5**last.phase
            eliminated |= {places[arm] for arm in active if scores[arm] < worst}
        left = [arm for arm, place in enumerate(places) if place not in eliminated] or list(
            range(len(places))
        )
        pulls = self.pulls(phase, optimal_design(posterior.arms[left]), posterior.dim, len(places))
        quotas = [Quota(places[arm], count, count) for arm, count in zip(left, pulls, strict=True) if count]
        sums = tuple(moments.gram.ravel().tolist()), tuple(moments.moment.tolist())
        return PhaseState(phase, tuple(sorted(eliminated)), tuple(quotas), *sums)

    def pulls(self, phase: int, design: Floats, dim: int, arms: int) -> list[int]:
        """How often each arm of a design is played in a phase."""
        doubt = math.log(arms * phase * (phase + 1) / (self.delta or DEFAULT_DELTA))
        each = 2.0 * dim * self.noise**2 * 4.0**phase * doubt
        return [math.ceil(each * share) for share in design.tolist()]

    def restore_state(self, state: object, dim: int) -> PhaseState | None:
        """A state of its own, with as many sums as there are features."""
        if not isinstance(state, PhaseState) or type(state.phase) is not int or state.phase < 1:
            return None
        if not are_numbers(state.gram, dim**2) or not are_numbers(state.moment, dim):
            return None
        if not _are_whole(state.eliminated) or not isinstance(state.quotas, tuple):
            return None
        if not all(map(_is_quota, state.quotas)):
            return None
        return state._replace(quotas=tuple(Quota(*quota) for quota in state.quotas))


def _is_quota(values: object) -> bool:
    """Are these the numbers of a quota, of at least one pull?"""
    if not _are_whole(values) or len(values) != len(Quota._fields):
        return False
    quota = Quota(*values)
    return quota.place >= 0 and 0 <= quota.left <= quota.pulls and quota.pulls > 0


def _are_whole(values: object) -> TypeGuard[tuple[int, ...]]:
    """Is it a tuple of whole numbers?"""
    return isinstance(values, tuple) and all(type(number) is int for number in values)
