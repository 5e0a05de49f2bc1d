"""Greedy, and policies that are greedy but for some rounds."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex.checks import one_of, optional, real, repr_settings, set_fields, whole
from infex.core.choosing import Kind, Reads, Wrap
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import (
    Policy,
    PolicyInfo,
    Problem,
    StatefulPolicy,
    are_numbers,
    checked,
    choose_allowed,
    policy_info,
    propensity_allowed,
    restore_state,
)
from infex.policies.choice import (
    TIES,
    Choice,
    Ties,
    draw,
    exploring_choice,
    pick,
    pick_propensity,
    uniform_choice,
)
from infex.policies.compiled import BaseSpec, CompiledSpec, WrapperSpec, wrapped
from infex.policies.design import optimal_design
from infex.policies.ucb import LinUCB
from infex.schedules import always, never
from infex.schedules.combined import Budget


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy:
    """Plays the arm of the largest estimate x'theta; it never explores.

    `ties` go to the "lowest" index, or at "random".

    >>> Greedy()
    Greedy(ties='lowest')
    """

    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        one_of("ties", self.ties, TIES)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The greedy arm."""
        arm, propensity = self.pick(posterior, rng)
        return Choice(arm, False, None, "", None, propensity, 0.0)

    def pick(self, posterior: Posterior, rng: np.random.Generator) -> tuple[int, float]:
        """The greedy arm, and with which probability it is picked among ties."""
        if self.ties == "lowest":
            return posterior.greedy, 1.0
        return pick(posterior.estimates, self.ties, rng)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the greedy arm; shared among ties that are broken at random."""
        if self.ties == "lowest":
            return float(arm == posterior.greedy)
        return pick_propensity(posterior.estimates, self.ties, arm)

    def compiled(self) -> CompiledSpec:
        """Greedy in every round."""
        random_ties = self.ties == "random"
        base = BaseSpec(Kind.GREEDY, Reads.READS_SCORES, random_ties=random_ties)
        return CompiledSpec(base, schedule=never(), random_ties=random_ties)


GREEDIES: dict[Ties, Greedy] = {"lowest": Greedy(), "random": Greedy(ties="random")}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Plays an arm drawn uniformly.

    >>> from infex import Bandit
    >>> from infex.policies import Uniform
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], Uniform()).ask().propensity
    0.5
    """

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """Any arm."""
        return uniform_choice(len(posterior), rng)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1/K for every arm."""
        return 1.0 / len(posterior)

    def compiled(self) -> CompiledSpec:
        """Uniform in every round."""
        return CompiledSpec(BaseSpec(Kind.UNIFORM, Reads.READS_NOTHING))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonGreedy:
    """Plays a uniform arm with probability eps_t, else the greedy one; all data enter the ridge.

    `rate` is eps: a number, a function of the round, or None for min(1, t^(-1/3)), the rate
    that balances exploring and greedy regret (Lattimore and Szepesvari, 2020).

    `ties` go to the "lowest" index, or at "random".

    >>> EpsilonGreedy().eps(8)
    0.5
    >>> EpsilonGreedy(rate=0.1).eps(8)
    0.1
    """

    rate: float | Callable[[int], float] | None = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        one_of("ties", self.ties, TIES)
        if self.rate is not None and not callable(self.rate):
            set_fields(self, rate=real("rate", self.rate, least=0, most=1))

    def eps(self, t: int) -> float:
        """The probability of exploring in round t."""
        if self.rate is None:
            return min(1.0, float(t ** (-1.0 / 3.0)))
        if not callable(self.rate):
            return self.rate
        value = self.rate(t)
        try:
            return real("rate", value, least=0, most=1)
        except InvalidSetting as error:
            raise InvalidSetting(f"in round {t}: {error}") from None

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """A uniform arm with probability eps, else the greedy one."""
        eps = self.eps(t)
        tries = bool(rng.random() < eps)
        arm = int(rng.integers(len(posterior))) if tries else GREEDIES[self.ties].pick(posterior, rng)[0]
        uniform, greedy = 1.0 / len(posterior), GREEDIES[self.ties].propensity(t, posterior, arm)
        return Choice(arm, tries, None, "", None, eps * uniform + (1.0 - eps) * greedy, eps, uniform)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """eps/K for every arm, and 1 - eps more for the greedy one."""
        eps = self.eps(t)
        greedy = GREEDIES[self.ties].propensity(t, posterior, arm)
        return eps / len(posterior) + (1.0 - eps) * greedy

    def compiled(self) -> CompiledSpec | None:
        """With a rate that needs no Python."""
        if callable(self.rate):
            return None
        rate = -1.0 if self.rate is None else self.rate
        random_ties = self.ties == "random"
        return CompiledSpec(
            BaseSpec(Kind.EPSILON_GREEDY, Reads.READS_SCORES, rate=rate, random_ties=random_ties)
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreThenCommit:
    """Explores for the first `rounds`, by uniform arms or in turn (`order`), then is greedy for good.

    With `order="design"` arms are drawn by an optimal design (`lab.optimal_design`). After them it plays
    the greedy arm of all data, or with `then="commit"` that of the exploring rounds alone, which among fixed
    arms is one arm for ever (Lattimore and Szepesvari, 2020, chapter 6).

    Without `rounds` the length is (T/2)^(2/3) d^(1/3) for a `horizon` T, which a simulation tells
    by itself: it balances what n rounds of exploring cost against the T sqrt(d/n) that greedy loses
    by the error of its estimate after them.

    `ties` go to the "lowest" index, or at "random".

    >>> ExploreThenCommit(horizon=10_000).length(dim=10)
    630
    """

    rounds: int | None = None
    order: Literal["uniform", "robin", "design"] = "uniform"
    then: Literal["greedy", "commit"] = "greedy"
    horizon: int | None = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        one_of("order", self.order, ("uniform", "robin", "design"))
        one_of("then", self.then, ("greedy", "commit"))
        one_of("ties", self.ties, TIES)
        set_fields(self, rounds=optional(whole, "rounds", self.rounds, least=0))
        set_fields(self, horizon=optional(whole, "horizon", self.horizon, least=1))

    @property
    def uses_explored(self) -> bool:
        """Are exploring rounds kept apart?"""
        return self.then == "commit"

    def for_problem(self, instance: Problem, horizon: int) -> "ExploreThenCommit":
        """The policy once it is told the problem: the length of its first phase."""
        if self.rounds is not None:
            return self
        known = self if self.horizon is not None else replace(self, horizon=horizon)
        return replace(self, rounds=known.length(int(instance.theta.size)))

    @property
    def missing_setting(self) -> str | None:
        """Is neither the length of the first phase nor the horizon known?"""
        known = self.rounds is not None or self.horizon is not None
        return None if known else "how long to explore is not known: say rounds, or the horizon"

    def length(self, dim: int) -> int:
        """How many rounds explore."""
        if self.rounds is not None:
            return self.rounds
        if self.horizon is None:
            raise InvalidSetting(self.missing_setting)
        balanced = float((self.horizon / 2.0) ** (2.0 / 3.0) * dim ** (1.0 / 3.0))
        return min(self.horizon, math.ceil(balanced))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """An arm of the first phase, or the greedy one."""
        if t > self.length(posterior.dim):
            seen = posterior.explored if self.then == "commit" else posterior
            return GREEDIES[self.ties].choose(t, seen, rng)
        if self.order == "uniform":
            return uniform_choice(len(posterior), rng)
        if self.order == "design":
            return draw(optimal_design(posterior.arms), rng)
        return exploring_choice((t - 1) % len(posterior), 1.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1/K, the arm's share of the design or the arm whose turn it is; then 1 for the greedy one."""
        if t > self.length(posterior.dim):
            seen = posterior.explored if self.then == "commit" else posterior
            return GREEDIES[self.ties].propensity(t, seen, arm)
        if self.order == "uniform":
            return 1.0 / len(posterior)
        if self.order == "design":
            return float(optimal_design(posterior.arms)[arm])
        return float(arm == (t - 1) % len(posterior))

    def compiled(self) -> CompiledSpec | None:
        """Exploring at first and greedy for good, if the length is known and no design is needed."""
        if self.rounds is None or self.order == "design":
            return None
        base = BaseSpec(Kind.UNIFORM if self.order == "uniform" else Kind.ROUND_ROBIN, Reads.READS_NOTHING)
        if self.then == "commit":
            wrap = WrapperSpec(Wrap.COMMITS, second=self.rounds, random_ties=self.ties == "random")
            return CompiledSpec(base, is_base=False, wrap=wrap, apart=True)
        first = Budget(always(), self.rounds)
        return CompiledSpec(base, schedule=first, random_ties=self.ties == "random", is_base=False)


