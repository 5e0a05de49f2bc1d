"""Least squares and LASSO from sums, against exact fractions, where columns are nearly alike."""

import itertools
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from infex.arrays import Floats
from infex.models.sums import Moments
from tests.models.exact import Row, dot, solve

EXAMPLES = 100
ROWS = 8


class Alike(NamedTuple):
    """Sums of rows whose last column is nearly the first one; all of them are exact as floats."""

    moments: Moments
    gram: list[Row]
    moment: Row

    @property
    def condition(self) -> float:
        return float(np.linalg.cond(self.moments.gram))


def alike(seed: int, dim: int, bits: int) -> Alike:
    """The two columns differ by 2^-bits; rewards are a sum of columns with few bits, and small noise."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(-4, 5, size=(ROWS, dim - 1)).astype(float)
    last = columns[:, :1] + 2.0**-bits * rng.integers(-3, 4, size=(ROWS, 1))
    x = np.hstack([columns, last])
    y = x @ rng.integers(1, 4, size=dim) + 2.0 ** -(bits + 2) * rng.integers(-2, 3, size=ROWS)
    rows = [[Fraction(part) for part in row] for row in x.tolist()]
    rewards = [Fraction(part) for part in y.tolist()]
    gram = [[dot([r[i] for r in rows], [r[j] for r in rows]) for j in range(dim)] for i in range(dim)]
    moment = [dot([r[i] for r in rows], rewards) for i in range(dim)]
    as_floats = np.array([[float(part) for part in row] for row in gram])
    assert [[Fraction(part) for part in row] for row in as_floats.tolist()] == gram
    return Alike(Moments(as_floats, np.array([float(part) for part in moment]), ROWS), gram, moment)


def error(found: Floats, exact: Row) -> float:
    """The length of the error, against that of what is exact."""
    known = np.array([float(part) for part in exact])
    return float(np.linalg.norm(found - known) / np.linalg.norm(known))


@given(seed=st.integers(0, 2**32), dim=st.integers(2, 5), bits=st.integers(1, 16))
@settings(max_examples=EXAMPLES, deadline=None)
def test_columns_that_are_nearly_alike_are_told_apart(seed: int, dim: int, bits: int) -> None:
    """Down to a difference of 2^-16, where a pivot is 1e-10 of its diagonal, which is more than rounding."""
    sums = alike(seed, dim, bits)
    assume(sums.condition < 1e11)
    assert error(sums.moments.least_squares(), solve(sums.gram, sums.moment)) < 1e-14 * sums.condition


def exact_lasso(sums: Alike, strength: Fraction) -> Row:
    """The best of all parameters that solve the problem for given signs of their coefficients."""
    dim, rows = len(sums.moment), Fraction(ROWS)
    gram, moment = [[part / rows for part in row] for row in sums.gram], [part / rows for part in sums.moment]
    found, least = [Fraction(0)] * dim, Fraction(0)
    for signs in itertools.product((-1, 0, 1), repeat=dim):
        active = [i for i in range(dim) if signs[i]]
        inner = [[gram[i][j] for j in active] for i in active]
        theta = [Fraction(0)] * dim
        for i, value in zip(
            active, solve(inner, [moment[i] - strength * signs[i] for i in active]), strict=True
        ):
            theta[i] = value
        loss = dot(theta, [dot(row, theta) for row in gram]) / 2 - dot(moment, theta)
        loss += strength * sum(map(abs, theta))
        if loss < least and all(
            value * sign > 0 or not sign for value, sign in zip(theta, signs, strict=True)
        ):
            found, least = theta, loss
    return found


@given(seed=st.integers(0, 2**32), dim=st.integers(2, 4), bits=st.integers(1, 7))
@settings(max_examples=EXAMPLES, deadline=None)
def test_lasso_keeps_its_digits_where_columns_are_nearly_alike(seed: int, dim: int, bits: int) -> None:
    """Descent alone creeps there, and stops 1e5 times as far from the minimum."""
    sums, strength = alike(seed, dim, bits), 2.0 ** -(2 * bits + 4)
    assume(sums.condition < 1e6)
    exact = exact_lasso(sums, Fraction(strength))
    assert error(sums.moments.lasso(strength), exact) < 1e-13 * sums.condition
    start = np.random.default_rng(seed).standard_normal(dim)
    assert error(sums.moments.lasso(strength, start), exact) < 1e-13 * sums.condition


def beside_the_minimum(sums: Moments, strength: float, theta: Floats) -> float:
    """How far slopes are from those of the minimum, against the strength."""
    slopes = (sums.moment - sums.gram @ theta) / sums.n_observations
    zero = theta == 0.0
    above = np.abs(slopes[zero]) - strength
    beside = np.abs(slopes[~zero] - strength * np.sign(theta[~zero]))
    return float(max(above.max(initial=0.0), beside.max(initial=0.0)) / strength)


@pytest.mark.parametrize("rank_one", [False, True])
def test_lasso_is_at_its_minimum_where_columns_outnumber_rewards(rank_one: bool) -> None:
    """Descent stopped before it, after its share of work: slopes were off by up to twice the strength."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        dim, rows = int(rng.integers(2, 73)), int(rng.integers(1, 40))
        x = rng.standard_normal((rows, dim)) / np.sqrt(dim)
        x = np.outer(rng.standard_normal(rows), x[0]) if rank_one else x
        y = rng.standard_normal(rows) * 10 ** rng.uniform(-2, 3)
        sums, strength = Moments(x.T @ x, x.T @ y, rows), 10 ** rng.uniform(-4, 0)
        assert beside_the_minimum(sums, strength, sums.lasso(strength)) < 1e-5


