"""What a posterior says of any arms, against dense inverses; it is refused once its ridge has learnt."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.core.pending import Pending
from infex.core.posterior import RidgePosterior, probabilities, to_sphere
from infex.core.ridge import Ridge
from infex.errors import StalePosterior


class Dense(NamedTuple):
    """theta and V^-1 by inverting V."""

    theta: Any
    inverse: Any

    def widths(self, columns: Any) -> Any:
        return np.sqrt(np.einsum("ik,ij,jk->k", columns, self.inverse, columns))


class Case(NamedTuple):
    ridge: Ridge
    dense: Dense
    v: Any
    rng: np.random.Generator


def unit(rng: np.random.Generator, dim: int, count: int) -> Any:
    columns = rng.normal(size=(dim, count))
    return columns / np.linalg.norm(columns, axis=0) * rng.random(count) ** 0.3


def made(seed: int, dim: int, arms: int, count: int, penalty: float = 0.7) -> Case:
    rng = np.random.default_rng(seed)
    columns = unit(rng, dim, arms)
    ridge = Ridge(columns, penalty)
    v, b = penalty * np.eye(dim), np.zeros(dim)
    for _ in range(count):
        arm, reward = int(rng.integers(arms)) if rng.random() < 0.5 else 0, float(rng.normal())
        ridge.learn(arm, reward)
        v += np.outer(columns[:, arm], columns[:, arm])
        b += reward * columns[:, arm]
    return Case(ridge, Dense(np.linalg.solve(v, b), np.linalg.inv(v)), v, rng)


def assert_says(posterior: RidgePosterior, dense: Dense, columns: Any, rng: np.random.Generator) -> None:
    means, widths = columns.T @ dense.theta, dense.widths(columns)
    near = {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_array_equal(posterior.columns, columns)
    np.testing.assert_allclose(posterior.estimates, means, **near)
    np.testing.assert_allclose(posterior.widths, widths, **near)
    np.testing.assert_allclose(posterior.upper(1.5), means + 1.5 * widths, **near)
    np.testing.assert_allclose(posterior.theta, dense.theta, **near)
    np.testing.assert_allclose(posterior.factor.T @ posterior.factor, dense.inverse, **near)
    np.testing.assert_array_equal(np.triu(posterior.factor, 1), 0.0)
    eta = rng.normal(size=len(dense.theta))
    theta = dense.theta + 0.3 * posterior.factor.T @ eta
    np.testing.assert_allclose(posterior.parameter(0.3, eta), theta, **near)
    np.testing.assert_allclose(posterior.perturbed(0.3, eta), columns.T @ theta, **near)
    np.testing.assert_allclose(posterior.scores(eta), columns.T @ eta, **near)
    if not columns.shape[1]:
        assert posterior.greedy == -1
        return
    assert posterior.greedy == int(np.argmax(posterior.estimates >= np.max(posterior.estimates) - 1e-12))
    for arm in range(columns.shape[1]):
        assert posterior.estimate(arm) == posterior.estimates[arm]
        assert posterior.width(arm) == pytest.approx(widths[arm], rel=1e-8)
    x, arm = columns[:, 0], 0
    best = dense.theta + 2.0 * dense.inverse @ x / np.sqrt(x @ dense.inverse @ x)
    np.testing.assert_allclose(posterior.optimistic(arm, 2.0), best, **near)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 7), st.integers(0, 60), st.integers(0, 5))
def test_figures_of_all_some_and_other_arms(seed: int, dim: int, arms: int, count: int, others: int) -> None:
    ridge, dense, v, rng = made(seed, dim, arms, count)
    posterior, columns = RidgePosterior(ridge), np.array(ridge.columns)
    assert_says(posterior, dense, columns, rng)
    assert posterior.log_det_ratio == pytest.approx(np.linalg.slogdet(v)[1] - dim * np.log(0.7), abs=1e-9)
    elsewhere = unit(rng, dim, others)
    assert_says(posterior.over(elsewhere), dense, elsewhere, rng)
    some = np.flatnonzero(rng.random(arms) < 0.6)
    among = posterior.among(some)
    assert_says(among, dense, columns[:, some], rng)
    np.testing.assert_array_equal(among.estimates, posterior.estimates[some])
    np.testing.assert_array_equal(among.widths, posterior.widths[some])
    np.testing.assert_array_equal(among.counts, ridge.counts[:, some])
    np.testing.assert_array_equal(posterior.sums(), ridge.whole_sums())
    assert posterior.told == count


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 5), st.integers(0, 40), st.integers(0, 20))
def test_pending_decisions_are_in_v_alone(seed: int, dim: int, arms: int, count: int, waiting: int) -> None:
    ridge, dense, v, rng = made(seed, dim, arms, count)
    rows, weights = unit(rng, dim, waiting).T, rng.random(waiting) + 1e-9
    weights = np.minimum(weights, 1.0)
    pending, gone = Pending(dim), unit(rng, dim, 3).T
    pending.add_rows(gone, np.ones(3), 2)
    pending.add_rows(rows, weights)
    pending.add_rows(gone[::-1], np.ones(3), -1)
    pending.add_rows(gone, np.ones(3), -1)
    straight = Pending(dim)
    straight.add_rows(rows[::-1], weights[::-1])
    np.testing.assert_array_equal(pending.whole_numbers(), straight.whole_numbers())
    assert pending.count == waiting
    wider = Dense(dense.theta, np.linalg.inv(v + (rows.T * weights) @ rows))
    posterior, elsewhere = RidgePosterior(ridge), unit(rng, dim, 4)
    for before, columns in (posterior, np.array(ridge.columns)), (posterior.over(elsewhere), elsewhere):
        after = pending.narrowed(before)
        assert_says(after, wider, columns, rng)
        np.testing.assert_array_equal(after.estimates, before.estimates)
        assert after.log_det_ratio == before.log_det_ratio
        np.testing.assert_array_equal(after.sums(), before.sums())


READINGS: list[Callable[[RidgePosterior], object]] = [
    lambda posterior: posterior.greedy,
    lambda posterior: posterior.estimates,
    lambda posterior: posterior.estimate(0),
    lambda posterior: posterior.widths,
    lambda posterior: posterior.width(0),
    lambda posterior: posterior.upper(1.0),
    lambda posterior: posterior.perturbed(1.0, np.ones(3)),
    lambda posterior: posterior.parameter(1.0, np.ones(3)),
    lambda posterior: posterior.optimistic(0, 1.0),
    lambda posterior: posterior.theta,
    lambda posterior: posterior.factor,
    lambda posterior: posterior.sums(),
    lambda posterior: posterior.counts if posterior.has_counts else posterior.sums(),
    lambda posterior: posterior.log_det_ratio,
    lambda posterior: posterior.over(np.eye(3)),
    lambda posterior: posterior.among([0]),
    lambda posterior: posterior.copy(),
    lambda posterior: Pending(3).narrowed(posterior),
]


@pytest.mark.parametrize("read_before", [False, True])
def test_nothing_is_read_once_the_ridge_has_learnt_but_of_a_copy(read_before: bool) -> None:
    ridge = made(4, 3, 4, 10).ridge
    pending = Pending(3)
    pending.add_rows(np.eye(3), np.ones(3))
    whole = RidgePosterior(ridge)
    posteriors = [whole, whole.over(np.eye(3)), whole.among([1, 2]), pending.narrowed(whole)]
    if read_before:
        for posterior in posteriors:
            _ = posterior.estimates, posterior.widths
    copies = [posterior.copy() for posterior in posteriors]
    figures = [(each.estimates.copy(), each.widths.copy(), each.theta, each.sums()) for each in copies]
    ridge.learn(1, 100.0)
    for posterior in posteriors:
        for read in READINGS:
            with pytest.raises(StalePosterior, match="has learnt since"):
                read(posterior)
    for kept, before in zip(copies, figures, strict=True):
        after = kept.estimates, kept.widths, kept.theta, kept.sums()
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
        for read in READINGS:
            read(kept)


def test_a_solution_of_another_estimator_is_read_as_it_is() -> None:
    rng = np.random.default_rng(2)
    columns, theta = unit(rng, 3, 5), rng.normal(size=3)
    factor = np.tril(rng.normal(size=(3, 3)))
    dense = Dense(theta, factor.T @ factor)
    solved, counts = np.vstack([factor, theta]), rng.random((2, 5))
    posterior = RidgePosterior.of_solution(columns, solved, 0.5, 1.0, told=7, counts=counts)
    solved[:] = 0.0
    assert_says(posterior, dense, columns, rng)
    assert (posterior.log_det_ratio, posterior.told, posterior.penalty) == (0.5, 7, 1.0)
    assert posterior.sums() is None
    np.testing.assert_array_equal(posterior.counts, counts)
    solved = np.vstack([factor, theta])
    chances = RidgePosterior.of_solution(columns, solved, 0.5, 1.0, logistic=True)
    p = 1.0 / (1.0 + np.exp(-(columns.T @ theta)))
    widths = dense.widths(columns)
    np.testing.assert_allclose(chances.estimates, p)
    np.testing.assert_allclose(chances.widths, p * (1.0 - p) * widths)
    np.testing.assert_allclose(chances.upper(2.0), 1.0 / (1.0 + np.exp(-(columns.T @ theta + 2.0 * widths))))
    assert chances.width(1) == chances.widths[1]


@pytest.mark.parametrize(
    "read",
    [
        lambda posterior: posterior.estimate(2),
        lambda posterior: posterior.estimate(-1),
        lambda posterior: posterior.width(2**40),
        lambda posterior: posterior.optimistic(-1, 1.0),
        lambda posterior: posterior.among([0, 2]),
        lambda posterior: posterior.among([-1]),
        lambda posterior: posterior.over(np.zeros((2, 2))),
        lambda posterior: posterior.over(np.zeros(3)),
        lambda posterior: posterior.scores(np.zeros(4)),
        lambda posterior: posterior.perturbed(1.0, np.zeros(2)),
        lambda posterior: Pending(2).narrowed(posterior),
        lambda posterior: RidgePosterior.of_solution(np.eye(3), np.eye(3), 0.0, 1.0),
        lambda posterior: RidgePosterior.of_solution(np.eye(2), np.zeros((4, 3)), 0.0, 1.0),
        lambda posterior: RidgePosterior.of_solution(
            np.eye(3), np.zeros((4, 3)), 0.0, 1.0, np.zeros((2, 3, 3))
        ),
        lambda posterior: RidgePosterior.of_solution(
            np.eye(3), np.zeros((4, 3)), 0.0, 1.0, counts=np.zeros((2, 2))
        ),
    ],
)
def test_what_is_not_there_is_refused(read: Callable[[RidgePosterior], object]) -> None:
    with pytest.raises((IndexError, ValueError)):
        read(RidgePosterior(Ridge(np.eye(3)[:, :2])))


@pytest.mark.parametrize(
    ("rows", "weights", "times"),
    [
        ([[1.0, 0.0, 0.0]], [1.0], 1),
        ([[1.0, 0.0]], [1.0, 1.0], 1),
        ([[np.nan, 0.0]], [1.0], 1),
        ([[1e30, 0.0]], [1.0], 1),
        ([[1.0, 0.0]], [2.0], 1),
        ([[1.0, 0.0]], [0.0], 1),
        ([[1.0, 0.0]], [np.nan], 1),
        ([[1.0, 0.0]], [1.0], 2**40),
    ],
)
def test_pending_sums_refuse_what_whole_numbers_cannot_hold(rows: Any, weights: Any, times: int) -> None:
    pending = Pending(2)
    with pytest.raises(ValueError, match=r"must|may"):
        pending.add_rows(rows, weights, times)
    assert not pending.whole_numbers().any()


def test_a_copy_of_pending_sums_goes_on_by_itself() -> None:
    pending = Pending(2)
    pending.add_rows(np.eye(2), np.ones(2))
    kept = pending.copy()
    pending.add_rows(np.eye(2), np.ones(2), -1)
    assert (pending.count, kept.count) == (0, 2)
    assert not pending.whole_numbers().any()
    assert kept.whole_numbers().any()


def test_what_can_be_pickled_goes_on_and_a_posterior_is_copied_or_refused() -> None:
    ridge, pending = made(5, 3, 4, 20).ridge, Pending(3, 2)
    pending.add_rows(np.eye(3), np.ones(3))
    posterior = RidgePosterior(ridge)
    for again in (pickle.loads(pickle.dumps(ridge)), copy.deepcopy(ridge)):
        np.testing.assert_array_equal(RidgePosterior(again).widths, posterior.widths)
        again.learn(0, 1.0)
        assert again.told == ridge.told + 1
    for sums in (pickle.loads(pickle.dumps(pending)), copy.deepcopy(pending)):
        np.testing.assert_array_equal(sums.whole_numbers(), pending.whole_numbers())
        assert sums.count == 3
    kept = copy.deepcopy(posterior)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(posterior)
    before = posterior.estimates.copy()
    ridge.learn(0, 5.0)
    np.testing.assert_array_equal(kept.estimates, before)


def test_directions_and_odds() -> None:
    direction = np.array([3.0, 4.0])
    to_sphere(direction)
    np.testing.assert_allclose(direction, np.sqrt(2) * np.array([0.6, 0.8]))
    odds = np.array([-1000.0, -1.0, 0.0, 1.0, 1000.0])
    np.testing.assert_allclose(probabilities(odds)[1:], 1.0 / (1.0 + np.exp(-odds[1:])))
    assert probabilities(odds)[0] == 0.0
    assert odds[0] == -1000.0


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), dim=st.integers(1, 5), arms=st.integers(1, 9), told=st.integers(0, 30))
def test_covariances_are_those_of_a_dense_inverse(seed: int, dim: int, arms: int, told: int) -> None:
    """With a run under way, and none."""
    rng = np.random.default_rng(seed)
    columns = unit(rng, dim, arms)
    ridge, v = Ridge(columns), np.eye(dim)
    for arm in [*rng.integers(arms, size=told), *([0] * (told % 5))]:
        ridge.learn(int(arm), 1.0)
        v += np.outer(columns[:, arm], columns[:, arm])
    dense = columns.T @ np.linalg.solve(v, columns)
    found = [RidgePosterior(ridge).covariances(arm) for arm in range(arms)]
    np.testing.assert_allclose(found, dense, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), dim=st.integers(1, 5), arms=st.integers(1, 9), count=st.integers(0, 7))
def test_maxima_of_samples_are_those_of_the_samples_one_by_one(
    seed: int, dim: int, arms: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    ridge = Ridge(unit(rng, dim, arms))
    for arm in rng.integers(arms, size=6):
        ridge.learn(int(arm), float(rng.normal()))
    posterior, directions = RidgePosterior(ridge), rng.normal(size=(count, dim))
    expected = [posterior.perturbed(0.7, direction).max() for direction in directions]
    assert posterior.sampled_maxima(0.7, directions).tolist() == expected
