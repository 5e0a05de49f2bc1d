"""Bandits and online regressions of river."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from infex.adapters.scoring import ScoringPolicy
from infex.arrays import Floats
from infex.errors import InvalidSetting
from infex.models.posterior import Posterior
from infex.policies.choice import Choice


@runtime_checkable
class RiverPolicy(Protocol):
    """What river calls a policy of `river.bandit`."""

    def pull(self, arm_ids: Sequence[int], /) -> Any:
        """One of the arms."""

    def update(self, arm_id: int, reward: float, /) -> Any:
        """Takes in a reward."""


@runtime_checkable
class RiverModel(Protocol):
    """What river calls a regressor."""

    def predict_one(self, x: dict[int, float], /) -> Any:
        """The reward it expects."""

    def learn_one(self, x: dict[int, float], y: float, /) -> Any:
        """Takes in a reward."""


@final
class PullPolicy:
    """A policy of `river.bandit` over arms by their places; it sees no features."""

    def __init__(self, policy: RiverPolicy) -> None:
        self._policy = policy

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm that it pulls."""
        return Choice(int(self._policy.pull(range(len(posterior)))))

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Tells it the reward."""
        self._policy.update(arm, reward)

    def __repr__(self) -> str:
        return f"from_river({type(self._policy).__name__})"


@final
class OneByOne:
    """A regressor of river, asked for many rows."""

    def __init__(self, model: RiverModel) -> None:
        self.model = model

    def scores(self, rows: Floats) -> Floats:
        """What it expects of each row."""
        return np.array([self.model.predict_one(dict(enumerate(row))) for row in rows.tolist()])

    def take(self, row: Floats, reward: float) -> None:
        """Learns a reward."""
        self.model.learn_one(dict(enumerate(row.tolist())), reward)


def from_river(thing: RiverPolicy | RiverModel) -> PullPolicy | ScoringPolicy:
    """A policy of `river.bandit` (`pull` and `update`), or a regressor (`predict_one` and `learn_one`).

    A regressor plays the arm of which it expects most, and so does as `greedy` of `Infex`.

    `thing` is one of them, fresh: what it learns stays in it.

    >>> class Mean:
    ...     def predict_one(self, x):
    ...         return x[0]
    ...     def learn_one(self, x, y):
    ...         pass
    >>> import infex
    >>> policy = infex.Infex(infex.LinUCB(), infex.every(20), greedy=from_river(Mean()))
    >>> infex.play(infex.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
    5
    """
    if isinstance(thing, RiverPolicy):
        return PullPolicy(thing)
    if isinstance(thing, RiverModel):
        return ScoringPolicy(OneByOne(thing), f"from_river({type(thing).__name__})")
    raise InvalidSetting(
        "from_river takes a policy with pull and update, or a model with predict_one and learn_one; "
        f"got {type(thing).__name__}"
    )
