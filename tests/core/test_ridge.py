"""The statistics of one ridge regression, against exact solutions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infex.core.posterior import RidgePosterior
from infex.core.ridge import Ridge

Rows = list[tuple[int, float]]


def played(arms: Any, penalty: float, rows: Rows) -> Ridge:
    ridge = Ridge(np.asarray(arms).T, penalty)
    for arm, reward in rows:
        ridge.learn(arm, reward)
    return ridge


def exact(arms: Any, penalty: float, rows: Rows) -> tuple[list[Fraction], list[Fraction], Fraction]:
    """Estimates, squared widths and det V/det V_0 by fractions, with Gauss's elimination."""
    x = [[Fraction(value) for value in arm] for arm in np.asarray(arms).tolist()]
    d = len(x[0])
    v = [[Fraction(penalty) if i == j else Fraction(0) for j in range(d)] for i in range(d)]
    b = [Fraction(0)] * d
    for arm, reward in rows:
        for i in range(d):
            b[i] += Fraction(reward) * x[arm][i]
            for j in range(d):
                v[i][j] += x[arm][i] * x[arm][j]
    wide = [[*v[i], b[i], *(row[i] for row in x)] for i in range(d)]
    determinant = Fraction(1)
    for i in range(d):
        determinant *= wide[i][i]
        wide[i] = [value / wide[i][i] for value in wide[i]]
        for j in range(d):
            if j != i:
                wide[j] = [a - wide[j][i] * c for a, c in zip(wide[j], wide[i], strict=True)]
    estimates = [sum(arm[i] * wide[i][d] for i in range(d)) for arm in x]
    squares = [sum(arm[i] * wide[i][d + 1 + k] for i in range(d)) for k, arm in enumerate(x)]
    return estimates, squares, determinant / Fraction(penalty) ** d


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 7),
    st.integers(0, 40),
    st.integers(0, 2**32),
    st.sampled_from([1.0, 30.0, 1e-3, 1e-8]),
)
def test_estimates_widths_and_determinant_are_exact(
    dim: int, count: int, rounds: int, seed: int, penalty: float
) -> None:
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(count, dim))
    arm = rng.integers(count, size=rounds)
    arm[rng.random(rounds) < 0.5] = arm[0] if rounds else 0  # runs of one arm are kept in closed form
    rows = [(int(k), float(rng.normal())) for k in arm]
    ridge = played(arms, penalty, rows)
    estimates, squares, ratio = exact(arms, penalty, rows)
    near = 1e-10 if penalty > 1e-4 else 1e-6  # V is worse conditioned the smaller the penalty is
    near *= 1.0 + max(abs(float(value)) for value in estimates)
    says = RidgePosterior(ridge)
    np.testing.assert_allclose(says.estimates, np.array(estimates, dtype=float), rtol=0, atol=near)
    np.testing.assert_allclose(says.widths**2, np.array(squares, dtype=float), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(arms @ ridge.theta, says.estimates, rtol=0, atol=near)
    assert ridge.log_det_ratio == pytest.approx(math.log(ratio), rel=1e-9, abs=1e-12)


def test_reads_are_arrays_of_their_own() -> None:
    """Racing compares upper and lower bounds: a second read may not overwrite the first."""
    ridge = played(np.eye(3), 1.0, [(0, 1.0), (1, 0.5)])
    says = RidgePosterior(ridge)
    high, low = says.upper(1.0), says.upper(-1.0)
    middle, widths, theta = says.estimates, says.widths, ridge.theta
    np.testing.assert_allclose(high, middle + widths)
    np.testing.assert_allclose(low, middle - widths)
    ridge.learn(2, 9.0)
    np.testing.assert_allclose(high, middle + widths)
    assert theta[2] == 0.0


def test_it_goes_on_from_sums_that_were_seen_before() -> None:
    arms = np.random.default_rng(3).normal(size=(4, 2))
    rows = [(0, 1.0), (2, -0.5), (2, 0.25), (3, 2.0)]
    whole = played(arms, 1.0, rows)
    later = Ridge(arms.T, 1.0, played(arms, 1.0, [*rows[:3], (1, 0.0)]).sums)
    half = played(arms, 1.0, rows[:3])
    half.learn(1, 0.0)  # closes the run under way, so that the sums have all rewards before it
    resumed = Ridge(arms.T, 1.0, half.sums)
    resumed.learn(3, 2.0)
    np.testing.assert_allclose(RidgePosterior(resumed).estimates, RidgePosterior(whole).estimates, rtol=1e-12)
    np.testing.assert_array_equal(
        RidgePosterior(later).estimates, RidgePosterior(Ridge(arms.T, 1.0, half.sums)).estimates
    )


@pytest.mark.parametrize(
    "columns",
    [
        np.zeros((0, 3)),
        np.zeros(3),
        np.zeros((1, 1, 1)),
        5.0,
        [[np.nan]],
        [[np.inf, 1.0]],
    ],
    ids=repr,
)
def test_columns_that_are_no_matrix_of_numbers_are_refused(columns: Any) -> None:
    with pytest.raises(ValueError, match="columns"):
        Ridge(columns)


@pytest.mark.parametrize("columns", ["x", [["a"]], None, [[1.0], [1.0, 2.0]], [[1j]]])
def test_columns_of_another_type_are_refused(columns: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Ridge(columns)


@pytest.mark.parametrize("penalty", [0.0, -1.0, 1e-11, np.nan, np.inf])
def test_a_penalty_with_which_v_cannot_be_factored_is_refused(penalty: float) -> None:
    with pytest.raises(ValueError, match="penalty"):
        Ridge(np.ones((2, 2)), penalty)


@pytest.mark.parametrize(
    "sums", [np.zeros(3), np.zeros((2, 2, 2)), np.zeros((2, 4, 3)), np.full((2, 3, 2), np.nan)]
)
def test_sums_of_another_shape_or_that_are_no_numbers_are_refused(sums: Any) -> None:
    with pytest.raises(ValueError, match="sums"):
        Ridge(np.ones((2, 2)), 1.0, sums)


@pytest.mark.parametrize("arm", [-1, 3, 2**40, -(2**40)])
def test_an_arm_that_is_not_there_is_refused(arm: int) -> None:
    ridge = Ridge(np.ones((2, 3)))
    with pytest.raises(IndexError, match="from 0 to 2"):
        ridge.learn(arm, 1.0)
    assert not RidgePosterior(ridge).estimates.any()


@pytest.mark.parametrize(
    "given",
    [
        np.arange(12.0).reshape(4, 3)[::2],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.ones((2, 3), dtype=np.float32),
        [[1, 2], [3, 4]],
    ],
    ids=["strided", "fortran", "float32", "lists"],
)
def test_any_layout_of_arms_is_copied(given: Any) -> None:
    ridge = Ridge(given)
    ridge.learn(1, 1.0)
    same = Ridge(np.ascontiguousarray(given, dtype=float))
    same.learn(1, 1.0)
    np.testing.assert_array_equal(RidgePosterior(ridge).estimates, RidgePosterior(same).estimates)
    if isinstance(given, np.ndarray):
        before = ridge.columns.copy()
        given[:] = 7.0
        np.testing.assert_array_equal(ridge.columns, before)


def test_read_only_arms_are_taken() -> None:
    arms = np.ones((2, 3))
    arms.flags.writeable = False
    assert RidgePosterior(Ridge(arms)).estimates.shape == (3,)


def random_grounds(rng: np.random.Generator, arms: int, dim: int, count: int) -> tuple[Any, Any, Any]:
    """Arms or -1, rows that those of -1 are learnt on, and the rows, some features of which are 0."""
    place = rng.integers(-1, arms, size=count)
    rows = rng.normal(size=(4, dim)) * (rng.random((4, dim)) < 0.7)
    return place, np.where(place < 0, rng.integers(4, size=count), -1), rows


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(0, 30),
    st.integers(0, 2**32),
    st.sampled_from([1.0, 1e-3, 1e-7]),
)
def test_weighted_rewards_of_any_x_agree_with_a_solve_in_whatever_way_they_come(
    dim: int, arms: int, count: int, seed: int, penalty: float
) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(dim, arms))
    place, row, rows = random_grounds(rng, arms, dim, count)
    rewards, weights = rng.normal(size=count), np.where(rng.random(count) < 0.5, 1.0, rng.random(count) + 0.1)
    singly, in_order, as_sums = (Ridge(columns, penalty) for _ in range(3))
    x = np.array([columns[:, k] if k >= 0 else rows[r] for k, r in zip(place, row, strict=True)])
    for n in range(count):
        if place[n] >= 0:
            singly.learn(int(place[n]), rewards[n], weights[n])
        else:
            singly.absorb(rows[row[n]], rewards[n], weights[n])
    in_order.learn_many(place, row, rows, rewards, weights)
    as_sums.gather(place, row, rows, rewards, weights)
    x = x.reshape(count, dim)
    v = penalty * np.eye(dim) + (x.T * weights) @ x
    b = x.T @ (weights * rewards)
    for ridge in (singly, in_order, as_sums):
        assert ridge.told == count
        np.testing.assert_array_equal(ridge.counts[0], np.bincount(place[place >= 0], minlength=arms))
        np.testing.assert_allclose(
            ridge.counts[1], [rewards[place == k].sum() for k in range(arms)], atol=1e-12
        )
        np.testing.assert_allclose(v @ ridge.theta, b, rtol=0, atol=1e-8 * (1 + np.abs(ridge.theta).max()))
        whole = ridge.whole_sums().sum(axis=0)
        np.testing.assert_allclose(np.tril(whole[:-1]), np.tril(v - penalty * np.eye(dim)), atol=1e-12)
        np.testing.assert_allclose(whole[-1], b, atol=1e-12)
    np.testing.assert_array_equal(in_order.whole_sums(), singly.whole_sums())
    np.testing.assert_array_equal(in_order.theta, singly.theta)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(1, 25), st.integers(1, 4), st.integers(0, 2**32)
)  # fmt: skip
@example(2, 2, 2, 1, 2304)  # where the large reward is of the size 10^6, and in a run with the other
@example(1, 1, 5, 2, 0)  # two large rewards of equal size in one run
def test_rewards_that_are_taken_out_were_never_there(
    dim: int, arms: int, count: int, gone: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(dim, arms)) / 2
    ridge, other = Ridge(columns), Ridge(columns)
    large = rng.choice(count, min(gone, count), replace=False).tolist()
    rows = []
    for n in range(count):
        on = int(rng.integers(arms)) if rng.random() < 0.7 else rng.normal(size=dim)
        reward, weight = float(rng.normal()) * (1e9 if n in large else 1.0), float(rng.choice([1.0, 0.3]))
        rows.append((on, reward, weight))
        for each in (ridge, other):
            if n not in large or each is ridge:
                (each.learn if isinstance(on, int) else each.absorb)(on, reward, weight)
    for n in large:
        on, reward, weight = rows[n]
        ridge.revise(on, reward, 0.5, weight)
        ridge.revise(on, 0.5, None, weight)
    assert ridge.told == other.told
    np.testing.assert_allclose(
        RidgePosterior(ridge).estimates, RidgePosterior(other).estimates, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(RidgePosterior(ridge).widths, RidgePosterior(other).widths, rtol=1e-12)
    np.testing.assert_array_equal(ridge.counts[0], other.counts[0])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 5), st.integers(0, 40), st.integers(0, 2**32))
