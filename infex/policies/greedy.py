"""Greedy, and policies that are greedy but for some rounds."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

import numpy as np

from infex.checks import one_of, real, repr_settings, whole
from infex.core.choosing import Kind, Reads, Wrap
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.base import (
    Policy,
    PolicyInfo,
    Problem,
    checked,
    choose_allowed,
    policy_info,
    propensity_allowed,
    restore_state,
)
from infex.policies.choice import TIES, Choice, Ties, explored, pick, share
from infex.policies.compiled import BaseSpec, CompiledSpec, WrapperSpec, wrapped
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

    def compiled(self) -> CompiledSpec:
        """Greedy in every round."""
        best_arms = self.ties == "random"
        base = BaseSpec(Kind.GREEDY, Reads.READS_SCORES, random_ties=best_arms)
        return CompiledSpec(base, schedule=never(), random_ties=best_arms)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The greedy arm."""
        arm, share = self.pick(posterior, rng)
        return Choice(arm, False, None, "", None, share, 0.0)

    def pick(self, posterior: Posterior, rng: np.random.Generator) -> tuple[int, float]:
        """The greedy arm, and with which probability it is picked among ties."""
        if self.ties == "lowest":
            return posterior.greedy, 1.0
        return pick(posterior.estimates, self.ties, rng)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1 for the greedy arm; shared among ties that are broken at random."""
        if self.ties == "lowest":
            return float(arm == posterior.greedy)
        return share(posterior.estimates, self.ties, arm)


GREEDIES: dict[Ties, Greedy] = {"lowest": Greedy(), "random": Greedy(ties="random")}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Plays an arm drawn uniformly.

    >>> from infex import Bandit, Uniform
    >>> Bandit([[1.0, 0.0], [0.0, 1.0]], Uniform()).ask().propensity
    0.5
    """

    def compiled(self) -> CompiledSpec:
        """Uniform in every round."""
        return CompiledSpec(BaseSpec(Kind.UNIFORM, Reads.READS_NOTHING))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """Any arm."""
        return explored(int(rng.integers(len(posterior))), 1.0 / len(posterior))

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1/K for every arm."""
        return 1.0 / len(posterior)


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
            object.__setattr__(self, "rate", real("rate", self.rate, least=0, most=1))

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

    def compiled(self) -> CompiledSpec | None:
        """With a rate that needs no Python."""
        if callable(self.rate):
            return None
        rate = -1.0 if self.rate is None else self.rate
        best_arms = self.ties == "random"
        return CompiledSpec(
            BaseSpec(Kind.EPSILON_GREEDY, Reads.READS_SCORES, rate=rate, random_ties=best_arms)
        )

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """A uniform arm with probability eps, else the greedy one."""
        eps = self.eps(t)
        tries = bool(rng.random() < eps)
        arm = int(rng.integers(len(posterior))) if tries else GREEDIES[self.ties].pick(posterior, rng)[0]
        law, share = 1.0 / len(posterior), GREEDIES[self.ties].propensity(t, posterior, arm)
        return Choice(arm, tries, None, "", None, eps * law + (1.0 - eps) * share, eps, law)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """eps/K for every arm, and 1 - eps more for the greedy one."""
        eps = self.eps(t)
        greedy = GREEDIES[self.ties].propensity(t, posterior, arm)
        return eps / len(posterior) + (1.0 - eps) * greedy


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreThenCommit:
    """Explores for the first `rounds`, by uniform arms or in turn (`order`), then is greedy for good.

    After them it plays the greedy arm of all data, or with `then="commit"` that of the exploring
    rounds alone, which among fixed arms is one arm for ever (Lattimore and Szepesvari, 2020,
    chapter 6).

    Without `rounds` the length is (T/2)^(2/3) d^(1/3) for a `horizon` T, which a simulation tells
    by itself: it balances what n rounds of exploring cost against the T sqrt(d/n) that greedy loses
    by the error of its estimate after them.

    `ties` go to the "lowest" index, or at "random".

    >>> ExploreThenCommit(horizon=10_000).length(dim=10)
    630
    """

    rounds: int | None = None
    order: Literal["uniform", "robin"] = "uniform"
    then: Literal["greedy", "commit"] = "greedy"
    horizon: int | None = None
    ties: Ties = "lowest"

    def __post_init__(self) -> None:
        one_of("order", self.order, ("uniform", "robin"))
        one_of("then", self.then, ("greedy", "commit"))
        one_of("ties", self.ties, TIES)
        if self.rounds is not None:
            object.__setattr__(self, "rounds", whole("rounds", self.rounds, least=0))
        if self.horizon is not None:
            object.__setattr__(self, "horizon", whole("horizon", self.horizon, least=1))

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

    def length(self, dim: int) -> int:
        """How many rounds explore."""
        if self.rounds is not None:
            return self.rounds
        if self.horizon is None:
            raise InvalidSetting("how long to explore is not known: say rounds, or the horizon")
        balanced = float((self.horizon / 2.0) ** (2.0 / 3.0) * dim ** (1.0 / 3.0))
        return min(self.horizon, math.ceil(balanced))

    def compiled(self) -> CompiledSpec | None:
        """Exploring at first and greedy for good, if the length is known."""
        if self.rounds is None:
            return None
        base = BaseSpec(Kind.UNIFORM if self.order == "uniform" else Kind.ROUND_ROBIN, Reads.READS_NOTHING)
        if self.then == "commit":
            wrap = WrapperSpec(Wrap.COMMITS, second=self.rounds, random_ties=self.ties == "random")
            return CompiledSpec(base, is_base=False, wrap=wrap, apart=True)
        first = Budget(always(), self.rounds)
        return CompiledSpec(base, schedule=first, random_ties=self.ties == "random", is_base=False)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """An arm of the first phase, or the greedy one."""
        if t > self.length(posterior.dim):
            seen = posterior.explored if self.then == "commit" else posterior
            return GREEDIES[self.ties].choose(t, seen, rng)
        if self.order == "uniform":
            return explored(int(rng.integers(len(posterior))), 1.0 / len(posterior))
        return explored((t - 1) % len(posterior), 1.0)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """1/K or the arm whose turn it is, then 1 for the greedy one."""
        if t > self.length(posterior.dim):
            seen = posterior.explored if self.then == "commit" else posterior
            return GREEDIES[self.ties].propensity(t, seen, arm)
        if self.order == "uniform":
            return 1.0 / len(posterior)
        return float(arm == (t - 1) % len(posterior))


SECOND_BASE = LinUCB()
NO_LEVEL = -1.0


class GreedyFirstState(NamedTuple):
    """Has it switched, the level if it is known, and the base's policy state."""

    switched: bool
    level: float
    base: Any = None


