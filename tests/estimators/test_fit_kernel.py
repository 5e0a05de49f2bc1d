"""Estimators that users write as kernels."""

from typing import Any

import numpy as np
import pytest

from infex import UCB1, Bandit, Greedy, Infex, LinTS, LinUCB, RarelySwitchingUCB, every, play, view
from infex.environments import changing, gaussian
from infex.errors import InvalidSetting
from infex.estimators import Discounted, Solution, fit_kernel
from infex.experiments.content import digest
from infex.kernels.compiling import plain_python
from tests.simulation.test_playing import assert_same
from tests.simulation.test_stateful import play_in_python

PROBLEM = gaussian(dim=4, arms=12, seed=3, rewards="gaussian")
HORIZON = 40 if plain_python else 300


@fit_kernel(room=lambda dim: 2 * (dim + 1) * dim, rate=0.9)
def fading(
    x: Any, reward: float, weight: float, penalty: float, settings: Any, memory: Any, solved: Any
) -> float:
    """Ridge regression whose sums fade; its factor is that of the sums."""
    sums = memory.reshape((2, x.size + 1, x.size))
    if weight > 0.0:
        sums *= settings[0]
        view.add(sums, penalty, x, reward, weight)
    return view.settle(sums, penalty, solved)


def test_its_estimate_is_that_of_the_definition() -> None:
    """theta of a discounted ridge is that of the built-in one, whose covariance alone is another."""
    bandits = [
        Bandit(PROBLEM.arms, UCB1(), estimator=each) for each in (fading(rate=0.8), Discounted(rate=0.8))
    ]
    rng = np.random.default_rng(1)
    for _ in range(50):
        reward = float(rng.normal())
        for bandit in bandits:
            bandit.tell(bandit.ask(), reward)
    one, other = (bandit.estimates().estimate for bandit in bandits)
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "policy",
    [LinUCB(), Greedy(), RarelySwitchingUCB(), Infex(LinTS(), every(3), data="own")],
    ids=lambda policy: type(policy).__name__,
)
def test_both_loops_play_it_alike(policy: Any) -> None:
    more: Any = {"record": True, "estimator": fading(rate=0.95)}
    assert_same(play(PROBLEM, policy, HORIZON, **more), play_in_python(PROBLEM, policy, HORIZON, **more))


def test_it_plays_changing_arms_too() -> None:
    assert play(changing(dim=3, arms=5, seed=1), LinUCB(), 30, estimator=fading()).counts.sum() == 30


def test_its_settings_have_names_and_enter_a_digest() -> None:
    assert repr(fading(rate=0.5)) == "fading(rate=0.5)"
    assert fading() == fading(rate=0.9)
    assert digest(fading(rate=0.5)) != digest(fading())
    with pytest.raises(InvalidSetting, match="fading has no setting 'pace'; it has rate"):
        fading(pace=1.0)
    with pytest.raises(InvalidSetting, match="must be a function of x, reward, weight, penalty, settings"):
        fit_kernel(room=1)(print)
    with pytest.raises(InvalidSetting, match="room must be at least 0, got -1"):
        fit_kernel(room=-1)


@pytest.mark.compiled
def test_faults_are_named() -> None:
    @fit_kernel(room=0)
    def vague(x: Any, y: float, w: float, p: float, s: Any, m: Any, solved: Any) -> Any:
        return x

    @fit_kernel(room=1)
    def failing(x: Any, y: float, w: float, p: float, s: Any, m: Any, solved: Any) -> float:
        m[0] += w
        if m[0] > 5.0:
            raise ZeroDivisionError("as it was told to")
        solved[:] = 0.0
        for i in range(x.size):
            solved[i, i] = 1.0
        return 0.0

    with pytest.raises(InvalidSetting, match="vague must return the volume, a number; it returns"):
        play(PROBLEM, LinUCB(), 10, estimator=vague())
    for how in (play, play_in_python):
        with pytest.raises(ZeroDivisionError, match="as it was told to"):
            how(PROBLEM, LinUCB(), 10, estimator=failing())


def test_a_bandit_with_it_is_saved_and_goes_on(tmp_path: Any) -> None:
    bandit = Bandit(PROBLEM.arms, LinUCB(), estimator=fading())
    for _ in range(20):
        bandit.tell(bandit.ask(), 0.5)
    bandit.save(tmp_path / "bandit")
    loaded = Bandit.load(tmp_path / "bandit", estimator=fading())
    np.testing.assert_array_equal(loaded.estimates().estimate, bandit.estimates().estimate)
    assert loaded.ask().arm == bandit.ask().arm


def test_a_solution_is_made_of_an_estimate_and_a_covariance() -> None:
    rows = np.random.default_rng(2).normal(size=(9, 4))
    covariance = rows.T @ rows
    solution = Solution.about([1.0, 2.0, 3.0, 4.0], covariance, volume=0.7)
    np.testing.assert_allclose(solution.factor.T @ solution.factor, covariance)
    np.testing.assert_array_equal(np.triu(solution.factor, 1), 0.0)
    assert solution.theta.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert solution.volume == 0.7
