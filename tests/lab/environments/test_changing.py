"""Arms that are drawn anew in every round."""

from typing import Any

import numpy as np
import pytest

from infex.errors import InfexError
from infex.lab.environments import ChangingInstance, changing
from infex.lab.environments import instances as module
from infex.lab.environments.base import gaps_below

THETA = np.array([0.6, 0.0, -0.8])


def all_arms(instance: ChangingInstance, seed: int, horizon: int) -> Any:
    return np.concatenate([block for _, block in instance.blocks(seed, horizon)])


def all_means(instance: ChangingInstance, seed: int, horizon: int) -> Any:
    return np.concatenate([stretch.means for stretch in instance.stretches(seed, horizon)])


def test_arms_are_those_of_the_papers_generator_anew_in_each_round() -> None:
    arms = all_arms(changing(dim=4, arms=50, seed=1), 0, 400).transpose(0, 2, 1).reshape(-1, 4)
    lengths = np.linalg.norm(arms, axis=1)
    assert lengths.max() <= 1 + 1e-12
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20_000, 4)) / np.sqrt(8)
    rows /= np.maximum(np.linalg.norm(rows, axis=1), 1)[:, None]
    assert np.allclose(np.cov(arms.T), np.cov(rows.T), atol=0.01)
    assert abs(arms.mean()) < 0.01
    assert np.quantile(lengths, [0.25, 0.5, 0.75]) == pytest.approx(
        np.quantile(np.linalg.norm(rows, axis=1), [0.25, 0.5, 0.75]), abs=0.02
    )


@pytest.mark.parametrize("best", ["fixed", "recurring"])
def test_rounds_are_the_same_however_many_are_drawn_at_a_time(
    monkeypatch: pytest.MonkeyPatch, best: Any
) -> None:
    instance = changing(dim=3, arms=7, seed=1, best=best)
    whole = all_arms(instance, 5, 100)
    monkeypatch.setattr(module, "BLOCK", 60)
    np.testing.assert_array_equal(all_arms(instance, 5, 100), whole)
    np.testing.assert_array_equal(all_arms(instance, 5, 40), whole[:40])
    assert not np.array_equal(all_arms(instance, 6, 100), whole)
    assert [t for t, _ in instance.blocks(5, 7)] == [1, 3, 5, 7]


def test_a_fixed_best_arm_is_best_by_its_gap_in_every_round() -> None:
    instance = changing(dim=5, arms=40, seed=2, best="fixed", gap=0.2)
    means = np.einsum("bdk,d->bk", all_arms(instance, 0, 300), instance.theta)
    assert means.shape == (300, 40)
    np.testing.assert_allclose(means[:, -1], 0.5)
    assert means[:, :-1].max() == pytest.approx(0.3)
    assert np.linalg.norm(all_arms(instance, 0, 300), axis=1).max() <= 1 + 1e-12


def test_the_best_arm_moves_otherwise() -> None:
    instance = changing(dim=5, arms=40, seed=2)
    means = np.einsum("bdk,d->bk", all_arms(instance, 0, 300), instance.theta)
    assert np.unique(means.argmax(axis=1)).size == 40


def test_contexts_may_be_a_function() -> None:
    def corners(rng: np.random.Generator) -> Any:
        return np.eye(3)[rng.permutation(3)[:2]]

    instance = ChangingInstance(theta=THETA, arms=2, fixed=[[0.5, 0.5, 0.5]], contexts=corners)
    arms = all_arms(instance, 3, 50)
    assert arms.shape == (50, 3, 3)
    np.testing.assert_array_equal(arms[:, :, 2], np.full((50, 3), 0.5))
    assert set(map(tuple, arms[:, :, 1])) == set(map(tuple, np.eye(3)))
    np.testing.assert_array_equal(arms, all_arms(instance, 3, 50))


def test_recurring_arms_are_of_three_sets_that_share_no_direction() -> None:
    instance = changing(dim=7, arms=5, seed=2, best="recurring")
    assert instance.sets.shape == (3, 5, 7)
    used = (instance.sets != 0).any(axis=1)
    assert used.sum(axis=0).tolist() == [1] * 7
    assert used.sum(axis=1).tolist() == [3, 2, 2]
    arms = all_arms(instance, 0, 600).transpose(0, 2, 1)
    which = [next(k for k in range(3) if np.array_equal(rows, instance.sets[k])) for rows in arms]
    assert np.bincount(which).min() > 150
    assert np.linalg.norm(instance.sets, axis=2).max() <= 1 + 1e-12
    best = {(k, int(np.argmax(instance.sets[k] @ instance.theta))) for k in which}
    assert len(best) == 3
    np.testing.assert_array_equal(instance.theta, changing(dim=7, arms=5, seed=2).theta)