SECOND_BASE = LinUCB()
NOT_GIVEN = -1.0


class GreedyFirstState(NamedTuple):
    """Has it switched, the level if it is known (else -1), and the base's state."""

    switched: bool
    level: float
    base: Any = None


SINGULAR = 1e-12  # of the trace: an eigenvalue below it is rounding


@final
@dataclass(frozen=True, slots=True)
class GreedyFirst(StatefulPolicy):
    """Greedy until contexts prove too alike, then `base` for good (Bastani, Bayati and Khosravi, 2021).

    After n rewards, more than `wait`, the smallest eigenvalue of sum x x' is compared with `level`
    n/4; once it is below, the base decides in every round. Without a `level` it is half of the
    smallest eigenvalue over n after the first `wait` rewards (8 d if not named). It is made for
    estimators that forget nothing.

    >>> from infex import LinUCB
    >>> from infex.lab import environments, play
    >>> from infex.policies import GreedyFirst
    >>> instance = environments.changing(dim=3, arms=5, seed=1)
    >>> play(instance, GreedyFirst(LinUCB()), horizon=50).horizon
    50
    """

    base: Policy = SECOND_BASE
    level: float | None = None
    wait: int | None = None
    _base_info: PolicyInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        set_fields(self, _base_info=policy_info(checked("base", self.base)))
        set_fields(self, level=optional(real, "level", self.level, least=0))
        set_fields(self, wait=optional(whole, "wait", self.wait, least=0))

    __repr__ = repr_settings

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The greedy arm, or the base's."""
        state = self._state(posterior)
        if not state.switched:
            kept = None if state.level == NOT_GIVEN else state
            return GREEDIES["lowest"].choose(t, posterior, rng)._replace(policy_state=kept)
        choice = choose_allowed(self._base_info, t, posterior.with_policy_state(state.base), rng)
        inner = state.base if choice.policy_state is None else choice.policy_state
        return choice._replace(policy_state=state._replace(base=inner))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """That of the greedy arm, or the base's."""
        state = self._state(posterior)
        if not state.switched:
            return GREEDIES["lowest"].propensity(t, posterior, arm)
        return propensity_allowed(self._base_info, t, posterior.with_policy_state(state.base), arm)

    def _state(self, posterior: Posterior) -> GreedyFirstState:
        """Its state in this round: has it switched, now or before?"""
        state: GreedyFirstState = posterior.policy_state or GreedyFirstState(
            False, NOT_GIVEN if self.level is None else self.level
        )
        if state.switched:
            return state
        moments = posterior.moments
        if moments.n_observations <= (8 * moments.moment.size if self.wait is None else self.wait):
            return state
        least, trace = moments.least_eigenvalue()
        level = least / moments.n_observations / 2.0 if state.level == NOT_GIVEN else state.level
        alike = least < level * moments.n_observations / 4.0 or least <= SINGULAR * trace
        return state._replace(switched=bool(alike), level=level)

    def restore_state(self, state: object, dim: int) -> GreedyFirstState | None:
        """A state of its own, with the base's."""
        if not isinstance(state, GreedyFirstState) or type(state.switched) is not bool:
            return None
        if not are_numbers((state.level,), 1):
            return None
        inner = restore_state(self.base, state.base, dim)
        return None if (inner is None) != (state.base is None) else state._replace(base=inner)

    def compiled(self) -> CompiledSpec | None:
        """Greedy until it switches, if compiled loops can play the base."""
        level, wait = (NOT_GIVEN if number is None else number for number in (self.level, self.wait))
        return wrapped(self.base, WrapperSpec(Wrap.GREEDY_FIRST, level, wait))
