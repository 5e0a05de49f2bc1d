"""Where V is far larger in some directions than in others: heavy weights, small penalties, few arms."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infex import Bandit, Greedy, LinUCB, models
from infex.arrays import Floats
from infex.core.bank import RidgeBank
from infex.core.posterior import RidgePosterior
from infex.errors import InvalidSetting
from infex.models.ridge import RidgeModel
from tests.models.exact import Exact, Row, dot, solve

EXAMPLES = 100


class Weighed(Exact):
    """The same of rewards with weights."""

    def __init__(self, arms: Floats, told: list[tuple[int, float, float]], penalty: float) -> None:
        super().__init__(arms, [], penalty)
        for arm, reward, weight in told:
            self.take(arm, reward, Fraction(weight))

    def take(self, arm: int, reward: float, weight: Fraction) -> None:
        x = self.arms[arm]
        self.gram = [
            [v + weight * a * b for v, b in zip(row, x, strict=True)]
            for row, a in zip(self.gram, x, strict=True)
        ]
        self.moment = [b + weight * Fraction(reward) * a for b, a in zip(self.moment, x, strict=True)]


def fractions_of(rows: Floats) -> list[Row]:
    return [[Fraction(float(part)) for part in row] for row in rows]


def assert_exact(known: RidgePosterior, exact: Weighed, rows: Floats, size: float) -> None:
    """Estimates, widths and the log_det_ratio of any arms; rewards are of that size."""
    theta = exact.theta
    means = np.array([float(dot(x, theta)) for x in fractions_of(rows)])
    roots = np.sqrt([float(dot(x, solve(exact.gram, x))) for x in fractions_of(rows)])
    on = known.over(np.ascontiguousarray(rows.T))
    np.testing.assert_allclose(on.estimates, means, rtol=1e-6, atol=1e-6 * size * (1.0 + roots.max()))
    rounding = 1e-15 / float(exact.penalty) ** 0.5  # of the largest width there can be: see docs/numbers.md
    np.testing.assert_allclose(on.widths, roots, rtol=1e-6, atol=rounding)
    assert known.log_det_ratio == pytest.approx(exact.log_det_ratio, rel=1e-7, abs=1e-12)


@given(
    seed=st.integers(0, 2**32),
    dim=st.integers(1, 5),
    count=st.integers(1, 4),
    power=st.floats(-10, 2),
    heaviest=st.sampled_from([0, 3, 6, 9, 12]),
    apart=st.sampled_from([1.0, 1e-2, 1e-5, 1e-8]),
    size=st.sampled_from([1.0, 1e4, 1e9]),
)
@example(seed=999999, dim=5, count=4, power=0.0, heaviest=12, apart=1.0, size=1.0)
@settings(max_examples=EXAMPLES, deadline=None)
def test_all_is_as_exact_fractions_have_it_and_a_file_of_it_is_believed(
    seed: int, dim: int, count: int, power: float, heaviest: int, apart: float, size: float
) -> None:
    """Good files were refused, theta was off across the arms by 1e-3, log det V by 5, or no numbers."""
    rng, penalty = np.random.default_rng(seed), 10**power
    arms = rng.standard_normal((count, dim))
    arms /= 1.01 * np.linalg.norm(arms, axis=1, keepdims=True)
    arms = (arms[:1] + apart * arms) / 2
    ridge, told = RidgeModel(arms.T, penalty), []
    for _ in range(60):
        arm, reward = int(rng.integers(count)), float(size * rng.choice([-1.0, 1.0, 0.3]))
        weight = float(10 ** rng.uniform(0, heaviest)) if rng.random() < 0.7 else 1.0
        ridge.update(arm, reward, weight)
        told.append((arm, reward, weight))
    exact = Weighed(arms, told, penalty)
    rows = rng.standard_normal((3, dim))
    rows /= 1.01 * np.linalg.norm(rows, axis=1, keepdims=True)
    assert_exact(ridge.posterior(), exact, np.vstack([rows, arms]), size)
    anew = ridge.rearranged(ridge.columns, np.arange(count))
    assert_exact(anew.posterior(), exact, np.vstack([rows, arms]), size)
    other = RidgeModel(arms.T, penalty)
    other.restore(ridge.arrays())
    np.testing.assert_array_equal(other.posterior().estimates, ridge.posterior().estimates)


@pytest.mark.parametrize("penalty", [1e-9, 1e-2, 1.0, 30.0])
@pytest.mark.parametrize("tilt", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("seed", range(5))
def test_estimates_hold_where_no_reward_was_seen(seed: int, tilt: float, penalty: float) -> None:
    """V is the penalty along (1, -1, tilt) and 1e12 elsewhere: estimates along it were off by up to 1e-4."""
    rng, across = np.random.default_rng(seed), np.array([1.0, -1.0, tilt])
    rows = rng.standard_normal((40, 3))
    rows -= np.outer(rows @ across, across) / (across @ across)
    rows /= 1.01 * np.linalg.norm(rows, axis=1, keepdims=True)
    told = [(place, float(rng.choice([-1.0, 1.0])), float(10 ** rng.uniform(3, 12))) for place in range(40)]
    ridge, bank = RidgeModel(np.zeros((3, 0)), penalty), RidgeBank(1, 3, penalty)
    for place, reward, weight in told:
        ridge.update(rows[place], reward, weight)
        bank.update(0, rows[place], reward, weight)
    exact, asked = Weighed(rows, told, penalty), np.vstack([np.eye(3), across[None] / 2])
    assert_exact(ridge.posterior(), exact, asked, 1.0)
    means = np.array([float(dot(x, exact.theta)) for x in fractions_of(asked)])
    found = np.array([bank.estimates(x)[0] for x in asked])
    np.testing.assert_allclose(found, means, rtol=1e-6, atol=1e-6 * (1.0 + penalty**-0.5))


@pytest.mark.parametrize("rate", [1.0, 0.99, 0.5])
@pytest.mark.parametrize("penalty", [1e-9, 1e-5, 1.0])
@pytest.mark.parametrize("heaviest", [1e3, 1e12])
def test_discounting_loses_nothing_where_little_is_known(
    rate: float, penalty: float, heaviest: float
) -> None:
    """Each fading rounded the sums: with weights up to 1e12 estimates and widths were off by up to 1e4."""
    rng = np.random.default_rng(4)
    arms = rng.standard_normal((4, 5))
    arms /= 1.01 * np.linalg.norm(arms, axis=1, keepdims=True)
    fit, told = models.Discounted(rate=rate).new_model(np.ascontiguousarray(arms.T), penalty), []
    for _ in range(40):
        arm, reward, weight = int(rng.integers(4)), float(rng.normal()), float(heaviest ** rng.random())
        fit.update(arm, reward, weight)
        told.append((arm, reward, weight))
    ages = range(len(told) - 1, -1, -1)

    def faded(power: int) -> Weighed:
        exact = Weighed(arms, [], penalty)
        for (arm, reward, weight), age in zip(told, ages, strict=True):
            exact.take(arm, reward, Fraction(weight) * Fraction(rate) ** (power * age))
        return exact

    once, twice, asked = faded(1), faded(2), np.vstack([np.eye(5), arms])
    turned = [solve(once.gram, x) for x in fractions_of(asked)]  # V^-1 x
    roots = np.sqrt([float(dot(u, [dot(row, u) for row in twice.gram])) for u in turned])
    means = np.array([float(dot(x, once.theta)) for x in fractions_of(asked)])
    known = fit.posterior()
    on = known.over(np.ascontiguousarray(asked.T))
    np.testing.assert_allclose(on.estimates, means, rtol=1e-6, atol=1e-6 * (1.0 + roots.max()))
    np.testing.assert_allclose(on.widths, roots, rtol=1e-6)
    assert known.log_det_ratio == pytest.approx(twice.log_det_ratio, rel=1e-7)


@pytest.mark.parametrize("penalty", [1e-9, 1e-4, 1.0])
@pytest.mark.parametrize("weight", [1e4, 1e8, 1e12])
def test_log_odds_hold_where_no_reward_was_seen(weight: float, penalty: float) -> None:
    """The slope of heavy rewards was rounded, and theta along what no arm has was anything up to 1e12."""
    rng, across = np.random.default_rng(5), np.array([1.0, -1.0, 0.01])
    arms = rng.standard_normal((2, 3))
    arms -= np.outer(arms @ across, across) / (across @ across)
    arms /= 1.01 * np.linalg.norm(arms, axis=1, keepdims=True)
    fit, won = models.Logistic().new_model(np.ascontiguousarray(arms.T), penalty), np.zeros((2, 2))
    for turn in range(40):
        arm, reward, heavy = turn % 2, float(rng.random() < 0.6), weight * (1.0 + rng.random())
        fit.update(arm, reward, heavy)
        won[arm, int(reward)] += heavy
    fitted = fit.posterior().over(np.ascontiguousarray(arms.T)).estimates
    np.testing.assert_allclose(fitted, won[:, 1] / won.sum(axis=1), atol=20 * penalty / weight + 1e-12)
    theta, factor = fit.posterior().theta, fit.posterior().factor
    assert theta @ across == pytest.approx(0.0, abs=1e-6 * (1.0 + penalty**-0.5))
    assert np.linalg.norm(factor @ across) == pytest.approx(
        np.linalg.norm(across) / np.sqrt(penalty), rel=1e-6
    )


@pytest.mark.parametrize(("penalty", "weight"), [(1e-6, 1e8), (1e-6, 1e10), (1e-4, 1e12), (1e-10, 1e12)])
def test_the_heaviest_weights_leave_numbers(penalty: float, weight: float) -> None:
    """After arms came, the log_det_ratio was off by 5, or no number, and the bandit never decided again."""
    arm = np.array([[0.3, -0.5, 0.7]])
    for estimator in (None, models.Weighted(weight=lambda x: 1.0), models.Lasso(strength=1e-9)):
        bandit = Bandit(arm, Greedy(), penalty=penalty, estimator=estimator)
        for _ in range(60):
            bandit.tell(bandit.ask(), 1.0, weight=weight)
        exact = Weighed(arm, [(0, 1.0, weight)] * 60, penalty).log_det_ratio
        assert bandit.posterior().log_det_ratio == pytest.approx(exact, rel=1e-9)
        bandit.add_arms(arm / 2)
        assert bandit.posterior().log_det_ratio == pytest.approx(exact, rel=1e-9)
        assert bandit.ask().arm == 0


@pytest.mark.parametrize("size", [1.0, 1e9, 1e13, 1e16, 1e90])
def test_the_factor_does_not_depend_on_the_size_of_rewards(size: float) -> None:
    """But for rounding: it was theta + M'e - theta, where of 1e16 nothing is left."""
    ridge, plain = (RidgeModel(np.eye(2) / 2) for _ in range(2))
    for turn in range(10):
        ridge.update(turn // 4 % 2, size)
        plain.update(turn // 4 % 2, 1.0)
    np.testing.assert_allclose(ridge.posterior().factor, plain.posterior().factor, rtol=1e-14)
    pulls = ridge.posterior().counts[0]
    np.testing.assert_allclose(ridge.posterior().factor, np.diag(1 / np.sqrt(1 + pulls / 4)))
    other = RidgeModel(np.eye(2) / 2)
    other.restore(ridge.arrays())


@pytest.mark.parametrize("weight", [1e300, 1e13, 1e-330, -1.0, np.nan])
def test_weights_that_sums_cannot_carry_are_refused(weight: float) -> None:
    bandit = Bandit(np.eye(2), LinUCB(), estimator=models.Weighted(weight=lambda x: weight))
    decision = bandit.ask()
    with pytest.raises(InvalidSetting, match=r"weight\(x\)"):
        bandit.tell(decision, 1.0)
    assert bandit.pending == (decision,)
