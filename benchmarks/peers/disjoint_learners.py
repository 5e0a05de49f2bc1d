"""LinUCB with one ridge for each arm, as each library has it: alpha 1, penalty 1, no intercept."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from contextualbandits.online import LinUCB as ContextualLinUCB
from mabwiser.mab import MAB, LearningPolicy
from numpy.typing import NDArray
from pymab.policies import LinUCBPolicy
from river.bandit import LinUCBDisjoint
from vowpalwabbit import Workspace

import infex

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LONGEST = 2.0


class Learner(Protocol):
    """What all of them can do."""

    def choose(self, context: Floats) -> int:
        """The arm of a context."""

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """Takes in a reward."""


class BatchLearner(Learner, Protocol):
    """One that also takes many decisions at once."""

    def choose_many(self, contexts: Floats) -> Integers:
        """The arms of many contexts."""


class OfNumPy:
    """A careful loop: one (K, c, c) array of inverses, by Sherman and Morrison."""

    def __init__(self, arms: int, dim: int) -> None:
        self.inverses = np.array([np.eye(dim)] * arms)
        self.moments, self.thetas = np.zeros((arms, dim)), np.zeros((arms, dim))

    def choose(self, context: Floats) -> int:
        """The arm of the largest upper bound."""
        widths = np.sqrt((self.inverses @ context) @ context)
        return int(np.argmax(self.thetas @ context + widths))

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """One step of rank one."""
        u = self.inverses[arm] @ context
        self.inverses[arm] -= np.outer(u, u) / (1.0 + context @ u)
        self.moments[arm] += reward * context
        self.thetas[arm] = self.inverses[arm] @ self.moments[arm]

    def choose_many(self, contexts: Floats) -> Integers:
        """The arms of many contexts."""
        squares = np.einsum("nc,kcd,nd->nk", contexts, self.inverses, contexts, optimize=True)
        chosen: Integers = np.argmax(contexts @ self.thetas.T + np.sqrt(squares), axis=1)
        return chosen


class OfInfex:
    """A bandit with the map `disjoint`; a decision is an object with an id, a reason and an interval."""

    def __init__(self, arms: int, dim: int, policy: infex.Policy | None = None) -> None:
        shop = infex.features.disjoint(arms, dim, longest=LONGEST)
        chosen = policy or infex.policies.FixedBonusUCB(bonus=1.0)
        self.bandit = infex.Bandit(features=shop, policy=chosen, pending="ignore")  # as all others do
        self.last: infex.Decision | None = None

    def choose(self, context: Floats) -> int:
        """What `ask` decides."""
        self.last = self.bandit.ask(context=context)
        return self.last.arm

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """Tells of the last decision, or of a log."""
        if self.last is None:
            self.bandit.learn(context[None], [arm], [reward])
        else:
            self.bandit.tell(self.last, reward)

    def choose_many(self, contexts: Floats) -> Integers:
        """What `ask_many` decides."""
        return self.bandit.ask_many(contexts).arm


class OfMabwiser:
    """MABWiser."""

    def __init__(self, arms: int, dim: int) -> None:
        self.arms = list(range(arms))
        self.model = MAB(self.arms, LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0))
        zero = np.zeros((arms, dim))
        self.model.fit(self.arms, [0.0] * arms, zero)  # which makes it ready and teaches nothing

    def choose(self, context: Floats) -> int:
        """What `predict` gives."""
        return int(self.model.predict(context[None]))

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """By `partial_fit`."""
        self.model.partial_fit([arm], [reward], context[None])

    def choose_many(self, contexts: Floats) -> Integers:
        """What `predict` gives of many."""
        return np.array(self.model.predict(contexts))


class OfContextualbandits:
    """contextualbandits, with 64 bits."""

    def __init__(self, arms: int, dim: int, use_float: bool = False) -> None:
        self.model = ContextualLinUCB(arms, alpha=1.0, lambda_=1.0, fit_intercept=False, use_float=use_float)
        zero = np.zeros((arms, dim))
        self.model.fit(zero, np.arange(arms), np.zeros(arms))

    def choose(self, context: Floats) -> int:
        """What `predict` gives."""
        return int(self.model.predict(context[None])[0])

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """By `partial_fit`."""
        self.model.partial_fit(context[None], np.array([arm]), np.array([reward]))

    def choose_many(self, contexts: Floats) -> Integers:
        """What `predict` gives of many."""
        return np.asarray(self.model.predict(contexts))


class OfRiver:
    """river; its bonus is that of a prediction, another rule at the same cost."""

    def __init__(self, arms: int, dim: int) -> None:
        self.arms, self.model = list(range(arms)), LinUCBDisjoint(seed=1)

    def choose(self, context: Floats) -> int:
        """What `pull` gives."""
        return int(self.model.pull(self.arms, context=dict(enumerate(context))))

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """By `update`."""
        self.model.update(arm, dict(enumerate(context)), reward)


class OfPymab:
    """pymab, in Rust."""

    def __init__(self, arms: int, dim: int) -> None:
        self.model = LinUCBPolicy(n_arms=arms, n_features=dim, alpha=1.0)
        self.rng = np.random.default_rng(1)
        self.arms = arms

    def choose(self, context: Floats) -> int:
        """What `select_action` gives."""
        return int(self.model.select_action(rng=self.rng, context=np.tile(context, (self.arms, 1))))

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """By `update`."""
        self.model.update(action=arm, reward=reward, context=np.tile(context, (self.arms, 1)))


class OfVowpalWabbit:
    """Vowpal Wabbit: epsilon-greedy by stochastic gradient, from text; another algorithm."""

    def __init__(self, arms: int, dim: int) -> None:
        self.model = Workspace(f"--cb_explore {arms} --epsilon 0.05 --quiet")
        self.rng, self.chances = np.random.default_rng(1), np.ones(arms) / arms

    def choose(self, context: Floats) -> int:
        """An arm drawn with the chances that it gives."""
        chances = np.array(self.model.predict(f"| {_text(context)}"))
        self.chances = chances / chances.sum()
        return int(self.rng.choice(self.chances.size, p=self.chances))

    def learn(self, context: Floats, arm: int, reward: float) -> None:
        """By a cost with its chance."""
        self.model.learn(f"{arm + 1}:{-reward}:{self.chances[arm]} | {_text(context)}")


def _text(context: Floats) -> str:
    return " ".join(f"{place}:{value:.6g}" for place, value in enumerate(context))


LEARNERS: dict[str, Callable[[int, int], Learner]] = {
    "NumPy loop": OfNumPy,
    "infex": OfInfex,
    "pymab": OfPymab,
    "Vowpal Wabbit (SGD)": OfVowpalWabbit,
    "river": OfRiver,
    "contextualbandits": OfContextualbandits,
    "MABWiser": OfMabwiser,
}
