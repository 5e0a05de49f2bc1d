"""Bandits of MABWiser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, final

import numpy as np

from infex.arrays import Floats
from infex.errors import NotKept
from infex.models.posterior import Posterior
from infex.policies.choice import Choice


class Mab(Protocol):
    """What MABWiser calls a MAB, without contexts."""

    def fit(self, decisions: Sequence[int], rewards: Sequence[float], /) -> Any:
        """Learns from some rewards alone."""

    def partial_fit(self, decisions: Sequence[int], rewards: Sequence[float], /) -> Any:
        """Learns from some rewards more."""

    def predict(self) -> Any:
        """An arm."""


@final
class MabPolicy:
    """A MAB of MABWiser over fixed arms, by their places; it sees no features."""

    def __init__(self, make: Callable[[list[int]], Mab]) -> None:
        self._make = make
        self._mab: Mab | None = None
        self._fitted = False

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The MAB's arm; one that `rng` draws before the first reward, as it cannot predict until then."""
        if not posterior.fixed:
            raise NotKept("a MAB knows fixed arms alone, and these change")
        if self._mab is None:
            self._mab = self._make(list(range(len(posterior))))
        return Choice(int(self._mab.predict()) if self._fitted else int(rng.integers(len(posterior))))

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Tells it the reward, from its own first choice on."""
        if self._mab is not None:
            (self._mab.partial_fit if self._fitted else self._mab.fit)([arm], [reward])
            self._fitted = True

    def __repr__(self) -> str:
        return f"from_mabwiser({self._make.__qualname__})"


def from_mabwiser(make: Callable[[list[int]], Mab]) -> MabPolicy:
    """A policy that plays as a MAB of MABWiser does, which `make` makes of the arms, 0 to K - 1.

    `from_mabwiser(lambda arms: MAB(arms, LearningPolicy.UCB1(alpha=1.25)))`; policies with contexts need one
    context for all arms, which infex does not have.

    >>> class Last:
    ...     def __init__(self, arms):
    ...         self.arms = arms
    ...     def fit(self, decisions, rewards):
    ...         pass
    ...     partial_fit = fit
    ...     def predict(self):
    ...         return self.arms[-1]
    >>> import infex
    >>> policy = infex.Infex(from_mabwiser(Last), infex.every(20))
    >>> infex.play(infex.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
    5
    """
    return MabPolicy(make)