def test_a_copy_and_what_is_restored_go_on_bit_for_bit(dim: int, arms: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(dim, arms))
    ridge, copy, restored = Ridge(columns, 0.5), Ridge(columns), Ridge(columns, 0.5)
    for each in (1, 2):
        ridge.learn_many(
            *random_grounds(rng, arms, dim, count), rng.normal(size=count), rng.choice([1.0, 2.5], size=count)
        )
        if each == 1:
            copy = ridge.copy()
            restored.restore(ridge.arrays())
            state = rng.bit_generator.state
    rng.bit_generator.state = state
    grounds, rewards = random_grounds(rng, arms, dim, count), rng.normal(size=count)
    weights = rng.choice([1.0, 2.5], size=count)
    for other in (copy, restored):
        other.learn_many(*grounds, rewards, weights)
        for name, array in ridge.arrays().items():
            if name != "vectors":  # whose last row is room for work
                np.testing.assert_array_equal(other.arrays()[name], array)


def test_sums_learnt_elsewhere_add_up() -> None:
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(3, 4))
    whole, one, two = (Ridge(columns, 2.0) for _ in range(3))
    for n in range(30):
        arm, reward = int(rng.integers(4)), float(rng.normal())
        whole.learn(arm, reward)
        (one if n % 3 else two).learn(arm, reward)
    one.add(two.whole_sums(), two.counts, two.told)
    assert one.told == 30
    np.testing.assert_allclose(RidgePosterior(one).estimates, RidgePosterior(whole).estimates, rtol=1e-12)
    np.testing.assert_allclose(one.counts, whole.counts, rtol=1e-12)
    one.restart(np.zeros((2, 4, 3)))
    assert one.told == 0
    assert not RidgePosterior(one).estimates.any()
    assert not one.counts.any()


