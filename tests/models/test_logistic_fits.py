"""Logistic regression that is kept up between fits: near the exact one, in few fits, alike everywhere."""

import copy
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import Bandit, Greedy, Infex, LinUCB, every, features
from infex.arrays import Floats
from infex.errors import InvalidSetting, NotKept
from infex.lab import environments
from infex.models import Logistic
from infex.models.logistic import LogisticFit
from tests.lab.simulation.in_python import assert_same, play_in_python


def exact_theta(rows: Floats, rewards: Floats, penalty: float) -> Any:
    """Newton's method with halved steps, in plain NumPy."""
    theta = np.zeros(rows.shape[1])

    def loss(at: Floats) -> float:
        odds = rows @ at
        return float(np.logaddexp(0.0, odds).sum() - rewards @ odds + penalty * at @ at / 2)

    for _ in range(60):
        chances = 1 / (1 + np.exp(-rows @ theta))
        slope = rows.T @ (rewards - chances) - penalty * theta
        curve = penalty * np.eye(len(theta)) + (rows * (chances * (1 - chances))[:, None]).T @ rows
        step = np.linalg.solve(curve, slope)
        while loss(theta + step) > loss(theta) + 1e-12 and np.abs(step).max() > 1e-14:
            step = step / 2
        theta = theta + step
    return theta


def problem(seed: int, count: int) -> tuple[Floats, Floats, float]:
    """Rows that are crowded in one direction, rewards of a theta up to 8 long, and a penalty."""
    rng = np.random.default_rng(seed)
    dim = int(rng.choice([1, 2, 5, 10]))
    theta = rng.standard_normal(dim)
    theta *= rng.choice([1.0, 3.0, 8.0]) / np.linalg.norm(theta)
    rows = rng.standard_normal((count, dim))
    rows[rng.random(count) < 0.4] = 0.2 * rng.standard_normal(dim) + np.eye(dim)[0]
    rows += 0.1 * rng.standard_normal(rows.shape)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    rewards = (rng.random(count) < 1 / (1 + np.exp(-rows @ theta))).astype(np.float64)
    return rows, rewards, float(10 ** rng.uniform(-1, 1))


def chances(rows: Floats, theta: Floats) -> Any:
    return 1 / (1 + np.exp(-rows @ theta))


@pytest.mark.parametrize("seed", range(8))
def test_chances_are_within_a_thousandth_of_an_exact_fit(seed: int) -> None:
    rows, rewards, penalty = problem(seed, 2000)
    fit = Logistic().new_model(np.empty((rows.shape[1], 0)), penalty)
    probes = np.random.default_rng(seed).standard_normal((50, rows.shape[1]))
    probes /= np.linalg.norm(probes, axis=1, keepdims=True)
    for told, (x, reward) in enumerate(zip(rows, rewards.tolist(), strict=True), 1):
        fit.update(x, reward)
        if told % 143 == 0 or told in (1, 256, 257, 300):
            theta = exact_theta(rows[:told], rewards[:told], penalty)
            found = fit.posterior().theta
            np.testing.assert_allclose(chances(probes, found), chances(probes, theta), atol=1e-3)
            if told <= 256:
                np.testing.assert_allclose(found, theta, atol=1e-8)


def test_fits_over_all_rewards_become_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    refit = LogisticFit.refit

    def counted(fit: LogisticFit, told: int) -> None:
        fits.append(told)
        refit(fit, told)

    monkeypatch.setattr(LogisticFit, "refit", counted)
    rows, rewards, _ = problem(3, 12_000)
    fit = Logistic().new_model(np.empty((rows.shape[1], 0)), 1.0)
    for x, reward in zip(rows, rewards.tolist(), strict=True):
        fit.update(x, reward)
        fit.posterior()
    assert 256 < len(fits) <= 256 + 300
    assert sum(told > 6000 for told in fits) <= 12
    assert sum(fits) <= 50 * fit.n_observations  # rows that were looked at


