"""Formulas against mpmath, brute force, and figures of our reading of the paper."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infex.errors import InfexError
from infex.lab import theory
from infex.lab.theory import formulas

positive = st.floats(1e-3, 1e3)
counts = st.integers(1, 10**9)
dims = st.integers(1, 60)
chances = st.floats(1e-12, 1.0)
CLOSE = 1e-11


def near(found: float, wanted: mp.mpf, slack: float = CLOSE) -> bool:
    return bool(abs(mp.mpf(float(found)) - wanted) <= slack * (1 + abs(wanted)))


@given(alpha=st.floats(0, 1e3), delta=chances, noise=positive, bound=positive, penalty=positive)
def test_the_radius_is_its_formula(
    alpha: float, delta: float, noise: float, bound: float, penalty: float
) -> None:
    wanted = noise * mp.sqrt(mp.mpf(alpha) - 2 * mp.log(delta)) + mp.sqrt(penalty) * bound
    found = theory.radius(alpha, delta=delta, noise=noise, bound=bound, penalty=penalty)
    assert near(found, wanted)


def test_the_first_radius_of_the_paper() -> None:
    assert theory.radius(0.0, delta=1e-4) == pytest.approx(5.291932, abs=5e-7)


def test_arrays_broadcast_and_hold_the_numbers_one_by_one() -> None:
    alphas, deltas = np.array([[0.0], [3.5], [80.0]]), np.array([0.1, 1e-4])
    found = theory.radius(alphas, delta=deltas)
    assert found.shape == (3, 2)
    for (i, j), value in np.ndenumerate(found):
        assert value == theory.radius(float(alphas[i, 0]), delta=float(deltas[j]))
    assert theory.volume_bound(np.array([1, 10, 100]), 3).shape == (3,)
    assert theory.linucb_regret(np.ones(4), np.ones(4), 0.1).shape == (4,)
    assert theory.lints_regret(np.ones(4), 2.0, 0.1, factor=3.0, chance=0.15, delta=0.01).shape == (4,)


@given(rounds=counts, dim=dims, penalty=positive)
def test_the_simple_bound_on_alpha(rounds: int, dim: int, penalty: float) -> None:
    wanted = dim * mp.log(1 + mp.mpf(rounds) / (dim * mp.mpf(penalty)))
    assert near(theory.volume_bound(rounds, dim, penalty), wanted)


@given(rounds=counts, share=st.floats(0, 1), dim=dims, length=st.floats(0.01, 1), penalty=positive)
def test_the_bound_on_alpha_by_pulls(
    rounds: int, share: float, dim: int, length: float, penalty: float
) -> None:
    worse = math.floor(share * rounds)
    best = (rounds - worse) * mp.mpf(length) ** 2
    wanted = mp.log(1 + (best + worse) / mp.mpf(penalty))
    if dim > 1:
        wanted += (dim - 1) * mp.log(1 + mp.mpf(worse) / ((dim - 1) * mp.mpf(penalty)))
    found = theory.volume_bound_by_pulls(rounds, worse, dim, length=length, penalty=penalty)
    assert near(found, wanted)
    regret = worse * 0.25
    by_regret = theory.volume_bound_by_regret(rounds, regret, 0.25, dim, penalty=penalty)
    whole = theory.volume_bound_by_pulls(rounds, worse, dim, penalty=penalty)
    assert by_regret == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("penalty", [0.05, 1.0, 3.0])
def test_alpha_and_potential_of_random_arms_are_within_their_bounds(penalty: float) -> None:
    rng = np.random.default_rng(4)
    for dim in (1, 2, 5):
        best = rng.standard_normal(dim)
        best *= 0.7 / np.linalg.norm(best)
        rows = rng.standard_normal((300, dim))
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
        rows[50:] = best
        gram, potential = penalty * np.eye(dim), 0.0
        for row in rows:
            potential += row @ np.linalg.solve(gram, row)
            gram += np.outer(row, row)
        alpha = np.linalg.slogdet(gram / penalty)[1]
        assert alpha <= theory.volume_bound(300, dim, penalty) + 1e-9
        assert alpha <= theory.volume_bound_by_pulls(300, 50, dim, length=0.7, penalty=penalty) + 1e-9
        assert potential <= theory.potential_bound(alpha, penalty) + 1e-9
        square = best @ np.linalg.solve(gram, best)
        assert square <= theory.best_width_bound(250, length=0.7, penalty=penalty) + 1e-9


def test_the_bound_with_the_norm_unsquared_would_be_wrong_for_long_arms_and_loose_for_short() -> None:
    short = theory.volume_bound_by_pulls(1000, 0, 2, length=0.1)
    assert short == pytest.approx(math.log(1 + 1000 * 0.01))
    assert theory.best_width_bound(3, length=2.0) == pytest.approx(4 / 13)
    assert 4 / 13 > 1 / (1 + 3)


@pytest.mark.parametrize(
    ("dim", "chance"), [(2, 0.25), (5, 0.18695), (10, 0.17172), (20, 0.16494), (40, 0.16174)]
)
def test_the_spherical_chances_of_the_reading_guide(dim: int, chance: float) -> None:
    assert theory.exceeding_chance(dim, "spherical") == pytest.approx(chance, abs=6e-6)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 7, 33, 400])
def test_the_spherical_chance_is_an_incomplete_beta_function(dim: int) -> None:
    if dim == 1:
        wanted = mp.mpf(1) / 2
    else:
        wanted = mp.betainc(mp.mpf(dim - 1) / 2, mp.mpf(1) / 2, 0, 1 - mp.mpf(1) / dim, regularized=True) / 2
    assert near(theory.exceeding_chance(dim, "spherical"), wanted)
    assert near(theory.exceeding_chance(dim), mp.ncdf(-1))


@given(rounds=counts, dim=dims, delta=chances, arms=st.none() | st.integers(1, 10**6))
def test_how_far_samples_stray(rounds: int, dim: int, delta: float, arms: int | None) -> None:
    by_dim = mp.sqrt(2 * dim * mp.log(4 * dim * mp.mpf(rounds) ** 2 / mp.mpf(delta)))
    found = theory.sample_factor(rounds, dim, delta, arms)
    if arms is None:
        assert near(found, by_dim)
    else:
        assert near(found, min(by_dim, mp.sqrt(2 * mp.log(4 * arms * mp.mpf(rounds) ** 2 / mp.mpf(delta)))))


@given(alpha=positive, beta=positive, gap=st.floats(1e-3, 2), factor=positive, delta=chances, rounds=counts)
def test_regret_by_alpha_and_beta(
    alpha: float, beta: float, gap: float, factor: float, delta: float, rounds: int
) -> None:
    a, b, g, c = mp.mpf(alpha), mp.mpf(beta), mp.mpf(gap), mp.mpf(0.16)
    assert near(theory.linucb_regret(alpha, beta, gap), 8 * a * b**2 / g)
    gamma = b * mp.mpf(factor)
    inner = (32 * gamma**2 / c**2 + (b + gamma) ** 2) * a + 16 * gamma**2 / c**2 * mp.log(1 / mp.mpf(delta))
    found = theory.lints_regret(alpha, beta, gap, factor=factor, chance=0.16, delta=delta)
    assert near(found, 4 / g * inner)
    wanted = 4 * a * b**2 / g + 16 * b**2 * mp.log(rounds) / g
    assert near(theory.greedy_regret(alpha, beta, rounds, gap), wanted)


def test_the_ellipsoid_is_about_the_ridge_estimate_and_contains_by_its_norm() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((30, 3)) / 4
    rewards = rows @ [0.5, -0.2, 0.1] + rng.standard_normal(30)
    found = theory.ellipsoid(rows, rewards, delta=0.05, penalty=2.0)
    gram = 2.0 * np.eye(3) + rows.T @ rows
    np.testing.assert_allclose(found.centre, np.linalg.solve(gram, rows.T @ rewards))
    alpha = np.linalg.slogdet(gram)[1] - 3 * math.log(2.0)
    assert found.radius == pytest.approx(math.sqrt(alpha + 2 * math.log(20)) + math.sqrt(2.0))
    away = np.linalg.solve(np.linalg.cholesky(gram).T, np.array([1.0, 0.0, 0.0]))  # of length 1 in V
    assert found.distance(found.centre + away) == pytest.approx(1.0)
    edges = found.centre + np.outer([0.0, 0.999, 1.001], away) * found.radius
    assert found.contains(edges).tolist() == [True, True, False]
    with pytest.raises(InfexError, match="one reward for each of 30 rows, got 2"):
        theory.ellipsoid(rows, [1.0, 2.0], delta=0.05)
    with pytest.raises(InfexError, match="delta"):
        theory.ellipsoid(rows, rewards, delta=0.0)


def test_formulas_are_all_at_hand_in_the_room() -> None:
    assert theory.radius is formulas.radius
    assert set(theory.__all__) <= set(dir(theory))


def test_lists_and_whole_numbers_are_numbers_too() -> None:
    assert theory.potential_bound([1, 2]).tolist() == [2.0, 4.0]
    assert theory.linucb_regret(1, 5 * 10**9, 1) == pytest.approx(2e20)
    both = theory.volume_bound_by_pulls(100, 10, [1, 3])
    assert both.tolist() == [theory.volume_bound_by_pulls(100, 10, d) for d in (1, 3)]
    assert theory.sample_factor(10, [3, 4], 0.1).shape == (2,)
    settings = {"factor": 2, "chance": 0.16, "delta": 0.1}
    assert theory.lints_regret([1, 2], 3, 0.5, **settings).tolist() == [
        theory.lints_regret(log_det_ratio, 3, 0.5, **settings) for log_det_ratio in (1, 2)
    ]


def test_the_ellipsoid_begins_as_a_ball_and_asks_for_points_of_its_dimension() -> None:
    start = theory.ellipsoid(np.zeros((0, 2)), [], delta=0.1)
    assert start.radius == pytest.approx(math.sqrt(2 * math.log(10)) + 1)
    assert start.contains([0.0, 0.5])
    long = theory.ellipsoid([[3.0, 0.0]], [3.0], delta=0.1)
    assert long.centre == pytest.approx([0.9, 0.0])
    for point in (0.5, [0.5], [1.0, 2.0, 3.0]):
        with pytest.raises(InfexError, match="theta must have 2 numbers, got shape"):
            start.contains(point)
    for text in ("a", "1"):
        with pytest.raises(InfexError, match="rewards must be numbers, got"):
            theory.ellipsoid([[1.0, 0.0]], [text], delta=0.1)
    with pytest.raises(InfexError, match="rewards must be finite numbers, got"):
        theory.ellipsoid([[1.0, 0.0]], [np.inf], delta=0.1)
    with pytest.raises(InfexError, match="features must be rows of finite numbers, got shape"):
        theory.ellipsoid([1.0, 0.0], [1.0], delta=0.1)
