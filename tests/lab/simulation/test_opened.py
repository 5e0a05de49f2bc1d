"""Runs on open problems: compiled as in Python, and both as a slow version that solves anew."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import EpsilonGreedy, Greedy, Infex, LinTS, LinUCB, every, jittered
from infex.errors import InvalidReward
from infex.lab import play, play_many
from infex.lab.environments import changing, gaussian, late, steps, turning, walk
from infex.models import Discounted
from infex.policies import Uniform
from tests.lab.simulation.in_python import assert_same, in_python

POLICIES = [
    LinUCB(scale=0.5),
    LinTS(),
    Greedy(ties="random"),
    EpsilonGreedy(),
    Infex(LinUCB(), every(7)),
    Infex(LinTS(), jittered(5, seed=2), data="own"),
    Infex(Uniform(), every(3)),
]


def skewed(rng: np.random.Generator, means: Any) -> Any:
    return means + rng.standard_exponential(means.shape) - 1.0


def broken(rng: np.random.Generator, means: Any) -> Any:
    if rng.random() < 0.5:
        raise ValueError("no reward today")
    return means


def endless(rng: np.random.Generator, means: Any) -> Any:
    return np.where(rng.random(means.shape) < 0.05, np.inf, means)


NATURES: list[dict[str, Any]] = [
    {"rewards": "student", "degrees": 2.1},
    {"rewards": "gaussian", "noise": np.linspace(0.0, 2.0, 8)},
    {"rewards": skewed},
    {"moves": steps(every=23)},
    {"moves": turning(97), "rewards": "gaussian"},
    {"moves": walk(0.05), "late": 4},
    {"late": late(mean=9, lost=0.3)},
    {"late": late(rounds=[0, 11, 2])},
    {"late": late(lost=1.0)},
    {"link": "logistic", "rewards": "bernoulli", "moves": steps(at=[40, 41]), "late": late(mean=3)},
]


@settings(deadline=None, max_examples=60)
@given(
    policy=st.sampled_from(POLICIES),
    nature=st.sampled_from(NATURES),
    anew=st.booleans(),
    horizon=st.sampled_from([1, 2, 60, 150]),
    seed=st.integers(0, 99),
)
def test_compiled_runs_are_those_of_python(
    policy: Any, nature: dict[str, Any], anew: bool, horizon: int, seed: int
) -> None:
    instance = (changing if anew else gaussian)(dim=3, arms=8, seed=seed, **nature)
    one = play(instance, policy, horizon, seed, record=True)
    with in_python():
        other = play(instance, policy, horizon, seed, record=True)
    assert_same(one, other)


def slow_linucb(
    instance: Any, horizon: int, seed: int, period: int, delta: float, pending: str
) -> tuple[list[int], float]:
    """INFEX(LinUCB, every period) by the book, rewards told when they are due."""
    gram, moment = np.eye(instance.dim), np.zeros(instance.dim)
    draws = instance.draws(seed)
    delays = np.zeros(horizon) if instance.late is None else instance.late.delays(seed, instance.key, horizon)
    waiting: list[tuple[float, Any, float]] = []
    chosen, regret = [], 0.0
    for stretch in instance.stretches(seed, horizon):
        for t in range(stretch.first, stretch.last + 1):
            arms = instance.fixed_arms if stretch.columns is None else stretch.columns[t - stretch.first].T
            means = stretch.means[np.searchsorted(stretch.ends, t)]
            scores = arms @ np.linalg.solve(gram, moment)
            if t % period == 0:
                late_ones = [np.outer(x, x) for _, x, _ in waiting if pending == "narrow"]
                seen = gram + sum(late_ones, np.zeros_like(gram))
                beta = np.sqrt(np.linalg.slogdet(gram)[1] + 2 * np.log(1 / delta)) + 1
                scores = scores + beta * np.array([np.sqrt(x @ np.linalg.solve(seen, x)) for x in arms])
            arm = int(np.argmax(scores >= scores.max() - 1e-12))
            reward = instance.law.draw(arm, float(means[arm]), draws)
            regret += means.max() - means[arm]
            chosen.append(arm)
            due = t + int(delays[t - 1]) if delays[t - 1] >= 0 else np.inf
            waiting.append((due, arms[arm], reward))
            for _, x, gained in [each for each in waiting if each[0] <= t]:
                gram, moment = gram + np.outer(x, x), moment + gained * x
            waiting = [each for each in waiting if each[0] > t]
    return chosen, regret


@pytest.mark.parametrize("pending", ["narrow", "ignore"])
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("nature", NATURES[3:], ids=str)
def test_every_arm_is_that_of_the_slow_version(nature: dict[str, Any], anew: bool, pending: Any) -> None:
    for seed in range(3):
        instance = (changing if anew else gaussian)(dim=3, arms=8, seed=seed, **nature)
        run = play(instance, Infex(LinUCB(delta=0.01), every(4)), 150, seed, record=True, pending=pending)
        chosen, regret = slow_linucb(instance, 150, seed, 4, 0.01, pending)
        assert run.arms is not None
        assert run.arms.tolist() == chosen
        np.testing.assert_allclose(run.regret, regret)


def test_what_never_comes_is_never_learnt() -> None:
    run = play(gaussian(dim=3, arms=8, seed=1, late=late(lost=1.0)), Greedy(), 50, record=True)
    assert run.arms is not None
    assert set(run.arms.tolist()) == {0}
    assert run.log_det_ratio == 0.0


def test_rewards_that_are_late_by_nothing_change_nothing() -> None:
    for policy in POLICIES:
        one = play(gaussian(dim=3, arms=8, seed=1), policy, 200, 5, record=True)
        other = play(gaussian(dim=3, arms=8, seed=1, late=0), policy, 200, 5, record=True)
        np.testing.assert_array_equal(one.arms, other.arms)
        np.testing.assert_array_equal(one.rewards, other.rewards)
        np.testing.assert_allclose(one.regret, other.regret)


def test_many_runs_are_the_runs_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [gaussian(dim=3, arms=8, seed=seed, rewards=skewed, late=3) for seed in range(3)]
    many = play_many(problems, Infex(LinUCB(), every(5)), 100, seeds=[1, 2], record=True, workers=2)
    alone = [
        play(each, Infex(LinUCB(), every(5)), 100, seed, record=True) for each in problems for seed in (1, 2)
    ]
    for one, other in zip(many, alone, strict=True):
        assert_same(one, other)


def test_an_estimator_plays_open_problems() -> None:
    instance = gaussian(dim=3, arms=8, seed=1, moves=steps(every=50), late=2)
    run = play(instance, LinUCB(), 120, estimator=Discounted(rate=0.95), record=True)
    assert run.horizon == 120


def test_what_a_law_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="no reward today"):
        play(gaussian(dim=3, arms=8, seed=1, rewards=broken), LinUCB(), 500)
    with pytest.raises(InvalidReward, match=r"finite numbers; in round \d+ it gave inf"):
        play(gaussian(dim=3, arms=8, seed=1, rewards=endless), LinUCB(), 500)


def test_rewards_that_are_late_beyond_counting_never_come() -> None:
    """Rounds and delays together would pass 2^63."""
    endless, never = (
        play(gaussian(dim=3, arms=5, seed=1, late=by), LinUCB(delta=0.01), 60, record=True)
        for by in (2**63 - 1, 100)
    )
    np.testing.assert_array_equal(endless.arms, never.arms)
    assert endless.log_det_ratio == never.log_det_ratio == 0.0