def test_few_features_make_few_sets() -> None:
    assert changing(dim=1, arms=4, seed=1, best="recurring").sets.shape == (1, 4, 1)
    assert changing(dim=2, arms=1, seed=1, best="recurring").sets.shape == (2, 1, 2)
    one, other = (changing(dim=3, arms=4, seed=seed, best="recurring") for seed in (1, 2))
    assert one.key != other.key
    assert not np.array_equal(one.sets, other.sets)


def test_sets_of_ones_own_are_drawn_with_the_fixed_arms_beside_them() -> None:
    sets = [np.eye(3)[:2], np.eye(3)[1:]]
    instance = ChangingInstance(theta=THETA, arms=2, sets=sets, fixed=[[0.5, 0.5, 0.5]])
    arms = all_arms(instance, 1, 50)
    assert arms.shape == (50, 3, 3)
    np.testing.assert_array_equal(arms[:, :, 2], np.full((50, 3), 0.5))
    assert {rows[:, :2].T.tobytes() for rows in arms} == {rows.tobytes() for rows in map(np.array, sets)}


def test_gaps_are_from_the_best_of_the_round() -> None:
    instance = ChangingInstance(theta=THETA, arms=4)
    columns = all_arms(instance, 1, 1)[0]
    means = columns.T @ THETA
    out = gaps_below(means)
    np.testing.assert_allclose(out, means.max() - means, atol=1e-15)
    assert out.min() == 0.0
    assert gaps_below(np.array([0.6, 0.6 * (1 + 1e-14)])).tolist() == [
        0.0,
        0.0,
    ]  # rounding makes no arm worse


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ChangingInstance(theta=THETA, arms=0), "arms must be at least 1, got 0"),
        (lambda: ChangingInstance(theta=[1.0, np.nan], arms=2), "theta must be finite numbers"),
        (lambda: ChangingInstance(theta=[], arms=2), "theta must be finite numbers"),
        (lambda: ChangingInstance(theta="ab", arms=2), "theta must be finite numbers, got 'ab'"),
        (lambda: ChangingInstance(theta=THETA, arms=2, gap=0.1), "a gap of 0.1 needs a fixed arm"),
        (
            lambda: ChangingInstance(theta=THETA, arms=2, fixed=[[0.1, 0, 0]], gap=0.1),
            "a mean of at least that",
        ),
        (lambda: ChangingInstance(theta=THETA, arms=2, fixed=[[0.1, 0]]), "arms must have 3 features"),
        (lambda: ChangingInstance(theta=THETA, arms=2, rewards="other"), "rewards must be"),
        (lambda: changing(dim=2, arms=3, seed=1, best="any"), "best must be"),
        (lambda: changing(dim=2, arms=3, seed=1, gap=-1), "gap must be above 0, got -1"),
        (lambda: changing(dim=2, arms=3, seed=1, rewards="poisson"), "rewards must be"),
        (lambda: ChangingInstance(theta=THETA, arms=3, contexts=np.eye(3)), "contexts must be a function"),
        (lambda: ChangingInstance(theta=THETA, arms=2, sets=[np.eye(3)]), "must have 2 arms; set 0 has 3"),
        (lambda: ChangingInstance(theta=THETA, arms=2, sets=[[[1, 0]] * 2]), "arms must have 3 features"),
        (lambda: ChangingInstance(theta=THETA, arms=2, sets=[]), "at least one set of arms, got none"),
        (lambda: ChangingInstance(theta=THETA, arms=2, sets=7), "sets must be sets of arms.* got 7"),
        (
            lambda: ChangingInstance(theta=THETA, arms=3, sets=[np.eye(3)], contexts=lambda rng: np.eye(3)),
            "either contexts or sets",
        ),
        (
            lambda: all_means(ChangingInstance(theta=THETA, arms=9, rewards="bernoulli"), 0, 9),
            "means must be from 0 to 1 for bernoulli rewards; arm [0-8] has",
        ),
        (
            lambda: all_means(ChangingInstance(theta=5 * THETA, arms=9), 0, 99),
            "means must be from -1 to 1 for sign rewards",
        ),
        (
            lambda: all_arms(ChangingInstance(theta=THETA, arms=2, contexts=lambda rng: np.eye(3)), 0, 9),
            "there must be 2 arms in every round; round 1 has 3",
        ),
        (
            lambda: all_arms(ChangingInstance(theta=THETA, arms=3, contexts=lambda rng: 2 * np.eye(3)), 0, 9),
            "longer than 1",
        ),
    ],
)
def test_bad_settings_are_named(make: Any, message: str) -> None:
    with pytest.raises(InfexError, match=message):
        make()
