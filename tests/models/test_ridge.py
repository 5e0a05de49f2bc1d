"""Ridge statistics against direct solves."""

import copy
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infex.arrays import Floats
from infex.core.posterior import RidgePosterior
from infex.errors import InvalidSetting, NotKept, StalePosterior
from infex.models.posterior import Posterior, on_offer
from infex.models.ridge import RidgeModel
from infex.models.state import ModelState
from infex.testing import SlowRidge
from tests.models.strategies import Case, cases

EXAMPLES = 150


def learnt(case: Case) -> RidgeModel:
    ridge = RidgeModel(case.arms.T, case.penalty)
    for pull in case.pulls:
        ridge.update(pull.arm, pull.reward)
    return ridge


def assert_same(known: RidgePosterior, slow: SlowRidge, rtol: float = 1e-8) -> None:
    posterior = Posterior(known)
    np.testing.assert_allclose(posterior.estimates, slow.estimates(), rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(posterior.widths, slow.widths(), rtol=rtol)
    np.testing.assert_allclose(posterior.log_det_ratio, slow.log_det_ratio(), rtol=rtol, atol=1e-12)
    upper = slow.estimates() + 2.5 * slow.widths()
    np.testing.assert_allclose(posterior.upper(2.5), upper, rtol=rtol, atol=1e-12)
    for arm in range(len(posterior)):
        assert posterior.width(arm) == pytest.approx(slow.widths()[arm], rel=rtol)
        assert posterior.estimate(arm) == posterior.estimates[arm]


@given(case=cases())
@settings(max_examples=EXAMPLES, deadline=None)
def test_everything_agrees_with_a_direct_solve(case: Case) -> None:
    assert_same(learnt(case).posterior(), SlowRidge(case.arms, case.pulls, case.penalty))


@given(case=cases())
@settings(max_examples=EXAMPLES, deadline=None)
def test_arms_of_one_round_agree_with_a_direct_solve(case: Case) -> None:
    ridge = RidgeModel(np.empty((case.arms.shape[1], 0)), case.penalty)
    for pull in case.pulls:
        ridge.update(case.arms[pull.arm], pull.reward)
    assert_same(on_offer(ridge.posterior(), case.arms.T), SlowRidge(case.arms, case.pulls, case.penalty))


@given(case=cases(most_dim=12))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_sample_is_that_of_a_fresh_cholesky_factor(case: Case) -> None:
    eta = case.rng.standard_normal((case.arms.shape[1],))
    slow = SlowRidge(case.arms, case.pulls, case.penalty)
    sampled = learnt(case).posterior().perturbed(1.5, eta)
    np.testing.assert_allclose(sampled, slow.sampled(1.5, eta), rtol=1e-8, atol=1e-10)


@given(case=cases())
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_order_of_rewards_does_not_matter(case: Case) -> None:
    shuffled = [case.pulls[i] for i in case.rng.permutation(len(case.pulls))]
    one, other = (
        Posterior(learnt(case).posterior()),
        Posterior(learnt(case._replace(pulls=shuffled)).posterior()),
    )
    np.testing.assert_allclose(one.estimates, other.estimates, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.widths, other.widths, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.log_det_ratio, other.log_det_ratio, rtol=1e-12, atol=1e-12)


@given(case=cases(most_dim=10))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_ridge_goes_on_bit_for_bit_from_what_was_kept_of_it(case: Case) -> None:
    ridge = learnt(case)
    other = RidgeModel(ridge.columns, ridge.penalty)
    other.restore(ridge.arrays())
    more = [(int(case.rng.integers(len(case.arms))), float(case.rng.standard_normal())) for _ in range(20)]
    for arm, reward in more:
        assert_equal(other.posterior(), ridge.posterior())
        other.update(arm, reward)
        ridge.update(arm, reward)
    assert_equal(other.posterior(), ridge.posterior())


def assert_equal(one: RidgePosterior, other: RidgePosterior) -> None:
    """Two say the same to the last bit."""
    for mine, theirs in (
        (one.estimates, other.estimates),
        (one.widths, other.widths),
        (one.factor, other.factor),
        (one.theta, other.theta),
        (one.counts, other.counts),
        (one.sums(), other.sums()),
    ):
        np.testing.assert_array_equal(mine, theirs)
    assert (one.log_det_ratio, one.greedy, one.told) == (
        other.log_det_ratio,
        other.greedy,
        other.told,
    )


@given(case=cases(most_dim=10))
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_copy_stays_as_it_is_whatever_is_learnt_and_reading_changes_nothing(case: Case) -> None:
    ridge, unread = learnt(case), learnt(case)
    live = Posterior(ridge.posterior(), ridge.posterior())
    kept = live.copy()
    other = kept.on(case.arms[:1].T)
    before = [np.array(figure) for figure in figures(kept)]
    elsewhere = [np.array(figure) for figure in figures(other)]
    for _ in range(20):
        arm, reward = int(case.rng.integers(len(case.arms))), float(case.rng.standard_normal())
        ridge.update(arm, reward)
        unread.update(arm, reward)
        figures(Posterior(ridge.posterior()).on(case.arms.T))
        ridge.arrays()
        assert_equal(ridge.posterior(), unread.posterior())
    for stale in (live, live.explored, live.with_policy_state("x")):
        with pytest.raises(StalePosterior, match="has learnt since"):
            figures(stale)
    for one, again in zip(before, figures(kept), strict=True):
        np.testing.assert_array_equal(one, again)
    for one, again in zip(elsewhere, figures(other), strict=True):
        np.testing.assert_array_equal(one, again)


def figures(posterior: Posterior) -> list[Floats]:
    """All that can be read of arms."""
    return [
        posterior.estimates,
        posterior.widths,
        posterior.upper(1.5),
        posterior.factor,
        posterior.theta,
        posterior.moments.gram,
        posterior.moments.moment,
        np.array(
            [posterior.log_det_ratio, posterior.greedy, posterior.width(0), posterior.moments.n_observations]
        ),
        np.array(posterior.pulls if posterior.fixed else []),
    ]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda ridge: pickle.loads(pickle.dumps(ridge))])
