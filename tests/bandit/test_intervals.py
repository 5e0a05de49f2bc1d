"""Honest intervals: the textbook's where there is next to no penalty, and right as often as they say."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from infex import Bandit, Greedy, Infex, LinUCB, every, features, models
from infex.errors import DamagedFile, InvalidSetting
from tests.bandit.test_strange_files import crafted


def data(seed: int, count: int, dim: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, dim))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    return rows, rows @ rng.standard_normal(dim) + 0.3 * rng.standard_normal(count)


def given(rows: Any, rewards: Any, **more: Any) -> Bandit:
    bandit = Bandit(dim=rows.shape[1], policy=Greedy(), **more)
    bandit.learn(arms=rows, rewards=rewards)
    return bandit


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_without_a_penalty_they_are_those_of_least_squares(level: float) -> None:
    rows, rewards = data(1, 25)
    table = given(rows, rewards, penalty=1e-9).intervals(level, rows[:6])
    inverse = np.linalg.inv(rows.T @ rows)
    theta = inverse @ rows.T @ rewards
    noise = ((rewards - rows @ theta) ** 2).sum() / 22
    margins = stats.t.isf((1 - level) / 2, 22) * np.sqrt(
        noise * np.einsum("ij,jk,ik->i", rows, inverse, rows)
    )
    np.testing.assert_allclose(table.estimate, rows[:6] @ theta, rtol=1e-6)
    np.testing.assert_allclose(table.high - table.estimate, margins[:6], rtol=1e-6)
    np.testing.assert_allclose(table.estimate - table.low, margins[:6], rtol=1e-6)


@pytest.mark.parametrize("penalty", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("count", [1, 4, 40])
def test_a_penalty_adds_what_it_may_draw_estimates_by(penalty: float, count: int) -> None:
    rows, rewards = data(2, count)
    table = given(rows, rewards, penalty=penalty).intervals(0.9, rows)
    inverse = np.linalg.inv(rows.T @ rows + penalty * np.eye(3))
    theta, hat = inverse @ rows.T @ rewards, rows @ inverse @ rows.T
    freedom = count - np.trace(hat)
    noise = ((rewards - rows @ theta) ** 2).sum() / freedom
    spread = np.sqrt(noise * np.diag(rows @ inverse @ rows.T @ rows @ inverse @ rows.T))
    lean = penalty * np.linalg.norm(rows @ inverse, axis=1) * max(1.0, np.linalg.norm(theta))
    expected = stats.t.isf(0.05, freedom) * spread + lean
    np.testing.assert_allclose(table.high - table.estimate, expected, rtol=1e-7)


def test_where_nothing_was_seen_there_is_no_end() -> None:
    bandit = Bandit(np.eye(2), Greedy())
    assert np.isinf(bandit.intervals().low).all()
    assert np.isinf(bandit.intervals().high).all()
    within = Bandit(np.eye(2), Greedy(), rewards=(0, 5)).intervals()
    assert (within.low.tolist(), within.high.tolist()) == ([0.0, 0.0], [5.0, 5.0])


def test_each_arm_with_a_regression_of_its_own_goes_by_its_own_noise() -> None:
    rows, rewards = data(3, 60)
    bandit = Bandit(features=features.disjoint(["tea", "juice"], 3), policy=Greedy())
    names = ["tea" if n % 3 else "juice" for n in range(60)]
    bandit.learn(rows, names, rewards)
    table = bandit.intervals(0.9, context=rows[0])
    for place, name in enumerate(("tea", "juice")):
        own = np.array(names) == name
        alone = given(rows[own], rewards[own]).intervals(0.9, rows[:1])
        assert table.label[place] == name
        np.testing.assert_allclose(
            [table.low[place], table.high[place]], [alone.low[0], alone.high[0]], rtol=1e-9
        )


def test_clicks_stay_within_0_and_1_and_are_never_certain() -> None:
    for more in ({"rewards": (0, 1)}, {"estimator": models.Logistic()}):
        bandit = Bandit(np.eye(3), Greedy(), **more)
        bandit.learn(arms=[0] * 6 + [1] * 6, rewards=[0] * 6 + [1] * 6)
        table = bandit.intervals(0.95)
        assert ((table.low >= 0) & (table.high <= 1) & (table.low < table.high)).all()
        assert table.high[0] - table.low[0] > 0.1
        assert table.low[0] <= table.estimate[0] <= table.high[0]


def test_what_an_interval_reads_is_the_same_however_rewards_came(tmp_path: Path) -> None:
    rows, rewards = data(4, 50)
    one, many = (Bandit(rows[:8], Infex(LinUCB(), every(3)), seed=1, remembers=60) for _ in range(2))
    for reward in rewards.tolist():
        one.tell(one.ask(), reward)
        many.tell_many([many.ask()], [reward])
    one.save(tmp_path / "b.infex")
    expected = one.intervals()
    for other in (many, Bandit.load(tmp_path / "b.infex"), copy.copy(one)):
        np.testing.assert_array_equal(other.intervals(), expected)
    one.add_arms([[0.1, 0.2, 0.3]])
    one.remove_arms([8])
    np.testing.assert_allclose(one.intervals().low, expected.low, rtol=1e-9)


def test_a_reward_that_is_put_right_leaves_no_noise_behind() -> None:
    rows, rewards = data(5, 40)
    wrong, right = (Bandit(rows[:5], Greedy(), remembers=99) for _ in range(2))
    for bandit, first in ((wrong, 50.0), (right, 0.5)):
        visits = [bandit.ask() for _ in range(40)]
        bandit.tell_many(visits, [first, *rewards[1:].tolist()])
        bandit.tell(visits[0], 0.5, on_duplicate="replace")
    np.testing.assert_allclose(wrong.intervals().high, right.intervals().high, rtol=1e-9)


def test_noise_is_learnt_anew_where_squares_are_not_known() -> None:
    """After a reward of 1e15 was taken out, or sums from elsewhere: later rewards tell."""
    rows, rewards = data(6, 400)
    bandit = Bandit(dim=3, policy=Greedy(), remembers=9)
    visit = bandit.ask(rows[:1])
    bandit.tell(visit, 1e15)
    bandit.tell(visit, float(rewards[0]), on_duplicate="replace")
    assert np.isinf(bandit.intervals(0.95, rows[:3]).high).all()
    worker = Bandit(dim=3, policy=Greedy())
    worker.learn(arms=rows[1:100], rewards=rewards[1:100])
    bandit.apply(worker.changes())
    assert np.isinf(bandit.intervals(0.95, rows[:3]).high).all()
    bandit.learn(arms=rows[100:], rewards=rewards[100:])
    halves = [
        each.high - each.low
        for each in (bandit.intervals(0.95, rows[:3]), given(rows, rewards).intervals(0.95, rows[:3]))
    ]
    np.testing.assert_allclose(*halves, rtol=0.2)


def test_a_file_whose_squares_cannot_be_is_refused(tmp_path: Path) -> None:
    rows, rewards = data(7, 20)
    for wrong in ([-1.0, 0.0, 0.0], [1.0, 21.0, 0.0], [np.nan, 0.0, 0.0]):

        def change(stored: Any, arrays: Any, wrong: Any = wrong) -> None:
            arrays["all scatter"] = np.array(wrong)

        with pytest.raises(DamagedFile):
            crafted(given(rows, rewards), tmp_path / "x.infex", change)


def test_what_cannot_be_said_is_refused() -> None:
    for level in (0.0, 1.0, 95, "0.9"):
        with pytest.raises(InvalidSetting, match="level"):
            Bandit(np.eye(2), Greedy()).intervals(level)


@pytest.mark.parametrize("policy", [Infex(LinUCB(), every(20)), Greedy()], ids=["infex", "greedy"])
def test_they_hold_about_as_often_as_they_say_on_data_that_were_gathered_adaptively(policy: Any) -> None:
    held = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((8, 4))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        means = rows @ rng.uniform(-0.5, 0.5, 4)
        bandit = Bandit(rows, policy)
        for _ in range(60):
            decision = bandit.ask()
            bandit.tell(decision, means[decision.arm] + rng.standard_normal())
        table = bandit.intervals(0.9)
        held.append((table.low <= means) & (means <= table.high))
        assert np.isfinite(table.high).all()
    assert np.mean(held) >= 0.9
    greedy = [each[0] for each in held]
    assert np.mean(greedy) >= 0.85
