"""Policies learnt from a log have a floor; schedules are simulated on problems like the log's."""

from __future__ import annotations

import numpy as np
import pytest

import infex
from infex import evaluation
from infex.errors import InvalidSetting, InvalidTarget
from infex.logs import Log
from tests.evaluation.played_logs import play, problem
from tests.evaluation.synthetic_logs import as_log, logs


def test_without_pessimism_the_learnt_policy_is_greedy() -> None:
    log = as_log("det")
    found = evaluation.learn(log, 0.0)
    rows = logs()["det_offers"][np.arange(1200), log.arm]
    theta = np.linalg.solve(np.eye(4) + rows.T @ rows, rows.T @ log.reward)
    assert (
        found.policy(logs()["det_offers"]).tolist() == (logs()["det_offers"] @ theta).argmax(axis=1).tolist()
    )
    greedy = evaluation.evaluate(log, {"x": infex.Greedy()}, estimator="dm")["x"]
    assert (found.value, found.floor) == pytest.approx((greedy.value, greedy.low), abs=1e-12)


def test_the_learnt_policy_plays_the_best_lower_bound() -> None:
    log, offers = as_log("jit"), logs()["jit_offers"]
    found = evaluation.learn(log, 0.5)
    rows = offers[np.arange(1200), log.arm]
    gram = np.eye(4) + rows.T @ rows
    theta = np.linalg.solve(gram, rows.T @ log.reward)
    radius = 0.3 * np.sqrt(np.linalg.slogdet(gram)[1] + 2 * np.log(20)) + 1.0
    lower = np.empty((1200, 5))
    for t in range(1200):
        for k in range(5):
            x = offers[t, k]
            lower[t, k] = x @ theta - 0.5 * radius * np.sqrt(x @ np.linalg.solve(gram, x))
    assert found.policy(offers).tolist() == lower.argmax(axis=1).tolist()
    judged = evaluation.evaluate(log, {"learnt": found.policy, "now": evaluation.logged})
    assert judged["learnt"].low == pytest.approx(found.floor, abs=1e-12)
    pair = judged.compare("learnt", "now")
    assert (pair.difference, pair.low) == pytest.approx((found.gain, found.gain_low), abs=1e-12)
    assert "at least" in str(found)


def floors_held(runs: int, seed: int) -> float:
    asked = problem(seed=seed, rounds=300, period=10)
    played = play(asked, runs=runs, seed=seed + 1)
    held = 0
    for run in range(runs):
        found = evaluation.learn(played.log(run))
        arms = found.policy(asked.offers)
        held += found.floor <= float(asked.means[np.arange(300), arms].mean())
    return held / runs


def test_the_floor_holds_although_the_policy_was_chosen_by_the_log() -> None:
    assert floors_held(runs=60, seed=11) >= 0.95


@pytest.mark.slow
def test_the_floor_holds_in_a_thousand_logs() -> None:
    assert floors_held(runs=1000, seed=13) >= 0.95


def test_masks_hold_for_what_is_learnt() -> None:
    offered = np.tile([True, False], (50, 1))
    log = Log(
        arm=np.zeros(50, dtype=int), reward=np.zeros(50), offered=offered, arms=[[1.0, 0.0], [0.0, 1.0]]
    )
    found = evaluation.learn(log, 0.0, noise=0.1, bound=1.0)
    assert found.gain == 0.0


def fixed_log(rounds: int = 400) -> Log:
    rng = np.random.default_rng(5)
    arms = rng.normal(size=(8, 3))
    arms /= 2 * np.linalg.norm(arms, axis=1, keepdims=True)
    arm = rng.integers(8, size=rounds)
    reward = arms[arm] @ np.array([1.0, -0.5, 0.3]) + 0.2 * rng.normal(size=rounds)
    return Log(arm=arm, reward=reward, arms=arms)


POLICIES = {
    "often": "Infex(LinUCB(delta=0.01), every(2))",
    "rare": infex.Infex(infex.LinUCB(), infex.every(50)),
}


@pytest.mark.parametrize("changing", [False, True])
def test_simulated_rewards_are_those_of_runs_on_problems_from_the_posterior(changing: bool) -> None:
    log = as_log("jit") if changing else fixed_log()
    found = evaluation.simulate(log, POLICIES, 300, worlds=6, seed=3, noise=0.2, bound=1.0)
    assert list(found) == ["often", "rare"]
    assert found.explored["rare"] == 6.0
    rare = found.deviations["rare"]
    assert rare is not None
    assert 0.0 < rare <= 6.0
    assert f"6 explorations, {rare:,.0f} of them not the greedy arm" in str(found)
    pair = found.compare("often", "rare")
    assert pair.difference == pytest.approx(float((found.rewards["often"] - found.rewards["rare"]).mean()))
    assert found.wins("often") + found.wins("rare") >= 1.0
    assert all((found.rewards[name] <= found.best + 1e-9).all() for name in found)
    alone = evaluation.simulate(log, {"base": "LinUCB"}, 30, worlds=6, noise=0.2, bound=1.0)
    assert alone.deviations == {"base": None}
    assert str(alone).endswith("30 explorations"), "without a schedule nobody asks for the greedy arm"
    again = evaluation.simulate(log, POLICIES, 300, worlds=6, seed=3, noise=0.2, bound=1.0)
    assert again.rewards["rare"].tolist() == found.rewards["rare"].tolist()
    assert "6 problems like the log's, 300 rounds each" in str(found)
    assert found.as_record()["worlds"] == 6


def test_the_problems_are_those_the_log_has_taught() -> None:
    """The best mean of many problems is that of draws from the posterior."""
    log = fixed_log(4000)
    found = evaluation.simulate(log, {"greedy": infex.Greedy()}, 2, worlds=400, noise=0.2, bound=1.0)
    arms = np.asarray(log.arms)
    rows = arms[log.arm]
    gram = np.eye(3) + rows.T @ rows
    theta = np.linalg.solve(gram, rows.T @ log.reward)
    rng = np.random.default_rng(1)
    draws = rng.multivariate_normal(theta, 0.04 * np.linalg.inv(gram), size=20_000)
    expected = (draws @ arms.T).max(axis=1)
    error = expected.std() * np.sqrt(1 / 400 + 1 / 20_000)
    assert abs(found.best.mean() - expected.mean()) <= 4 * error
    assert found.best.std() == pytest.approx(expected.std(), rel=0.2)


def test_what_cannot_be_simulated_is_refused() -> None:
    wrong: object
    for wrong in ({}, [infex.Greedy()]):
        with pytest.raises(InvalidTarget, match="policies must be a dict"):
            evaluation.simulate(fixed_log(), wrong, 10)
    with pytest.raises(InvalidSetting, match="worlds must be at least 2"):
        evaluation.simulate(fixed_log(), POLICIES, 10, worlds=1)
    offered = np.ones((4, 2), dtype=bool)
    offered[0, 1] = False
    uneven = Log(arm=[0, 1, 0, 1], reward=[0.0, 1.0, 0.0, 1.0], offers=np.ones((4, 2, 1)), offered=offered)
    with pytest.raises(InvalidSetting, match="different numbers of arms"):
        evaluation.simulate(uneven, POLICIES, 10)
    found = evaluation.simulate(fixed_log(), POLICIES, 10, worlds=2, noise=0.2)
    with pytest.raises(InvalidTarget, match="no policy is called 'x'"):
        found.compare("often", "x")
    for call in (evaluation.learn, lambda log: evaluation.simulate(log, POLICIES, 10)):
        with pytest.raises(InvalidSetting, match="log must be a Log"):
            call([1, 2])
