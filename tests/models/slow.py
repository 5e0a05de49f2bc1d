"""Slow and obvious versions of the estimators: everything from the list of all rewards."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from infex.arrays import Floats
from infex.models import Discounted, Lasso, Logistic, Ridge, Weighted, Windowed


class Told(NamedTuple):
    arm: int
    reward: float
    weight: float = 1.0


class Case(NamedTuple):
    """Arms in the unit ball, rewards that fit an estimator, and a penalty; no rewards at all, too."""

    estimator: Any
    arms: Floats
    told: list[Told]
    penalty: float
    rng: np.random.Generator


class Slow(NamedTuple):
    theta: Floats
    covariance: Floats
    log_det_ratio: float


def by_first(x: Floats) -> float:
    """The weight of a reward, by the first feature."""
    return float(0.2 + x[0] ** 2)


ESTIMATORS = st.one_of(
    st.just(Ridge()),
    st.builds(Ridge, penalty=st.floats(0.05, 20)),
    st.builds(Discounted, rate=st.floats(0.3, 1)),
    st.builds(Windowed, size=st.integers(1, 50)),
    st.just(Weighted(weight=by_first)),
    st.builds(Lasso, strength=st.floats(1e-3, 0.5)),
    st.just(Logistic()),
    st.builds(Logistic, penalty=st.floats(0.05, 20)),
)
ALL = [
    Ridge(),
    Discounted(rate=0.9),
    Windowed(size=17),
    Weighted(weight=by_first),
    Lasso(strength=0.02),
    Logistic(),
]
IN_ORDER = [Discounted(rate=0.9), Windowed(size=17)]


@st.composite
def cases(draw: Any, estimators: Any = ESTIMATORS, weighted: bool = False) -> Case:
    estimator = draw(estimators)
    most = 4 if isinstance(estimator, Lasso) else 7
    dim, count = draw(st.integers(1, most)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    arms = rng.standard_normal((count, dim))
    arms *= rng.random((count, 1)) / np.linalg.norm(arms, axis=1, keepdims=True)
    told = []
    for _ in range(draw(st.integers(0, 80))):
        reward = rng.random() < 0.7 if isinstance(estimator, Logistic) else rng.standard_normal()
        weight = 1.0 if isinstance(estimator, Logistic) or not weighted else rng.uniform(0.1, 3)
        told.append(Told(int(rng.integers(count)), float(reward), float(weight)))
    return Case(estimator, arms, told, 10 ** draw(st.floats(-1, 1)), rng)


def slow(case: Case) -> Slow:
    """Estimate, covariance and log_det_ratio from their definitions."""
    estimator, arms, told, _, _ = case
    penalty = getattr(estimator, "penalty", None) or case.penalty
    kept: Sequence[Told] = told[-estimator.size :] if isinstance(estimator, Windowed) else told
    x = arms[[each.arm for each in kept]].reshape(len(kept), arms.shape[1])
    y = np.array([each.reward for each in kept])
    own = np.array([each.weight for each in kept])
    fade: Floats = np.ones(len(kept))
    if isinstance(estimator, Weighted):
        own = own * np.array([by_first(row) for row in x])
    if isinstance(estimator, Discounted):
        fade = np.asarray(estimator.rate ** np.arange(len(kept) - 1, -1, -1), dtype=np.float64)
    ridge = penalty * np.eye(arms.shape[1])
    if isinstance(estimator, Logistic):
        theta = slow_logistic(x, y, penalty)
        chances = 1 / (1 + np.exp(-x @ theta))
        noise = hessian = ridge + (x.T * (chances * (1 - chances))) @ x
    else:
        hessian, noise = ridge + (x.T * (own * fade)) @ x, ridge + (x.T * (own * fade**2)) @ x
        theta = np.linalg.solve(hessian, x.T @ (own * fade * y))
    if isinstance(estimator, Lasso):
        theta = slow_lasso(x, y, own, estimator.strength)
    inverse = np.linalg.inv(hessian)
    return Slow(theta, inverse @ noise @ inverse, float(np.linalg.slogdet(noise / penalty)[1]))


def logistic_loss(x: Floats, y: Floats, penalty: float, theta: Floats) -> float:
    odds = x @ theta
    return float(np.sum(np.log1p(np.exp(odds)) - y * odds) + penalty * theta @ theta / 2)


def logistic_slope(x: Floats, y: Floats, penalty: float, theta: Floats) -> Floats:
    return np.asarray(x.T @ (1 / (1 + np.exp(-x @ theta)) - y) + penalty * theta)


def slow_logistic(x: Floats, y: Floats, penalty: float) -> Floats:
    """Newton's method from 0, each step halved until the loss falls."""
    theta = np.zeros(x.shape[1])
    for _ in range(60):
        chances = 1 / (1 + np.exp(-x @ theta))
        hessian = penalty * np.eye(x.shape[1]) + (x.T * (chances * (1 - chances))) @ x
        step = np.linalg.solve(hessian, -logistic_slope(x, y, penalty, theta))
        size, now = 1.0, logistic_loss(x, y, penalty, theta)
        while size > 1e-3 and logistic_loss(x, y, penalty, theta + size * step) > now + 1e-12:
            size /= 2
        theta = theta + size * step
    return theta


def slow_lasso(x: Floats, y: Floats, weights: Floats, strength: float) -> Floats:
    """The best of all parameters that solve the problem for given signs of their coefficients."""
    theta, least = np.zeros(x.shape[1]), 0.0
    gram, moment = (x.T * weights) @ x / max(len(y), 1), x.T @ (weights * y) / max(len(y), 1)
    for pattern in itertools.product((-1.0, 0.0, 1.0), repeat=x.shape[1]):
        signs = np.array(pattern)
        part = np.flatnonzero(signs)
        inner = gram[np.ix_(part, part)]
        if part.size == 0 or np.linalg.cond(inner) > 1e12:
            continue
        found = np.zeros(signs.size)
        found[part] = np.linalg.solve(inner, moment[part] - strength * signs[part])
        loss = found @ gram @ found / 2 - moment @ found + strength * np.abs(found).sum()
        if loss < least and np.array_equal(np.sign(found), signs):
            theta, least = found, float(loss)
    return theta