def test_a_compiled_run_and_one_in_python_agree_to_the_last_bit_between_fits() -> None:
    world = environments.gaussian(dim=4, arms=12, seed=2, link="logistic", rewards="bernoulli")
    given = world, Infex(LinUCB(scale=0.3), every(3)), 900
    runs = [
        how(*given, seed=5, estimator=Logistic(), record=True) for how in (infex.lab.play, play_in_python)
    ]
    assert_same(*runs)
    assert np.unique(runs[0].arms).size > 4  # or every reward would be fitted anew


def shop(estimator: Any = None) -> Bandit:
    rule = features.disjoint(["tea", "juice"], context_dim=3)
    bandit = Bandit(features=rule, policy=Infex(LinUCB(), every(4)), estimator=estimator or Logistic())
    rows, rewards, _ = problem(4, 1400)
    for x, reward in zip(rows[:, :3], rewards.tolist(), strict=True):
        bandit.tell(bandit.ask(context=x), reward)
    return bandit


def test_a_bandit_goes_on_bit_for_bit_between_fits_and_near_k_exact_ones(tmp_path: Path) -> None:
    bandit = shop()
    bandit.save(tmp_path / "b.infex")
    alike = [bandit, Bandit.load(tmp_path / "b.infex"), copy.copy(bandit)]
    for x in problem(5, 20)[0][:, :3]:
        assert len({each.digest() for each in alike}) == 1
        decisions = [each.ask(context=x) for each in alike]
        assert len({decision.estimate for decision in decisions}) == 1
        for each, decision in zip(alike, decisions, strict=True):
            each.tell(decision, float(decision.t % 2))
    for part in bandit._agent.model.all.parts:  # type: ignore[attr-defined]
        before = part.posterior().theta
        part.refit(part.n_observations)
        assert np.abs(before - part.solve(before).theta).max() < 5e-3


def test_a_log_is_fitted_once_and_exactly() -> None:
    rows, rewards, _ = problem(7, 1500)
    bandit = Bandit(dim=rows.shape[1], policy=Greedy(), estimator=Logistic())
    bandit.learn(arms=rows, rewards=rewards)
    np.testing.assert_allclose(bandit.theta, exact_theta(rows, rewards, 1.0), atol=1e-8)


def test_the_likelihood_radius_is_its_formula_and_every_policy_has_it() -> None:
    """Lee, Yun and Jun (2024), Theorem 3.2; as in the authors' OFUGLB-e."""
    bandit = Bandit(
        np.eye(3) / 2, LinUCB(bound=2.0, delta=0.05, noise=9.0), estimator=Logistic(radius="likelihood")
    )
    for told in (0, 1, 2, 50):
        more = told - bandit.posterior().pulled
        bandit.learn(arms=[0] * more, rewards=[1.0] * more)
        steep = max(math.e, 2 * math.e * 2.0 * (1 + 2.0 / 2) * max(told - 1, 0) / 3)
        expected = math.sqrt(2 * 3.0 * (1 + math.log(20) + 3 * math.log(steep)))
        policy = bandit.policy
        assert isinstance(policy, LinUCB)
        assert policy.confidence_radius(bandit.posterior()) == pytest.approx(expected)
        odds = bandit.posterior().scores(bandit.posterior().theta) + expected * lengths(bandit)
        np.testing.assert_allclose(policy.index(bandit.posterior()), 1 / (1 + np.exp(-odds)), atol=1e-9)
    with pytest.raises(InvalidSetting, match="radius must be 'policy' or 'likelihood', got 'wald'"):
        Logistic(radius="wald")
    each = features.disjoint(["a", "b"], context_dim=2)
    with pytest.raises(NotKept, match="for one regression of all arms"):
        Bandit(features=each, policy=LinUCB(), estimator=Logistic(radius="likelihood")).ask(
            context=[0.1, 0.2]
        )


def lengths(bandit: Bandit) -> Any:
    """|x| in H^-1 of every arm, from the definition."""
    posterior = bandit.posterior()
    return np.linalg.norm(posterior.arms @ posterior.factor.T, axis=1)
