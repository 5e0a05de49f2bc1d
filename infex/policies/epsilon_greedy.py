"""Epsilon-greedy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from infex.checks import one_of, real
from infex.core.choosing import Kind, Reads
from infex.errors import InvalidSetting
from infex.linear import Posterior
from infex.policies.choice import Choice
from infex.policies.form import BaseForm, Form
from infex.policies.greedy import GREEDIES
from infex.policies.ties import TIES, Ties


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

    def compiled(self) -> Form | None:
        """With a rate that needs no Python."""
        if callable(self.rate):
            return None
        rate = -1.0 if self.rate is None else self.rate
        tied = self.ties == "random"
        return Form(BaseForm(Kind.EPSILON_GREEDY, Reads.READS_SCORES, rate=rate, random_ties=tied))

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """A uniform arm with probability eps, else the greedy one."""
        eps = self.eps(t)
        tries = bool(rng.random() < eps)
        arm = int(rng.integers(len(posterior))) if tries else GREEDIES[self.ties].picked(posterior, rng)[0]
        law, share = 1.0 / len(posterior), GREEDIES[self.ties].propensity(t, posterior, arm)
        return Choice(arm, tries, None, "", None, eps * law + (1.0 - eps) * share, eps, law)

    def propensity(self, t: int, posterior: Posterior, arm: int) -> float:
        """eps/K for every arm, and 1 - eps more for the greedy one."""
        eps = self.eps(t)
        greedy = GREEDIES[self.ties].propensity(t, posterior, arm)
        return eps / len(posterior) + (1.0 - eps) * greedy
