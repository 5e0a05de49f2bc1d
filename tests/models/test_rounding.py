"""Ridge statistics against exact fractions of the very numbers they were given."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex.arrays import Floats
from infex.models.ridge import RidgeModel
from tests.models.exact import Exact, Pulls, dot

EXAMPLES = 100
LONGEST = math.exp(8.0)  # by how much a run may narrow a width before it is closed
CLOSED = 64  # runs, times the dimension, after which all is computed anew


def unit_arms(rng: np.random.Generator, count: int, dim: int) -> Floats:
    arms = rng.standard_normal((count, dim))
    return np.asarray(0.999 * arms / np.linalg.norm(arms, axis=1, keepdims=True))


def anew(ridge: RidgeModel) -> RidgeModel:
    """All that is derived, computed from the truth."""
    return ridge.rearranged(ridge.columns, np.arange(ridge.columns.shape[1]))


def assert_digits(ridge: RidgeModel, exact: Exact, rel: float) -> None:
    squares = [float(value) for value in exact.squares()]
    np.testing.assert_allclose(ridge.posterior().widths ** 2, squares, rtol=rel, atol=0)
    np.testing.assert_allclose(
        ridge.posterior().theta, [float(value) for value in exact.theta], rtol=rel, atol=0
    )


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(3))
def test_after_many_short_runs_all_is_what_the_truth_gives(seed: int) -> None:
    """The rule that counts runs, alone: no width falls so far that the other one would act.

    Where theta is not computed anew, huge rewards that cancel leave their rounding in it; and so many
    updates of the factor leave errors of 5e-13 in squared widths.
    """
    rng, dim, count, penalty = np.random.default_rng(seed), 3, 6, 1000.0
    arms = unit_arms(rng, count, dim)
    ridge, pulls, totals = RidgeModel(arms.T, penalty), [0] * count, [Fraction(0)] * count
    for t in range(200_000):
        huge = 1e12 * (-1) ** (t // count)
        arm, reward = t % count, huge if t < 60_000 else float(rng.standard_normal())
        ridge.update(arm, reward)
        pulls[arm] += 1
        totals[arm] += Fraction(reward)
    told = [Pulls(arm, pulls[arm], totals[arm]) for arm in range(count)]
    exact = Exact(arms, told, penalty)
    assert max(x @ x / penalty / float(w) for x, w in zip(arms, exact.squares(), strict=True)) < LONGEST
    assert_digits(ridge, exact, 3e-14)


@pytest.mark.compiled
@pytest.mark.parametrize("penalty", [1e-6, 1e-4, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_after_few_long_runs_all_is_what_the_truth_gives(seed: int, penalty: float) -> None:
    """The rule that looks at widths, alone: there are too few runs for the other one to act.

    Each run is as long as all before it, so that squared widths fall again and again. By
    subtraction alone they would keep six to ten digits.
    """
    rng, dim, count = np.random.default_rng(seed), 3, 6
    arms = unit_arms(rng, count, dim)
    ridge, told = RidgeModel(arms.T, penalty), []
    for turn in range(14):
        rewards = rng.standard_normal(2**turn).tolist()
        for reward in rewards:
            ridge.update(turn % count, reward)
        told.append(Pulls(turn % count, len(rewards), sum(map(Fraction, rewards), Fraction(0))))
    assert sum(2 + each.pulls // 4096 for each in told) < CLOSED * dim
    assert_digits(ridge, Exact(arms, told, penalty), 1e-12)


@given(
    seed=st.integers(0, 2**32),
    length=st.floats(-9, -2),
    penalty=st.floats(-3, 3),
    pulls=st.integers(1, 300),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_volume_of_little_is_more_than_rounding(
    seed: int, length: float, penalty: float, pulls: int
) -> None:
    """Computed anew from the truth, against the determinant in exact fractions."""
    rng, dim = np.random.default_rng(seed), 1 + seed % 4
    arms = unit_arms(rng, 3, dim) * 10**length
    ridge, told = RidgeModel(arms.T, 10**penalty), []
    for arm in range(3):
        for _ in range(pulls):
            ridge.update(arm, 0.5)
        told.append(Pulls(arm, pulls, Fraction(pulls, 2)))
    ridge = anew(ridge)
    assert ridge.posterior().log_det_ratio == pytest.approx(
        Exact(arms, told, 10**penalty).log_det_ratio, rel=1e-9, abs=0
    )


@given(
    seed=st.integers(0, 2**32),
    lengths=st.lists(st.floats(-9, 0), min_size=1, max_size=6),
    penalty=st.floats(-2, 6),
    turns=st.lists(st.integers(1, 40), max_size=5),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_small_widths_are_as_exact_as_large_ones(
    seed: int, lengths: list[float], penalty: float, turns: list[int]
) -> None:
    """Short arms and large penalties make widths down to 1e-12, of arms on the board and of any other."""
    rng, dim = np.random.default_rng(seed), 1 + seed % 3
    arms = unit_arms(rng, len(lengths), dim) * np.power(10.0, lengths)[:, None]
    ridge, told = RidgeModel(arms.T, 10**penalty), []
    for pulls in turns:
        arm = int(rng.integers(len(arms)))
        for _ in range(pulls):
            ridge.update(arm, 0.5)
        told.append(Pulls(arm, pulls, Fraction(pulls, 2)))
    squares = [float(value) for value in Exact(arms, told, 10**penalty).squares()]
    roots = np.sqrt(squares)
    np.testing.assert_allclose(ridge.posterior().widths, roots, rtol=4e-12, atol=0)
    np.testing.assert_allclose(
        [ridge.posterior().width(arm) for arm in range(len(arms))], roots, rtol=4e-12, atol=0
    )
    np.testing.assert_allclose(ridge.posterior().over(arms.T).widths, roots, rtol=4e-12, atol=0)
    estimates = ridge.posterior().estimates
    beta = 1e6
    np.testing.assert_allclose(ridge.posterior().upper(beta) - estimates, beta * roots, rtol=1e-9, atol=1e-15)


def truth_of(exact: Exact) -> Floats:
    """What a ridge keeps of these sums: each number as a float, and what is left over."""
    dim = len(exact.moment)
    truth = np.zeros((2, dim + 1, dim))
    for i, row in enumerate([*exact.gram, exact.moment]):
        for j, value in enumerate(row):
            total = value - exact.penalty * (i == j)
            truth[0, i, j] = float(total)
            truth[1, i, j] = float(total - Fraction(truth[0, i, j]))
    return truth


@given(
    seed=st.integers(0, 2**32),
    dim=st.integers(2, 5),
    power=st.floats(-10, -6.1),
    apart=st.sampled_from([0.0, 1e-8, 1e-7, 1e-6, 1e-3]),
)
@settings(max_examples=EXAMPLES // 2, deadline=None)
def test_a_small_penalty_outlasts_a_hundred_million_pulls_of_arms_on_a_line(
    seed: int, dim: int, power: float, apart: float
) -> None:
    """Their sums are so large that rounding is more than the penalty, which is all of V across the line.

    `apart` is how far the arms are from the line.
    """
    rng, penalty = np.random.default_rng(seed), 10**power
    line = unit_arms(rng, 1, dim)
    arms = 0.99 * rng.uniform(-1, 1, size=(4, 1)) * (line + apart * unit_arms(rng, 4, dim))
    pulls = rng.integers(10**6, 10**8, size=4)
    totals = pulls * (arms @ line[0]) + np.sqrt(pulls) * rng.standard_normal(4)
    told = [Pulls(arm, int(pulls[arm]), Fraction(float(totals[arm]))) for arm in range(4)]
    before = Exact(arms, told, penalty)
    ridge = RidgeModel(arms.T, penalty)
    kept = ridge.arrays() | {"truth": truth_of(before), "told": np.array(int(pulls.sum()))}
    ridge.restore({name: kept[name] for name in ("truth", "told", "counts")})
    for arm in rng.integers(4, size=60).tolist():
        ridge.update(arm, 0.5)
        told.append(Pulls(arm, 1, Fraction(1, 2)))
    for exact in (Exact(arms, told, penalty),) * 2:
        roots = np.sqrt([float(value) for value in exact.squares()])
        np.testing.assert_allclose(ridge.posterior().widths, roots, rtol=1e-6, atol=0)
        estimates = np.array([float(dot(x, exact.theta)) for x in exact.arms])
        np.testing.assert_allclose((ridge.posterior().estimates - estimates) / roots, 0, atol=1e-6)
        assert ridge.posterior().log_det_ratio == pytest.approx(exact.log_det_ratio, rel=1e-10)
        ridge = anew(ridge)