def test_statistics_that_are_copied_go_on_by_themselves(again: Any) -> None:
    ridge = RidgeModel(np.eye(2))
    ridge.update(0, 1.0)
    live = ridge.posterior()
    other = again(ridge)
    assert_equal(other.posterior(), live)
    of_other = other.posterior()
    other.update(1, 3.0)
    with pytest.raises(StalePosterior):
        _ = of_other.estimates
    np.testing.assert_array_equal(live.estimates, [0.5, 0.0])
    assert (other.n_observations, ridge.n_observations) == (2, 1)


@given(case=cases(most_dim=10))
@settings(max_examples=EXAMPLES, deadline=None)
def test_two_ridges_add_up_to_one_that_saw_it_all(case: Case) -> None:
    half = len(case.pulls) // 2
    one = learnt(case._replace(pulls=case.pulls[:half]))
    one.add_statistics(learnt(case._replace(pulls=case.pulls[half:])).sufficient_statistics())
    assert_same(one.posterior(), SlowRidge(case.arms, case.pulls, case.penalty))


@given(power=st.floats(-9.9, 4), dim=st.integers(1, 50))
@example(power=-9.5, dim=3)  # whose root, squared, is not what it was
@settings(max_examples=EXAMPLES, deadline=None)
def test_before_any_data_the_volume_is_nil(power: float, dim: int) -> None:
    ridge = RidgeModel(np.eye(dim), 10**power)
    assert ridge.posterior().log_det_ratio == 0.0
    assert ridge.rearranged(np.eye(dim), np.arange(dim)).posterior().log_det_ratio == 0.0


