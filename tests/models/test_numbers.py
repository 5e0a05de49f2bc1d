"""Every estimator against a slow obvious version."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from infex.arrays import Floats
from infex.core.posterior import RidgePosterior
from infex.models import Discounted, Lasso, Logistic, Ridge, Weighted, Windowed
from infex.models.base import Estimator, Model
from infex.models.layout import DesignRow
from infex.models.posterior import Posterior, on_offer
from infex.models.ridge import RidgeModel
from infex.models.state import ModelState
from tests.models.exact import Exact, Pulls
from tests.models.slow import ALL, Case, Told, by_first, cases, logistic_slope, slow

EXAMPLES = 150


def learn(memory: ModelState, on: DesignRow, reward: float, weight: float = 1.0) -> None:
    memory.update(on, reward, False, memory.effective_weight(on, reward, weight))


def learnt(case: Case, told: list[Told] | None = None) -> Model:
    memory = ModelState.empty(case.arms.T, case.penalty, False, case.estimator)
    for arm, reward, weight in case.told if told is None else told:
        learn(memory, arm, reward, weight)
    return memory.all


def kind(estimator: Any) -> str:
    return type(estimator).__name__


def bent(estimator: Any, odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-odds)) if isinstance(estimator, Logistic) else odds


def assert_same(known: RidgePosterior, case: Case) -> None:
    theta, covariance, log_det_ratio = slow(case)
    wide = 1e-5 if isinstance(case.estimator, Lasso) else 1e-8
    odds = case.arms @ theta
    spread = np.sqrt(np.einsum("ki,ij,kj->k", case.arms, covariance, case.arms))
    slope = bent(case.estimator, odds) * (1 - bent(case.estimator, odds))
    widths = spread * slope if isinstance(case.estimator, Logistic) else spread
    posterior = Posterior(known)
    np.testing.assert_allclose(posterior.estimates, bent(case.estimator, odds), rtol=wide, atol=wide)
    np.testing.assert_allclose(posterior.widths, widths, rtol=1e-7)
    np.testing.assert_allclose(posterior.log_det_ratio, log_det_ratio, rtol=1e-8, atol=1e-10)
    upper = bent(case.estimator, odds + 2.5 * spread)
    np.testing.assert_allclose(posterior.upper(2.5), upper, rtol=wide, atol=wide)
    factor = np.array([known.parameter(1.0, unit) for unit in np.eye(theta.size)]) - known.theta
    np.testing.assert_allclose(factor.T @ factor, covariance, rtol=1e-6, atol=1e-10)
    assert np.all(np.diag(factor) > 0)
    np.testing.assert_allclose(np.triu(factor, 1), 0, atol=1e-12)
    for arm in range(len(posterior)):
        assert posterior.width(arm) == pytest.approx(posterior.widths[arm], rel=1e-12)


@given(case=cases())
@settings(max_examples=EXAMPLES, deadline=None)
def test_fixed_arms_agree_with_a_slow_version(case: Case) -> None:
    assert_same(learnt(case).posterior(), case)


@given(case=cases(weighted=True))
@settings(max_examples=EXAMPLES, deadline=None)
def test_weights_that_are_told_count(case: Case) -> None:
    assert_same(learnt(case).posterior(), case)


@given(case=cases())
@settings(max_examples=EXAMPLES, deadline=None)
def test_arms_of_one_round_agree_with_a_slow_version(case: Case) -> None:
    memory = ModelState.empty(np.empty((case.arms.shape[1], 0)), case.penalty, False, case.estimator)
    for arm, reward, _ in case.told:
        learn(memory, case.arms[arm], reward)
    assert_same(on_offer(memory.all.posterior(), case.arms.T), case)


@given(case=cases())
@settings(max_examples=EXAMPLES, deadline=None)
def test_reading_after_every_reward_changes_nothing(case: Case) -> None:
    """Not even the last bit: a search starts where the last decision was entered, not where one looked."""
    memory, unread = (ModelState.empty(case.arms.T, case.penalty, False, case.estimator) for _ in range(2))
    for turn, (arm, reward, _) in enumerate(case.told):
        for each in (memory, unread):
            learn(each, arm, reward)
            if turn % 3 == 0:
                each.set_warm_start(explored=False)
        kept = memory.posterior().copy()
        before = kept.estimates.copy(), kept.widths.copy(), kept.pulls.copy()
        memory.all.arrays()
    assert_same(memory.all.posterior(), case)
    for one, other in zip(
        (memory.posterior().estimates, memory.posterior().widths, memory.all.posterior().factor),
        (unread.posterior().estimates, unread.posterior().widths, unread.all.posterior().factor),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    if case.told:
        learn(memory, 0, 1.0)
        for then, now in zip(before, (kept.estimates, kept.widths, kept.pulls), strict=True):
            np.testing.assert_array_equal(then, now)


@given(case=cases(st.sampled_from([Ridge(), Weighted(weight=by_first), Lasso(strength=0.02)])))
@settings(max_examples=EXAMPLES, deadline=None)
def test_two_halves_add_up(case: Case) -> None:
    half = len(case.told) // 2
    one = learnt(case, case.told[:half])
    one.add_statistics(learnt(case, case.told[half:]).sufficient_statistics())
    assert one.n_observations == len(case.told)
    assert_same(one.posterior(), case)


@given(case=cases(st.builds(Lasso, strength=st.floats(1e-3, 0.5))))
@settings(max_examples=EXAMPLES, deadline=None)
def test_lasso_meets_the_conditions_of_a_minimum(case: Case) -> None:
    """The slope of the squares is -strength sign(theta_i) where theta_i is not 0, else at most strength."""
    assume(case.told)
    theta = learnt(case).posterior().theta
    strength = case.estimator.strength
    x = case.arms[[each.arm for each in case.told]]
    slope = x.T @ (x @ theta - [each.reward for each in case.told]) / len(case.told)
    np.testing.assert_allclose(slope[theta != 0], -strength * np.sign(theta[theta != 0]), atol=1e-7)
    assert np.all(np.abs(slope) <= strength + 1e-7)


@given(case=cases(st.builds(Logistic, penalty=st.floats(1e-3, 10))))
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_slope_of_logistic_regression_is_nil(case: Case) -> None:
    theta = learnt(case).posterior().theta
    x = case.arms[[each.arm for each in case.told]].reshape(len(case.told), len(theta))
    y = np.array([each.reward for each in case.told])
    slope = logistic_slope(x, y, case.estimator.penalty, theta)
    np.testing.assert_allclose(slope, 0, atol=1e-10 * (1 + len(y)))


@pytest.mark.parametrize("wins", [0, 1])
def test_logistic_regression_finds_its_way_when_one_outcome_is_all_there_is(wins: int) -> None:
    fit = Logistic(penalty=1e-6).new_model(np.array([[1.0, 0.1]]), 1.0)
    for _ in range(5000):
        fit.update(0, float(wins))
        fit.update(1, float(wins))
    chances = fit.posterior().estimates
    assert np.all(np.abs(chances - wins) < 1e-3)
    x, y = np.array([[1.0], [0.1]]).repeat(5000, axis=0), np.full(10_000, float(wins))
    np.testing.assert_allclose(logistic_slope(x, y, 1e-6, fit.posterior().theta), 0, atol=1e-9)


@pytest.mark.parametrize("scale", [0.0, 3.0, 1e9])
def test_bounds_and_samples_of_chances_are_chances(scale: float) -> None:
    fit = Logistic().new_model(np.array([[1.0, -0.5, 0.1]]), 0.01)
    for arm, reward in [(0, 1.0), (0, 1.0), (1, 0.0), (2, 1.0)]:
        fit.update(arm, reward)
    posterior, rng = Posterior(fit.posterior()), np.random.default_rng(1)
    for scores in (posterior.upper(scale), posterior.perturbed(scale, rng), posterior.estimates):
        assert np.all((scores >= 0) & (scores <= 1))
    assert np.all(posterior.upper(scale) >= posterior.estimates)


def test_upper_bounds_of_chances_start_as_widths_say() -> None:
    fit = Logistic().new_model(np.eye(3), 1.0)
    for arm in (0, 0, 1):
        fit.update(arm, 1.0)
    posterior = Posterior(fit.posterior())
    np.testing.assert_allclose(
        (posterior.upper(1e-6) - posterior.estimates) / 1e-6, posterior.widths, rtol=1e-5
    )


@given(
    case=cases(st.sampled_from([Discounted(rate=1.0), Windowed(size=100), Weighted(weight=lambda x: 1.0)]))
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_forgets_nothing_is_ridge_regression(case: Case) -> None:
    one, plain = (
        Posterior(learnt(case).posterior()),
        Posterior(learnt(case._replace(estimator=None)).posterior()),
    )
    np.testing.assert_allclose(one.estimates, plain.estimates, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.widths, plain.widths, rtol=1e-9)
    mine, theirs = (each.perturbed(2.0, np.random.default_rng(3)) for each in (one, plain))
    np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)


def test_the_default_is_ridge_regression_itself() -> None:
    fit = Ridge().new_model(np.eye(2), 0.5)
    assert isinstance(fit, RidgeModel)
    assert fit.penalty == 0.5
    assert Ridge(penalty=2).new_model(np.eye(2), 0.5).penalty == 2.0


def test_a_window_leaves_no_trace_of_what_it_dropped() -> None:
    """Huge rewards come and go; without a carry they would leave an error of 1e-6."""
    window = Windowed(size=5).new_model(np.eye(2), 1.0)
    for t in range(1, 10_000):
        window.update(t % 2, 1e10 if t < 9_000 else 0.1)
    np.testing.assert_allclose(window.posterior().estimates, [0.2 / 3, 0.3 / 4], rtol=1e-14)


@pytest.mark.parametrize("size", [5, 50, 300])
def test_a_window_that_went_round_many_times_keeps_its_digits(size: int) -> None:
    """Against exact fractions of what is in it.

    Rewards of very different sizes leave their rounding in the carry, too: a window that never sums
    anew would be off by 1e-7 and more.
    """
    rng = np.random.default_rng(size)
    arms = rng.standard_normal((5, 3))
    arms /= 1.01 * np.linalg.norm(arms, axis=1, keepdims=True)
    window, told = Windowed(size=size).new_model(arms.T, 1.0), []
    for t in range(40 * size + 3):
        arm, scale = int(rng.integers(5)), 10 ** rng.uniform(-3, 24) if t < 37 * size else 1.0
        reward = float(scale * rng.standard_normal())
        window.update(arm, reward)
        told.append(Pulls(arm, 1, Fraction(reward)))
    exact = Exact(arms, told[-size:], 1.0)
    np.testing.assert_allclose(
        window.posterior().theta, [float(part) for part in exact.theta], rtol=1e-13, atol=0
    )
    np.testing.assert_allclose(
        window.posterior().widths ** 2, [float(part) for part in exact.squares()], rtol=1e-13
    )


@pytest.mark.parametrize("estimator", [Windowed(), Weighted(weight=lambda x: 1.0), Lasso()], ids=kind)
@pytest.mark.parametrize("seed", range(4))
def test_a_small_penalty_outlasts_large_weights_on_a_line(estimator: Any, seed: int) -> None:
    """The rounding of sums so large is more than the penalty, which is all of V across the line."""
    rng, penalty = np.random.default_rng(seed), 1e-10
    arms = np.outer(rng.uniform(0.1, 0.5, size=4), rng.uniform(-1, 1, size=3))
    fit, told = estimator.new_model(arms.T, penalty), []
    for arm in range(4):
        weight = int(rng.integers(10**7, 10**8))
        fit.update(arms[arm].copy(), 0.5, float(weight))
        told.append(Pulls(arm, weight, Fraction(weight, 2)))
    exact = Exact(arms, told, penalty)
    assert fit.posterior().log_det_ratio == pytest.approx(exact.log_det_ratio, rel=1e-10)
    np.testing.assert_allclose(
        fit.posterior().widths ** 2, [float(part) for part in exact.squares()], rtol=1e-10
    )


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_before_any_reward_nothing_is_known(estimator: Estimator) -> None:
    posterior = Posterior(estimator.new_model(np.eye(3), 4.0).posterior())
    logistic = isinstance(estimator, Logistic)
    assert (posterior.log_det_ratio, posterior.greedy, posterior.penalty) == (0.0, 0, 4.0)
    np.testing.assert_array_equal(posterior.estimates, np.full(3, 0.5 if logistic else 0.0))
    np.testing.assert_allclose(posterior.widths, np.full(3, 0.125 if logistic else 0.5))


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_what_was_seen_many_times_is_known(estimator: Estimator) -> None:
    fit, rounds = estimator.new_model(np.array([[1.0, 0.5]]), 1.0), 20_000
    for t in range(rounds):
        fit.update(0, 1.0 if t % 4 else 0.0)
    found = Posterior(fit.posterior())
    assert abs(found.estimates[0] - 0.75) < 0.15
    assert np.isfinite(found.widths).all()
