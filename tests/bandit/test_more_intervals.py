"""Honest intervals of hybrid maps and other estimators, against dense matrices of all that was learnt."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from infex import Bandit, Greedy, features, models
from infex.arrays import Floats
from infex.bandit import Changes
from infex.errors import DamagedFile
from tests.bandit.test_intervals import data
from tests.bandit.test_strange_files import crafted

ARMS = np.array([[0.9, 0.1], [0.2, 0.7], [0.5, 0.5]])
LABELS = ["green", "black", "mate"]
MAP = features.hybrid(features.interactions(ARMS, 2, labels=LABELS), own=[0, 1])
LEVEL = 0.9


class Fitted:
    """A linear estimate theta = V^-1 X'W y of rows whose rewards have the variances noise u."""

    def __init__(self, rows: Floats, rewards: Any, weights: Any, variances: Any, penalty: float) -> None:
        self.penalty = penalty
        self.inverse = np.linalg.inv(rows.T @ (weights[:, None] * rows) + penalty * np.eye(rows.shape[1]))
        maps = self.inverse @ rows.T * weights
        self.theta = maps @ rewards
        self.meat = maps @ np.diag(variances) @ maps.T
        self.hat = rows @ maps
        self.left = float(np.sum(weights * (rewards - rows @ self.theta) ** 2))

    def half(self, x: Any, noise: float, freedom: float) -> float:
        """Half the length of an interval."""
        drawn = self.penalty * np.linalg.norm(self.inverse @ x) * max(1.0, np.linalg.norm(self.theta))
        return float(stats.t.isf((1 - LEVEL) / 2, freedom) * np.sqrt(noise * x @ self.meat @ x) + drawn)


def hybrid_data(seed: int, count: int) -> tuple[Any, Any, Any, Any]:
    """Contexts, arms, rewards, and the dense rows of a hybrid map."""
    rng = np.random.default_rng(seed)
    contexts = rng.uniform(-0.6, 0.6, (count, 2))
    arms = rng.integers(0, 3, count)
    rows = np.array([MAP(x)[arm] for x, arm in zip(contexts, arms, strict=True)])
    return contexts, arms, rows @ rng.standard_normal(rows.shape[1]) + 0.3 * rng.standard_normal(count), rows


def a_hybrid(contexts: Any, arms: Any, rewards: Any, penalty: float = 1.0) -> Bandit:
    bandit = Bandit(features=MAP, policy=Greedy(), penalty=penalty)
    bandit.learn(contexts, [LABELS[arm] for arm in arms], rewards)
    return bandit