@pytest.mark.parametrize("dim", [2, 5, 9])
def test_columns_that_differ_by_rounding_alone_are_one(dim: int) -> None:
    """The shortest of all solutions gives equal columns equal coefficients."""
    rng = np.random.default_rng(dim)
    x = rng.standard_normal((40, dim))
    x[:, -1] = x[:, 0] * (1 + 2.0**-52)
    y = x[:, 0] + 0.1 * rng.standard_normal(40)
    theta = Moments(x.T @ x, x.T @ y, 40).least_squares()
    assert theta[0] == pytest.approx(theta[-1], rel=1e-9)


def test_lasso_of_nearly_equal_columns_is_no_worse_than_plain_descent() -> None:
    """What rounding leaves of the equations was taken for a direction, and theta went along it."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        rows, strength = 30, 10 ** rng.uniform(-8, -6)
        x = rng.standard_normal((rows, 1)) + 10 ** rng.uniform(-5.0, -4.5) * rng.standard_normal((rows, 5))
        y = x[:, 0] + 0.1 * rng.standard_normal(rows)
        sums = Moments(x.T @ x, x.T @ y, rows)
        theta = sums.lasso(strength)
        assert objective(sums, strength, theta) <= objective(sums, strength, descended(sums, strength)) + 1e-9


def objective(sums: Moments, strength: float, theta: Floats) -> float:
    return float(theta @ sums.gram @ theta / 2 - sums.moment @ theta + strength * np.abs(theta).sum())


def descended(sums: Moments, strength: float, sweeps: int = 300) -> Floats:
    """Coordinate descent, and nothing else."""
    theta = np.zeros(sums.moment.size)
    for _ in range(sweeps):
        for i in range(theta.size):
            pull = sums.moment[i] - sums.gram[i] @ theta + sums.gram[i, i] * theta[i]
            theta[i] = np.sign(pull) * max(abs(pull) - strength, 0.0) / sums.gram[i, i]
    return theta


@pytest.mark.parametrize("apart", [1e-5, 1e-6, 3e-7, 1e-7])
@pytest.mark.parametrize(("dim", "rows"), [(2, 1), (5, 2), (12, 4)])
def test_lasso_of_two_columns_in_proportion_takes_the_longer_one(dim: int, rows: int, apart: float) -> None:
    """It gave both one half, after a hundred thousand sweeps: what was no solution was taken for one."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((rows, dim))
    x[:, 0] *= 3.0
    x[:, 1] = x[:, 0] * (1.0 + apart)
    sums = Moments(x.T @ x, x.T @ np.sign(x[:, 0]), rows)
    theta = sums.lasso(0.01)
    assert theta[0] == 0.0 < theta[1]
    assert beside_the_minimum(sums, 0.01, theta) < 1e-9


@pytest.mark.parametrize("place", [36, 92, 274, 407])
def test_lasso_of_columns_that_agree_to_four_digits_reaches_the_minimum(place: int) -> None:
    """It stayed with the shorter one, at slopes that were off by half the strength and more."""
    rng = np.random.default_rng(5)
    for at in range(place + 1):
        dim, rows = int(rng.integers(2, 5)), int(rng.integers(4, 30))
        x = rng.normal(size=(rows, dim))
        x[:, 1] = x[:, 0] * rng.choice([2.0, -1.0, 0.3]) * (1 + 10.0 ** -(3 + at % 7) * rng.normal(size=rows))
        sums = Moments(x.T @ x, x.T @ rng.normal(size=rows), 1)
        strength = float(np.abs(sums.moment).max() * 10.0 ** -rng.uniform(0, 6))
    theta = sums.lasso(strength)
    assert beside_the_minimum(sums, strength, theta) < 1e-9
