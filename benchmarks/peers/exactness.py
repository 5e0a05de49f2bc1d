"""How exact estimates are: ridge regression on nearly collinear contexts, against 60 digits of mpmath."""

import functools
from collections.abc import Callable

import mpmath
import numpy as np
from contextualbandits.linreg import LinearRegression
from mabwiser.mab import MAB, LearningPolicy
from numpy.typing import NDArray
from river.linear_model import BayesianLinearRegression
from sklearn.linear_model import Ridge

import infex

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
DIM, COUNT, ARMS = 6, 400, 2


def exactness_table() -> dict[str, dict[str, float]]:
    """By data: the greatest error of an estimate, against the largest estimate, by library."""
    plain = np.random.default_rng(6).normal(size=(COUNT, DIM))
    alike = plain[:, :1] + 1e-4 * plain
    return {"ordinary contexts": errors(plain), "nearly collinear contexts, times 100": errors(100.0 * alike)}


def errors(contexts: Floats) -> dict[str, float]:
    """The error of each library on one set of contexts, with rewards by a linear law and noise."""
    rng = np.random.default_rng(7)
    arms = rng.integers(0, ARMS, len(contexts))
    rewards = contexts @ rng.normal(size=DIM) + rng.normal(size=len(contexts))
    tests = contexts[:50]
    truth = np.array([exact(contexts[arms == arm], rewards[arms == arm], tests) for arm in range(ARMS)]).T
    size = np.abs(truth).max()
    found = {name: way(contexts, arms, rewards, tests) for name, way in WAYS.items()}
    return {name: float(np.abs(each - truth).max() / size) for name, each in found.items()}


def exact(contexts: Floats, rewards: Floats, tests: Floats) -> list[float]:
    """Ridge regression with a penalty of 1, with 60 digits."""
    with mpmath.workdps(60):
        x, y = mpmath.matrix(contexts.tolist()), mpmath.matrix(rewards.tolist())
        theta = mpmath.lu_solve(x.T * x + mpmath.eye(DIM), x.T * y)
        return [float(each) for each in mpmath.matrix(tests.tolist()) * theta]


def by_infex(contexts: Floats, arms: Integers, rewards: Floats, tests: Floats) -> Floats:
    """`learn`, and the estimates in each context."""
    longest = float(np.linalg.norm(contexts, axis=1).max()) * 1.01
    shop = infex.features.disjoint(ARMS, DIM, longest=longest)
    bandit = infex.Bandit(features=shop, policy=infex.Greedy())
    bandit.learn(contexts, arms, rewards)
    return np.array([bandit.estimates(context=test).estimate for test in tests])


def by_mabwiser(contexts: Floats, arms: Integers, rewards: Floats, tests: Floats) -> Floats:
    """LinGreedy, whose expectations are its estimates."""
    model = MAB(list(range(ARMS)), LearningPolicy.LinGreedy(epsilon=0.0, l2_lambda=1.0))
    model.fit(arms, rewards, contexts)
    return np.array([[each[arm] for arm in range(ARMS)] for each in model.predict_expectations(tests)])


def by_contextualbandits(
    use_float: bool, contexts: Floats, arms: Integers, rewards: Floats, tests: Floats
) -> Floats:
    """The regression that its LinUCB has for each arm, by the same method."""
    found = []
    for arm in range(ARMS):
        model = LinearRegression(lambda_=1.0, fit_intercept=False, method="sm", use_float=use_float)
        model.fit(contexts[arms == arm], rewards[arms == arm])
        found.append(np.asarray(model.predict(tests), dtype=float))
    return np.array(found).T


def by_river(contexts: Floats, arms: Integers, rewards: Floats, tests: Floats) -> Floats:
    """The regression that its LinUCB has for each arm."""
    models = [BayesianLinearRegression(alpha=1.0, beta=1.0) for _ in range(ARMS)]
    for context, arm, reward in zip(contexts, arms, rewards, strict=True):
        models[arm].learn_one(dict(enumerate(context)), float(reward))
    return np.array([[model.predict_one(dict(enumerate(test))) for model in models] for test in tests])


def by_sklearn(contexts: Floats, arms: Integers, rewards: Floats, tests: Floats) -> Floats:
    """scikit-learn's ridge, which is no bandit, for orientation."""
    fits = [
        Ridge(alpha=1.0, fit_intercept=False).fit(contexts[arms == k], rewards[arms == k])
        for k in range(ARMS)
    ]
    return np.array([fit.predict(tests) for fit in fits]).T


WAYS: dict[str, Callable[[Floats, Integers, Floats, Floats], Floats]] = {
    "infex": by_infex,
    "MABWiser": by_mabwiser,
    "contextualbandits, 64 bits": functools.partial(by_contextualbandits, False),
    "contextualbandits, its default of 32 bits": functools.partial(by_contextualbandits, True),
    "river": by_river,
    "scikit-learn Ridge": by_sklearn,
}