def test_sums_from_which_no_theta_follows_are_refused_and_change_nothing() -> None:
    ridge = played(np.eye(2), 1.0, [(0, 1.0)])
    wrong = np.zeros((2, 3, 2))
    wrong[0, 0, 0] = -5.0
    for change in (lambda: ridge.restart(wrong), lambda: ridge.add(wrong, np.zeros((2, 2)), 1)):
        with pytest.raises(ValueError, match="no theta follows"):
            change()
        np.testing.assert_allclose(RidgePosterior(ridge).estimates, [0.5, 0.0])
    with pytest.raises(ValueError, match="no theta follows"):
        Ridge(np.eye(2), 1.0, wrong)


def test_every_change_raises_the_version_and_no_reading_does() -> None:
    ridge = Ridge(np.eye(2))
    none = np.zeros((2, 2))
    changes = (
        lambda: ridge.learn(0, 1.0),
        lambda: ridge.absorb([0.5, 0.5], 1.0),
        lambda: ridge.learn_many([0], [-1], none, [1.0], [1.0]),
        lambda: ridge.gather([-1], [0], none, [1.0], [1.0]),
        lambda: ridge.revise(0, 1.0, 0.5),
        lambda: ridge.add(ridge.whole_sums(), none, 1),
        lambda: ridge.restart(ridge.whole_sums()),
        lambda: ridge.restore(ridge.arrays()),
    )
    for change in changes:
        before = ridge.version
        (
            RidgePosterior(ridge).estimates,
            RidgePosterior(ridge).widths,
            ridge.theta,
            ridge.whole_sums(),
            ridge.arrays(),
            ridge.copy(),
        )
        assert ridge.version == before
        change()
        assert ridge.version > before