def test_before_any_data_nothing_is_known() -> None:
    ridge = RidgeModel(np.eye(3), penalty=4.0)
    posterior = Posterior(ridge.posterior())
    assert posterior.log_det_ratio == 0.0
    assert posterior.greedy == 0
    np.testing.assert_array_equal(posterior.estimates, np.zeros(3))
    np.testing.assert_allclose(posterior.widths, np.full(3, 0.5))


@pytest.mark.parametrize("long_run", [10_000, pytest.param(1_000_000, marks=pytest.mark.compiled)])
def test_a_long_run_of_one_arm_loses_no_digits(long_run: int) -> None:
    """Squared widths fall by a factor of a million, where subtraction alone would leave ten digits."""
    arms = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    ridge = RidgeModel(arms.T)
    for _ in range(long_run):
        ridge.update(0, 0.5)
    posterior = Posterior(ridge.posterior())
    assert posterior.widths[0] ** 2 == pytest.approx(1 / (1 + long_run), rel=1e-10, abs=0)
    assert posterior.widths[1] ** 2 == pytest.approx(0.64 / (1 + long_run) + 0.36, rel=1e-10, abs=0)
    assert posterior.estimates[0] == pytest.approx(0.5 * long_run / (1 + long_run), rel=1e-12)
    assert posterior.log_det_ratio == pytest.approx(np.log1p(long_run), rel=1e-12)


@pytest.mark.compiled
def test_widths_keep_twelve_digits_through_many_long_runs() -> None:
    """Against exact fractions. Without computing anew from the truth, nine digits are left."""
    arms = [[Fraction(1), Fraction(0)], [Fraction(4, 5), Fraction(3, 5)], [Fraction(3, 5), Fraction(4, 5)]]
    rounded = [[Fraction(float(part)) for part in arm] for arm in arms]
    ridge = RidgeModel(np.array(arms, dtype=np.float64).T, 0.01)
    gram = [[Fraction(0.01), Fraction(0)], [Fraction(0), Fraction(0.01)]]
    for turn in range(60):
        arm, pulls = turn % 2, 700 + 13 * turn
        for _ in range(pulls):
            ridge.update(arm, 0.25)
        x = rounded[arm]
        gram = [[gram[i][j] + pulls * x[i] * x[j] for j in (0, 1)] for i in (0, 1)]
        (a, b), (_, c) = gram
        for k, z in enumerate(rounded):
            square = (c * z[0] * z[0] - 2 * b * z[0] * z[1] + a * z[1] * z[1]) / (a * c - b * b)
            assert ridge.posterior().width(k) ** 2 == pytest.approx(float(square), rel=1e-12, abs=0)


@pytest.mark.compiled
def test_a_long_sum_of_rewards_loses_no_digits() -> None:
    """A short arm makes a run of a million pulls, whose plain sum of 0.1 would be off by 1e-11."""
    ridge, pulls = RidgeModel(np.array([[0.05]])), 1_000_000
    for _ in range(pulls):
        ridge.update(0, 0.1)
    exact = Fraction(0.05) * pulls * Fraction(0.1) / (1 + pulls * Fraction(0.05) ** 2)
    assert ridge.posterior().theta.item() == pytest.approx(float(exact), rel=1e-13, abs=0)


def near_collinear(rng: np.random.Generator, count: int, dim: int) -> Floats:
    line = rng.standard_normal(dim)
    arms = line / np.linalg.norm(line) + 1e-6 * rng.standard_normal((count, dim))
    return np.asarray(0.999 * arms / np.linalg.norm(arms, axis=1, keepdims=True))


