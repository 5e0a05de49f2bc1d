"""Learners and models of other libraries as policies: bases of `Infex`, or models of its greedy rounds.

No other library is imported here: what is handed over brings its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidChoice, InvalidSetting, NotKept
from infex.models.posterior import Posterior
from infex.policies.choice import Choice, best

__all__ = ["from_coba", "from_mabwiser", "from_river", "from_sklearn"]


class Scorer(Protocol):
    """What scores rows and learns rewards."""

    def scores(self, rows: Floats) -> Floats:
        """What it expects of each row, (K,)."""

    def take(self, row: Floats, reward: float) -> None:
        """Learns a reward."""


@final
class ScoringPolicy:
    """Plays the arm of which a model expects most, the lowest index among ties."""

    def __init__(self, scorer: Scorer, name: str) -> None:
        self._scorer, self._name = scorer, name

    def choose(self, t: int, posterior: Posterior, rng: np.random.Generator) -> Choice:
        """The arm of the largest score."""
        return Choice(best(self._scorer.scores(np.array(posterior.arms))))

    def learn(self, arm: int, features: Floats, reward: float, explored: bool) -> None:
        """Tells it the reward."""
        self._scorer.take(features, reward)

    def __repr__(self) -> str:
        return self._name


class PartialRegressor(Protocol):
    """What scikit-learn calls a regressor with `partial_fit`."""

    def partial_fit(self, rows: Floats, rewards: Floats, /) -> Any:
        """Learns from some rewards more."""

    def predict(self, rows: Floats, /) -> Any:
        """What it expects of each row."""


@final
class BitByBit:
    """A regressor that expects nothing of any arm before its first reward: it cannot predict until then."""

    def __init__(self, model: PartialRegressor) -> None:
        self.model, self._fitted = model, False

    def scores(self, rows: Floats) -> Floats:
        """What it expects of each row."""
        return np.asarray(self.model.predict(rows), dtype=np.float64) if self._fitted else np.zeros(len(rows))

    def take(self, row: Floats, reward: float) -> None:
        """Learns a reward."""
        self.model.partial_fit(row[None], np.array([reward]))
        self._fitted = True


def from_sklearn(model: PartialRegressor) -> ScoringPolicy:
    """A policy that plays the arm of which a regressor (`partial_fit` and `predict`) expects most.

    `model` is such a regressor, fresh: what it learns stays in it.

    >>> class Last:
    ...     def partial_fit(self, rows, rewards):
    ...         self.reward = rewards[-1]
    ...     def predict(self, rows):
    ...         return np.full(len(rows), self.reward)
    >>> import infex
    >>> policy = infex.Infex(infex.LinUCB(), infex.every(20), greedy=from_sklearn(Last()))
    >>> infex.lab.play(infex.lab.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
    5
    """
    return ScoringPolicy(BitByBit(model), f"from_sklearn({type(model).__name__})")


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
    >>> infex.lab.play(infex.lab.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
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
    >>> infex.lab.play(infex.lab.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
    5
    """
    return MabPolicy(make)


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
    >>> infex.lab.play(infex.lab.environments.gaussian(dim=3, arms=5, seed=1), policy, 100).explored
    5
    """
    return CobaPolicy(learner)