SINGULAR = 1e-12  # of the trace: an eigenvalue below it is rounding


@final
@dataclass(frozen=True, slots=True)
class GreedyFirst:
    """Greedy until contexts prove too alike, then `base` for good (Bastani, Bayati and Khosravi, 2021).

    After n rewards, more than `wait`, the smallest eigenvalue of sum x x' is compared with `level`
    n/4; once it is below, the base decides in every round. Without a `level` it is half of the
    smallest eigenvalue over n after the first `wait` rewards (8 d if not named). It is made for
    estimators that forget nothing.

    >>> from infex import GreedyFirst, LinUCB, environments, play
    >>> instance = environments.changing(dim=3, arms=5, seed=1)
    >>> play(instance, GreedyFirst(LinUCB()), horizon=50).horizon
    50
    """

    base: Policy = SECOND_BASE
    level: float | None = None
    wait: int | None = None
    _traits: PolicyInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_traits", policy_info(checked("base", self.base)))
        if self.level is not None:
            object.__setattr__(self, "level", real("level", self.level, least=0))
        if self.wait is not None:
            object.__setattr__(self, "wait", whole("wait", self.wait, least=0))

    def compiled(self) -> CompiledSpec | None:
        """Greedy until it switches, if compiled loops can play the base."""
        level = -1.0 if self.level is None else self.level
        return wrapped(
            self.base, WrapperSpec(Wrap.GREEDY_FIRST, level, -1.0 if self.wait is None else self.wait)
        )

    def accepts_state(self, policy_state: object, dim: int) -> bool:
        """One of its own."""
        inner = self._traits.accepts_state
        return isinstance(policy_state, GreedyFirstState) and (
            policy_state.base is None or inner is None or inner(policy_state.base, dim)
        )

    def restore_state(self, policy_state: Any) -> Any:
        """A policy state of its own, with the base's."""
        return (
            policy_state._replace(base=restore_state(self.base, policy_state.base))
            if isinstance(policy_state, GreedyFirstState)
            else policy_state
        )

    def __repr__(self) -> str:
        return repr_settings(self)

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The greedy arm, or the base's."""
        switched, level, inner = self._state(posterior)
        if switched:
            choice = choose_allowed(self.base, self._traits, t, posterior.with_policy_state(inner), rng)
            return choice._replace(
                policy_state=GreedyFirstState(
                    True, level, inner if choice.policy_state is None else choice.policy_state
                )
            )
        policy_state = None if level == NO_LEVEL else GreedyFirstState(False, level, inner)
        return GREEDIES["lowest"].choose(t, posterior, rng)._replace(policy_state=policy_state)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float | None:
        """That of the greedy arm, or the base's."""
        switched, _, inner = self._state(posterior)
        if switched:
            return propensity_allowed(self._traits, t, posterior.with_policy_state(inner), arm)
        return GREEDIES["lowest"].propensity(t, posterior, arm)

    def _state(self, posterior: Posterior) -> tuple[bool, float, Any]:
        """Has it switched, the level if it is known, and the base's policy state."""
        begun = GreedyFirstState(False, NO_LEVEL if self.level is None else self.level)
        switched, level, inner = posterior.policy_state or begun
        if switched:
            return True, level, inner
        moments = posterior.moments
        wait = 8 * moments.moment.size if self.wait is None else self.wait
        if moments.n_observations <= wait:
            return False, level, inner
        least, trace = moments.least_eigenvalue()
        if level == NO_LEVEL:
            level = least / moments.n_observations / 2.0
        return least < level * moments.n_observations / 4.0 or least <= SINGULAR * trace, level, inner