@pytest.mark.compiled
@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_a_million_updates_on_near_collinear_arms_stay_within_reach_of_a_solve(penalty: float) -> None:
    rng = np.random.default_rng(5)
    arms = near_collinear(rng, 20, 5)
    ridge = RidgeModel(arms.T, penalty)
    updates = 1_000_000
    chosen = rng.integers(20, size=updates).tolist()
    rewards = (rng.standard_normal(updates) + 0.3).tolist()
    for arm, reward in zip(chosen, rewards, strict=True):
        ridge.update(arm, reward)
    counts = np.bincount(chosen, minlength=20)
    sums = np.bincount(chosen, weights=rewards, minlength=20)
    theta = np.linalg.solve(penalty * np.eye(5) + (arms.T * counts) @ arms, arms.T @ sums)
    posterior = Posterior(ridge.posterior())
    np.testing.assert_allclose(posterior.estimates, arms @ theta, atol=1e-6)
    assert np.all(np.isfinite(posterior.widths))
    np.testing.assert_allclose(ridge.posterior().theta, theta, atol=1e-6)


def test_posteriors_cannot_be_changed_by_its_reader() -> None:
    posterior = Posterior(RidgeModel(np.eye(2)).posterior())
    for values in (posterior.arms, posterior.estimates, posterior.widths):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 7.0
    for name in ("greedy", "log_det_ratio", "penalty", "policy_state", "allowed", "spent"):
        with pytest.raises(AttributeError):
            setattr(posterior, name, 1)


def test_exploring_rounds_are_refused_unless_they_are_kept() -> None:
    with pytest.raises(NotKept, match="uses_explored"):
        _ = Posterior(RidgeModel(np.eye(2)).posterior()).explored


def test_memory_keeps_exploring_rounds_apart() -> None:
    memory = ModelState(RidgeModel(np.eye(2)), RidgeModel(np.eye(2)))
    memory.update(0, 1.0, explored=True, weight=1.0)
    memory.update(1, 1.0, explored=False, weight=1.0)
    memory.update(np.array([0.0, 1.0]), 1.0, explored=True, weight=1.0)
    np.testing.assert_allclose(memory.posterior().estimates, [1 / 2, 2 / 3])
    np.testing.assert_allclose(memory.posterior().explored.estimates, [1 / 2, 1 / 2])
    np.testing.assert_allclose(memory.offer(np.eye(2)).explored.estimates, [1 / 2, 1 / 2])
    assert memory.posterior().pulls.tolist() == [1, 1]
    assert memory.posterior().explored.sums.tolist() == [1.0, 0.0]
    other = ModelState(RidgeModel(np.eye(2)), RidgeModel(np.eye(2)))
    everything, exploring = memory.sufficient_statistics()
    assert exploring is not None
    places = np.array([0, -1])
    other.add_statistics((everything.moved_to(places, 2), exploring.moved_to(places, 2)))
    assert other.posterior().pulls.tolist() == [1, 0]
    np.testing.assert_allclose(other.posterior().explored.estimates, [1 / 2, 1 / 2])


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.nan, "1"])
def test_a_penalty_must_be_positive(penalty: float) -> None:
    with pytest.raises(InvalidSetting, match="penalty must be"):
        RidgeModel(np.eye(2), penalty)


def test_samples_follow_the_laws_they_are_named_for() -> None:
    """Covariance beta^2 V^-1 for both; a spherical sample has length beta sqrt(d) in V."""
    ridge = RidgeModel(np.eye(3))
    for arm in (0, 0, 0, 1):
        ridge.update(arm, 1.0)
    rng = np.random.default_rng(1)
    draws = 20_000
    centre, spread = Posterior(ridge.posterior()).estimates, np.diag([1 / 4, 1 / 2, 1.0])
    for sampling in ("gaussian", "spherical"):
        samples = (
            np.array([Posterior(ridge.posterior()).perturbed(2.0, rng, sampling) for _ in range(draws)])
            - centre
        )
        np.testing.assert_allclose(samples.T @ samples / draws, 4 * spread, atol=12 / np.sqrt(draws))
        lengths = np.sqrt(np.sum(samples**2 / np.diag(spread), axis=1))
        assert np.allclose(lengths, 2 * np.sqrt(3)) == (sampling == "spherical")
    with pytest.raises(InvalidSetting, match="sampling must be 'gaussian' or 'spherical', got 'cubic'"):
        Posterior(ridge.posterior()).perturbed(1.0, rng, "cubic")
