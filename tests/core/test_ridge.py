"""The statistics of one ridge regression, against exact solutions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    np.testing.assert_allclose(ridge.estimates(), np.array(estimates, dtype=float), rtol=0, atol=near)
    np.testing.assert_allclose(ridge.widths() ** 2, np.array(squares, dtype=float), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(arms @ ridge.theta, ridge.estimates(), rtol=0, atol=near)
    assert ridge.log_det_ratio == pytest.approx(math.log(ratio), rel=1e-9, abs=1e-12)


def test_reads_are_arrays_of_their_own() -> None:
    """Racing compares upper and lower bounds: a second read may not overwrite the first."""
    ridge = played(np.eye(3), 1.0, [(0, 1.0), (1, 0.5)])
    high, low = ridge.upper(1.0), ridge.upper(-1.0)
    middle, widths, theta = ridge.estimates(), ridge.widths(), ridge.theta
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
    np.testing.assert_allclose(resumed.estimates(), whole.estimates(), rtol=1e-12)
    np.testing.assert_array_equal(later.estimates(), Ridge(arms.T, 1.0, half.sums).estimates())


@pytest.mark.parametrize(
    "columns",
    [
        np.zeros((0, 3)),
        np.zeros((3, 0)),
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
    assert not ridge.estimates().any()


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
    np.testing.assert_array_equal(ridge.estimates(), same.estimates())
    if isinstance(given, np.ndarray):
        before = ridge.columns.copy()
        given[:] = 7.0
        np.testing.assert_array_equal(ridge.columns, before)


def test_read_only_arms_are_taken() -> None:
    arms = np.ones((2, 3))
    arms.flags.writeable = False
    assert Ridge(arms).estimates().shape == (3,)