@pytest.mark.parametrize(
    "given",
    [
        ([3], [-1], np.zeros((0, 2)), [1.0], [1.0]),
        ([-2], [-1], np.zeros((0, 2)), [1.0], [1.0]),
        ([-1], [1], np.zeros((1, 2)), [1.0], [1.0]),
        ([-1], [-1], np.zeros((1, 2)), [1.0], [1.0]),
        ([-1], [0], np.zeros((1, 3)), [1.0], [1.0]),
        ([-1], [0], [[np.nan, 0.0]], [1.0], [1.0]),
        ([0], [-1], np.zeros((0, 2)), [np.inf], [1.0]),
        ([0], [-1], np.zeros((0, 2)), [1.0], [0.0]),
        ([0], [-1], np.zeros((0, 2)), [1.0], [np.nan]),
        ([0, 1], [-1], np.zeros((0, 2)), [1.0], [1.0]),
        ([0], [-1], np.zeros((0, 2)), [[1.0]], [1.0]),
    ],
    ids=repr,
)
def test_many_rewards_that_cannot_be_learnt_are_refused_and_change_nothing(given: Any) -> None:
    ridge = Ridge(np.ones((2, 3)))
    for learn in (ridge.learn_many, ridge.gather):
        with pytest.raises((IndexError, ValueError)):
            learn(*given)
    assert ridge.version == 0
    assert not ridge.whole_sums().any()


@pytest.mark.parametrize(
    ("on", "reward", "weight"),
    [
        (0, np.nan, 1.0),
        (0, 1.0, 0.0),
        (0, 1.0, -1.0),
        (0, 1.0, np.inf),
        ([1.0], 1.0, 1.0),
        ([1.0, np.inf], 1.0, 1.0),
        ([[1.0, 2.0]], 1.0, 1.0),
        (5.0, 1.0, 1.0),
    ],
)
def test_a_reward_that_cannot_be_learnt_is_refused(on: Any, reward: float, weight: float) -> None:
    ridge = Ridge(np.ones((2, 3)))
    with pytest.raises(ValueError, match="must"):
        ridge.learn(on, reward, weight) if isinstance(on, int) else ridge.absorb(on, reward, weight)
    with pytest.raises(ValueError, match="must"):
        ridge.revise(on, reward, None, weight)
    assert ridge.version == 0


@pytest.mark.parametrize("name", ["closed", "solved", "vectors", "run", "board", "counts", "told"])
def test_what_cannot_be_restored_is_refused_and_changes_nothing(name: str) -> None:
    ridge = played(np.eye(3), 1.0, [(0, 1.0), (1, 0.5)])
    arrays, before = ridge.arrays(), RidgePosterior(ridge).estimates
    wrongs = [np.zeros((7, 7)), np.full(arrays[name].shape, np.nan), np.full(arrays[name].shape, "x")]
    wrongs += [np.full(9, 5.0)] if name == "run" else []
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"must|run under way"):
            Ridge(np.eye(3)).restore(arrays | {name: wrong})
        with pytest.raises(ValueError, match=r"must|run under way"):
            ridge.restore(arrays | {name: wrong})
    np.testing.assert_array_equal(RidgePosterior(ridge).estimates, before)
