"""Explore, then commit."""

import math
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np

from infex.checks import one_of, whole
from infex.core.choosing import Kind, Reads, Wrap
from infex.errors import InvalidSetting
from infex.linear import Posterior
from infex.policies.choice import Choice, explored
from infex.policies.form import BaseForm, Form, WrapForm
from infex.policies.greedy import GREEDIES
from infex.policies.ties import TIES, Ties
from infex.policies.traits import Played
from infex.schedules import always
from infex.schedules.budgeting import Budget


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

    def informed(self, instance: Played, horizon: int) -> "ExploreThenCommit":
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

    def compiled(self) -> Form | None:
        """Exploring at first and greedy for good, if the length is known."""
        if self.rounds is None:
            return None
        base = BaseForm(Kind.UNIFORM if self.order == "uniform" else Kind.ROUND_ROBIN, Reads.READS_NOTHING)
        if self.then == "commit":
            wrap = WrapForm(Wrap.COMMITS, second=self.rounds, random_ties=self.ties == "random")
            return Form(base, is_base=False, wrap=wrap, apart=True)
        first = Budget(always(), self.rounds)
        return Form(base, schedule=first, random_ties=self.ties == "random", is_base=False)

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
