"""Kernels over fixed arms are linear bandits."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, LinUCB
from infex.errors import InfexError
from infex.features import kernel, rbf


@given(
    seed=st.integers(0, 10**6),
    arms=st.integers(1, 25),
    dim=st.integers(1, 3),
    told=st.sampled_from([0, 1, 8, 40]),
    penalty=st.sampled_from([0.1, 1.0]),
    scale=st.sampled_from([0.1, 1.0]),
)
@settings(max_examples=60, deadline=None)
def test_estimates_and_widths_are_those_of_a_gaussian_process(
    seed: int, arms: int, dim: int, told: int, penalty: float, scale: float
) -> None:
    """Mean k'(K + penalty I)^-1 y, variance (k(x, x) - k'(K + penalty I)^-1 k)/penalty."""
    rng = np.random.default_rng(seed)
    points, k = rng.normal(size=(arms, dim)), rbf(scale)
    bandit = Bandit(kernel(points, k), LinUCB(), penalty=penalty)
    pulls, rewards = rng.integers(arms, size=told), rng.normal(size=told)
    bandit.learn(arms=pulls.tolist(), rewards=rewards.tolist())
    posterior = bandit.posterior()
    gram = np.asarray(k(points[pulls], points[pulls])) + penalty * np.eye(told)
    across = np.asarray(k(points, points[pulls]))
    np.testing.assert_allclose(posterior.estimates, across @ np.linalg.solve(gram, rewards), atol=1e-7)
    explained = np.sum(across * np.linalg.solve(gram, across.T).T, axis=1)
    np.testing.assert_allclose(posterior.widths**2, (1.0 - explained) / penalty, atol=1e-6)
    volume = float(np.linalg.slogdet(gram / penalty)[1])
    assert posterior.log_det_ratio == pytest.approx(volume, abs=1e-6)


def test_a_rank_is_that_of_the_best_approximation() -> None:
    points = np.linspace(0, 1, 30)[:, None]
    gram = np.asarray(rbf(0.3)(points, points))
    values = np.linalg.eigvalsh(gram)
    for rank in (1, 3, 7):
        rows = kernel(points, rbf(0.3), rank=rank)
        assert rows.shape == (30, rank)
        assert np.linalg.norm(gram - rows @ rows.T, 2) == pytest.approx(values[-rank - 1], rel=1e-6)


def test_a_smooth_reward_is_learnt_by_few_arms() -> None:
    points = np.linspace(0, 1, 60)[:, None]
    bandit = Bandit(kernel(points, rbf(0.15)), LinUCB(noise=0.1, bound=2.0, scale=0.3))
    for _ in range(60):
        decision = bandit.ask()
        bandit.tell(decision, float(np.sin(6 * points[decision.arm, 0])))
    best = int(np.argmax(np.sin(6 * points[:, 0])))
    assert abs(int(bandit.posterior().greedy) - best) <= 2


def product(x: Any, y: Any) -> Any:
    return x @ y.T


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rbf(0), "scale must be above 0, got 0"),
        (lambda: kernel(np.zeros((2, 0)), rbf(1)), "arms must have at least one row and one feature"),
        (lambda: kernel([0.0, 1.0], rbf(1)), r"arms must have the shape \(K, d\), .* got \(2,\)"),
        (lambda: kernel([[np.nan]], rbf(1)), "arms must be finite; feature 0 of arm 0 is nan"),
        (lambda: kernel(np.eye(2), "rbf"), "kernel must be a function of two sets of points, got 'rbf'"),
        (
            lambda: kernel(np.eye(2), lambda x, y: np.ones(3)),
            r"kernel must give numbers of the shape \(K, K\), got \(3,",
        ),
        (
            lambda: kernel(np.eye(2), lambda x, y: np.array([[1.0, 0.0], [np.nan, 1.0]])),
            "kernel must give finite numbers, got nan for arms 1 and 0",
        ),
        (lambda: kernel(2 * np.eye(2), product), r"k\(x, x\) must be at most 1, got 4"),
        (lambda: kernel(np.eye(2), lambda x, y: -product(x, y)), "must be symmetric and positive"),
        (lambda: kernel(np.eye(2), rbf(1), rank=0), "rank must be at least 1, got 0"),
    ],
)
def test_bad_kernels_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()