@pytest.mark.parametrize("penalty", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("count", [12, 60])
def test_a_hybrid_has_those_of_one_dense_regression(penalty: float, count: int) -> None:
    contexts, arms, rewards, rows = hybrid_data(1, count)
    bandit = a_hybrid(contexts, arms, rewards, penalty)
    inner = bandit._agent.model.all.penalty
    fitted = Fitted(rows, rewards, np.ones(count), np.ones(count), inner)
    freedom = count - np.trace(fitted.hat)
    table = bandit.intervals(LEVEL, context=contexts[0])
    for arm, x in enumerate(MAP(contexts[0])):
        assert table.estimate[arm] == pytest.approx(x @ fitted.theta, abs=1e-9)
        expected = fitted.half(x, fitted.left / freedom, freedom)
        assert table.high[arm] - table.estimate[arm] == pytest.approx(expected, rel=1e-7)
        assert table.estimate[arm] - table.low[arm] == pytest.approx(expected, rel=1e-7)


def test_those_of_a_hybrid_are_the_same_however_rewards_came(tmp_path: Path) -> None:
    contexts, arms, rewards, _ = hybrid_data(2, 40)
    whole = a_hybrid(contexts, arms, rewards)
    expected = whole.intervals(LEVEL, context=contexts[0])
    one, many = (Bandit(features=MAP, policy=Greedy(), remembers=50) for _ in range(2))
    for context, arm, reward in zip(contexts, arms, rewards, strict=True):
        offered = [LABELS[arm]]
        one.tell(one.ask(context=context, offered=offered), float(reward))
        many.tell_many(many.ask_many([context], offered=[offered]), [reward])
    halves = a_hybrid(contexts[:15], arms[:15], rewards[:15])
    halves.learn(contexts[15:], [LABELS[arm] for arm in arms[15:]], rewards[15:])
    whole.save(tmp_path / "x.infex")
    for other in (one, many, halves, copy.deepcopy(one), Bandit.load(tmp_path / "x.infex")):
        found = other.intervals(LEVEL, context=contexts[0])
        np.testing.assert_allclose(found.low, expected.low, rtol=1e-8)
        np.testing.assert_allclose(found.high, expected.high, rtol=1e-8)
    whole.extend(1)
    found = whole.intervals(LEVEL, context=[*contexts[0], 0.0])
    np.testing.assert_allclose(found.low, expected.low, rtol=1e-8)


def test_noise_of_a_hybrid_is_learnt_anew_where_an_arm_went_or_sums_came() -> None:
    contexts, arms, rewards, _ = hybrid_data(3, 400)
    gone = a_hybrid(contexts[:200], arms[:200], rewards[:200])
    gone.remove_arms("mate")
    sums = Bandit(features=MAP, policy=Greedy())
    sums.apply(Changes.from_bytes(a_hybrid(contexts[:200], arms[:200], rewards[:200]).changes().to_bytes()))
    later = np.flatnonzero(arms[200:] < 2) + 200
    for bandit in (gone, sums):
        assert np.isinf(bandit.intervals(context=contexts[0]).high).all()
        bandit.learn(contexts[later], [LABELS[arm] for arm in arms[later]], rewards[later])
    whole = a_hybrid(contexts, arms, rewards).intervals(context=contexts[0])
    for bandit, rtol in ((gone, 2.0), (sums, 0.3)):
        found = bandit.intervals(context=contexts[0])
        np.testing.assert_allclose((found.high - found.low)[:2], (whole.high - whole.low)[:2], rtol=rtol)
        assert (found.high - found.low > 0.95 * (whole.high - whole.low)[: len(found)]).all()


def test_a_reward_of_a_hybrid_that_is_put_right_leaves_no_noise_behind() -> None:
    contexts, _, rewards, _ = hybrid_data(4, 30)
    wrong, right = (Bandit(features=MAP, policy=Greedy(), remembers=99) for _ in range(2))
    for bandit, first in ((wrong, 50.0), (right, 0.5)):
        visits = bandit.ask_many(contexts)
        bandit.tell_many(visits, [first, *rewards[1:].tolist()])
        bandit.tell(visits[0], 0.5, on_duplicate="replace")
    mine, theirs = (each.intervals(context=contexts[0]) for each in (wrong, right))
    np.testing.assert_allclose(mine.high, theirs.high, rtol=1e-8)


def test_a_hybrid_whose_squares_cannot_be_is_refused(tmp_path: Path) -> None:
    def change(stored: Any, arrays: Any) -> None:
        arrays["all squares"] = np.array([-1.0, 0.0, 0.0])

    contexts, arms, rewards, _ = hybrid_data(5, 20)
    with pytest.raises(DamagedFile, match="squares of rewards"):
        crafted(a_hybrid(contexts, arms, rewards), tmp_path / "x.infex", change)


def ridge_weighted(rows: Any, rewards: Any, weights: Any) -> tuple[Any, float, float]:
    """By weights that are 1/variance: fit, noise and degrees of freedom."""
    fitted = Fitted(rows, rewards, weights, 1.0 / weights, 1.0)
    freedom = len(rows) - np.trace(fitted.hat)
    return fitted, fitted.left / freedom, freedom


def discounted(rows: Any, rewards: Any, weights: Any, rate: float = 0.95) -> tuple[Any, float, float]:
    """By weights that fade, told ones on top: the noise's expectation from the whole hat matrix."""
    faded = rate ** np.arange(len(rows) - 1, -1, -1.0)
    fitted = Fitted(rows, rewards, weights * faded, 1.0 / weights, 1.0)
    rest = np.eye(len(rows)) - fitted.hat
    counted = np.trace(rest.T @ np.diag(weights * faded) @ rest @ np.diag(1.0 / weights))
    return fitted, fitted.left / counted, counted * faded.sum() / (faded**2).sum()


def windowed(rows: Any, rewards: Any, weights: Any) -> tuple[Any, float, float]:
    return ridge_weighted(rows[-20:], rewards[-20:], weights[-20:])


CASES: dict[str, tuple[Any, Callable[..., tuple[Any, float, float]]]] = {
    "weighted": (
        models.Weighted(weight=lambda x: 1.0 + float(x[0]) ** 2),
        lambda rows, rewards, weights: ridge_weighted(rows, rewards, weights * (1.0 + rows[:, 0] ** 2)),
    ),
    "windowed": (models.Windowed(size=20), windowed),
    "discounted": (models.Discounted(rate=0.95), discounted),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weighted", [False, True])
def test_estimators_have_those_of_all_that_counts(name: str, weighted: bool, tmp_path: Path) -> None:
    estimator, reference = CASES[name]
    rows, rewards = data(8, 40)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 40) if weighted else np.ones(40)
    bandit = Bandit(dim=3, policy=Greedy(), estimator=estimator)
    bandit.learn(arms=rows, rewards=rewards, weights=weights)
    fitted, noise, freedom = reference(rows, rewards, weights)
    bandit.save(tmp_path / "x.infex")
    loaded = Bandit.load(tmp_path / "x.infex", estimator=estimator)
    for table in (bandit.intervals(LEVEL, rows[:4]), loaded.intervals(LEVEL, rows[:4])):
        np.testing.assert_allclose(table.estimate, rows[:4] @ fitted.theta, atol=1e-9)
        expected = [fitted.half(x, noise, freedom) for x in rows[:4]]
        np.testing.assert_allclose(table.high - table.estimate, expected, rtol=1e-7)


@pytest.mark.parametrize("name", [*CASES, "lasso"])
def test_an_arm_with_an_estimator_of_its_own_goes_by_its_own_noise(name: str) -> None:
    estimator = models.Lasso(strength=0.01) if name == "lasso" else CASES[name][0]
    rows, rewards = data(3, 60)
    bandit = Bandit(features=features.disjoint(["tea", "juice"], 3), policy=Greedy(), estimator=estimator)
    names = np.array(["tea" if n % 3 else "juice" for n in range(60)])
    bandit.learn(rows, names.tolist(), rewards)
    table = bandit.intervals(LEVEL, context=rows[0])
    for place, label in enumerate(("tea", "juice")):
        alone = Bandit(dim=3, policy=Greedy(), estimator=estimator)
        alone.learn(arms=rows[names == label], rewards=rewards[names == label])
        expected = alone.intervals(LEVEL, rows[:1])
        np.testing.assert_allclose(
            [table.low[place], table.high[place]], [expected.low[0], expected.high[0]], rtol=1e-9
        )


@pytest.mark.parametrize("strength", [0.001, 0.3])
def test_that_of_lasso_has_all_of_ridge_regressions_in_it(strength: float) -> None:
    rows, rewards = data(9, 40)
    ridge, lasso = (
        Bandit(dim=3, policy=Greedy(), estimator=each) for each in (None, models.Lasso(strength=strength))
    )
    for bandit in (ridge, lasso):
        bandit.learn(arms=rows, rewards=rewards)
    narrow, wide = ridge.intervals(LEVEL, rows[:5]), lasso.intervals(LEVEL, rows[:5])
    np.testing.assert_allclose(wide.estimate, lasso.estimates(rows[:5]).estimate, rtol=1e-9)
    assert (wide.low <= narrow.low + 1e-12).all()
    assert (wide.high >= narrow.high - 1e-12).all()
    lengths = (wide.high - wide.low) - (narrow.high - narrow.low)
    np.testing.assert_allclose(lengths, 2 * np.abs(wide.estimate - narrow.estimate), atol=1e-9)


@pytest.mark.parametrize("name", [*CASES, "lasso"])
def test_a_reward_that_is_put_right_leaves_no_noise_with_an_estimator(name: str) -> None:
    estimator = models.Lasso(strength=0.01) if name == "lasso" else CASES[name][0]
    rows, rewards = data(5, 25)
    wrong, right = (Bandit(rows[:5], Greedy(), remembers=99, estimator=estimator) for _ in range(2))
    for bandit, tenth in ((wrong, 50.0), (right, 0.5)):
        visits = [bandit.ask() for _ in range(25)]
        bandit.tell_many(visits, [*rewards[:10].tolist(), tenth, *rewards[11:].tolist()])
        bandit.tell(visits[10], 0.5, on_duplicate="replace")
    np.testing.assert_allclose(wrong.intervals().high, right.intervals().high, rtol=1e-7)


@pytest.mark.parametrize("name", ["weighted", "lasso"])
def test_noise_is_learnt_anew_where_sums_came_to_an_estimator(name: str) -> None:
    estimator = models.Lasso(strength=0.01) if name == "lasso" else CASES[name][0]
    rows, rewards = data(6, 200)
    worker, centre, whole = (Bandit(dim=3, policy=Greedy(), estimator=estimator) for _ in range(3))
    worker.learn(arms=rows[:50], rewards=rewards[:50])
    whole.learn(arms=rows, rewards=rewards)
    centre.apply(worker.changes())
    assert np.isinf(centre.intervals(LEVEL, rows[:3]).high).all()
    centre.learn(arms=rows[50:], rewards=rewards[50:])
    mine, theirs = centre.intervals(LEVEL, rows[:3]), whole.intervals(LEVEL, rows[:3])
    np.testing.assert_allclose(mine.high - mine.low, theirs.high - theirs.low, rtol=0.2)
