"""Learners of coba."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidChoice
from infex.models.posterior import Posterior
from infex.policies.choice import Choice

CERTAIN: tuple[float, Mapping[str, Any]] = (1.0, {})


class CobaLearner(Protocol):
    """What coba calls a learner."""

    def predict(self, context: None, actions: Sequence[Any], /) -> Any:
        """An action with its probability and what it wants to be told again, or a law of all actions."""

    def learn(self, context: None, action: Any, reward: float, probability: float, /, **info: Any) -> None:
        """Takes in the reward of an action."""


@final
class CobaPolicy:
    """A learner of coba as a policy: its actions are the arms' features, and there is no context."""

    def __init__(self, learner: CobaLearner) -> None:
        self._learner = learner
        self._told: dict[int, tuple[float, Mapping[str, Any]]] = {}  # of each arm, when it was chosen last

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The learner's action; one that `rng` draws, where it gives a law."""
        actions = [tuple(row) for row in posterior.arms.tolist()]
        found = self._learner.predict(None, actions)
        if not isinstance(found, Sequence) or len(found) == 0:
            raise InvalidChoice(f"a learner of coba must give an action or a law, got {type(found).__name__}")
        if found[0] in actions:
            arm, chance = actions.index(found[0]), float(found[1])
            self._told[arm] = chance, found[2] if len(found) > 2 else {}
            return Choice(arm)
        law = np.array(found, dtype=np.float64)
        if law.shape != (len(actions),) or not abs(law.sum() - 1.0) < 1e-6:
            raise InvalidChoice(f"a law of {len(actions)} actions must add up to 1, got {law.size} numbers")
        arm = int(rng.choice(law.size, p=law / law.sum()))
        self._told[arm] = float(law[arm]), {}
        return Choice(arm)

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Tells it the reward; an arm that it did not choose itself was played with certainty."""
        chance, info = self._told.get(arm, CERTAIN) if explored else CERTAIN
        self._learner.learn(None, tuple(features.tolist()), reward, chance, **info)

    def __repr__(self) -> str:
        return f"from_coba({type(self._learner).__name__})"


def from_coba(learner: CobaLearner) -> CobaPolicy:
    """A policy that plays as a learner of coba (`predict` and `learn`) does.

    >>> class First:
    ...     def predict(self, context, actions):
    ...         return actions[0], 1.0
    ...     def learn(self, context, action, reward, probability):
    ...         pass
    >>> import infex
    >>> policy = infex.Infex(from_coba(First()), infex.every(20))
    >>> infex.play(infex.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
    5
    """
    return CobaPolicy(learner)
