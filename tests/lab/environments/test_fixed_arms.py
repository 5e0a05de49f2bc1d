from typing import Any

import numpy as np
import pytest

from infex.errors import InfexError
from infex.lab.environments import LinearInstance, gaussian
from tests import golden_table as golden


def test_an_instance_owns_means_gaps_and_the_best_arm() -> None:
    instance = LinearInstance([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], theta=[0.3, 0.5])
    np.testing.assert_allclose(instance.means, [0.3, 0.5, 0.58])
    np.testing.assert_allclose(instance.gaps, [0.28, 0.08, 0.0])
    assert instance.best == 2
    assert instance.gap == pytest.approx(0.08)
    assert LinearInstance([[1.0]], theta=[0.5]).gap == 0.0


def test_arms_that_tie_up_to_rounding_are_equally_good() -> None:
    instance = LinearInstance([[0.3, 0.0], [0.1, 0.2], [0.1, 0.1]], theta=[1.0, 1.0])
    assert instance.gaps.tolist()[:2] == [0.0, 0.0]
    assert instance.best == 0
    assert instance.gap == pytest.approx(0.1)


def test_the_papers_generator_is_that_of_the_golden_instance() -> None:
    rng = np.random.default_rng(np.random.SeedSequence([2510, 26000, 10, 10, 0, 0]))
    instance = gaussian(dim=10, arms=10, seed=rng)
    np.testing.assert_array_equal(instance.arms, golden.instance().arms)
    assert instance.means[instance.best] == pytest.approx(golden.BEST_MEAN, abs=1e-12)
    assert instance.gap == pytest.approx(golden.GAP, abs=1e-12)


def test_the_papers_arms_have_the_law_they_should() -> None:
    instance = gaussian(dim=20, arms=4000, seed=1)
    lengths = np.linalg.norm(instance.arms, axis=1)
    assert lengths.max() <= 1 + 1e-12
    short = instance.arms[lengths < 1 - 1e-9]
    assert len(short) > 3900
    np.testing.assert_allclose(instance.arms.T @ instance.arms / 4000, np.eye(20) / 40, atol=0.004)
    assert np.linalg.norm(instance.theta) == pytest.approx(1)


@pytest.mark.parametrize(("rewards", "noise"), [("sign", 1.0), ("bernoulli", 1.0), ("gaussian", 0.3)])
def test_rewards_have_their_mean_and_are_common_to_all_arms(rewards: Any, noise: float) -> None:
    instance = LinearInstance([[0.2], [0.7]], theta=[1.0], rewards=rewards, noise=noise)
    draws = [instance.draws(5) for _ in range(2)]
    found = np.array([[instance.reward(arm, draws[arm]) for _ in range(20_000)] for arm in (0, 1)])
    np.testing.assert_allclose(found.mean(axis=1), [0.2, 0.7], atol=0.03)
    assert np.all(found[1] >= found[0]), "the better arm never does worse in the same round"
    if rewards == "gaussian":
        np.testing.assert_allclose(found[1] - found[0], 0.5)
        assert found[0].std() == pytest.approx(0.3, rel=0.03)
    else:
        assert set(found.ravel()) == ({-1.0, 1.0} if rewards == "sign" else {0.0, 1.0})


def test_noise_depends_on_seed_and_instance_alone() -> None:
    one, other = gaussian(dim=3, arms=4, seed=1), gaussian(dim=3, arms=4, seed=2)
    assert one.draws(1).random() == gaussian(dim=3, arms=4, seed=1).draws(1).random()
    assert len({one.draws(1).random(), one.draws(2).random(), other.draws(1).random()}) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearInstance([[2.0]], [0.1]), "no longer than 1"),
        (lambda: LinearInstance([[1.0]], [0.1, 0.2]), "theta must be 1 finite numbers"),
        (lambda: LinearInstance([[1.0]], [np.nan]), "theta must be 1 finite numbers"),
        (lambda: LinearInstance([[1.0]], "x"), "theta must be 1 finite numbers, got 'x'"),
        (
            lambda: LinearInstance([[1.0]], [1.5]),
            "means must be from -1 to 1 for sign rewards; arm 0 has 1.5",
        ),
        (lambda: LinearInstance([[1.0]], [-0.5], "bernoulli"), "from 0 to 1 for bernoulli .* arm 0 has -0.5"),
        (lambda: LinearInstance([[1.0]], [0.5], "poisson"), "rewards must be 'sign' or .*, got 'poisson'"),
        (lambda: LinearInstance([[1.0]], [0.5], noise=-1), "noise must be at least 0, got -1"),
        (lambda: gaussian(dim=0, arms=3, seed=1), "dim must be at least 1, got 0"),
        (lambda: gaussian(dim=2, arms=0, seed=1), "arms must be at least 1, got 0"),
        (lambda: gaussian(dim=2, arms=2, seed=0.5), "seed must be a whole number, got 0.5"),
    ],
)
def test_bad_instances_are_refused_with_the_value(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()


def test_an_instance_cannot_be_changed() -> None:
    instance = gaussian(dim=2, arms=3, seed=1)
    for values in (instance.arms, instance.theta, instance.means, instance.gaps):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0.0
