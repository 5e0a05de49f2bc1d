"""Runs with other estimators than ridge: compiled as the Python loop has them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import (
    EpsilonGreedy,
    Greedy,
    Infex,
    LinTS,
    LinUCB,
    Softened,
    budget,
    every,
    guarded,
    listed,
    paused,
    power,
    until_certain,
)
from infex.errors import InvalidReward
from infex.lab import play_many
from infex.lab.environments import LinearInstance, gaussian, instances
from infex.lab.simulation import play
from infex.lab.simulation.compiled import plan_of
from infex.models import Discounted, Lasso, Logistic, Weighted, Windowed
from infex.policies import UCB1, HybridTS, RarelySwitchingUCB, doubtful, ledger
from tests.lab.simulation.in_python import assert_same, play_in_python
from tests.models.slow import by_first

EXAMPLES = 150

ties = st.sampled_from(["lowest", "random"])
scales = st.sampled_from([0.05, 0.5])
bases = st.one_of(
    st.builds(Greedy, ties=ties),
    st.builds(LinUCB, scale=scales, ties=ties),
    st.builds(LinTS, scale=scales, sampling=st.sampled_from(["gaussian", "spherical"]), ties=ties),
    st.builds(HybridTS, p=st.just(0.4), scale=scales, ties=ties),
    st.builds(RarelySwitchingUCB, growth=st.sampled_from([0.1, 1.0]), scale=scales, ties=ties),
    st.sampled_from([UCB1(), EpsilonGreedy(rate=0.3), Softened(LinUCB(scale=0.1), 0.3)]),
)
schedules = st.sampled_from(
    [
        every(3),
        power(0.6),
        guarded(every(2), 1.0),
        until_certain(every(2), scale=0.05),
        doubtful(every(2), scale=0.02),
        ledger(0.7, noise=0.5),
        budget(paused(every(2), listed(range(10, 40)), "make up"), 12, window=50),
    ]
)
policies = st.one_of(
    bases, st.builds(Infex, bases, schedules, data=st.sampled_from(["shared", "own"]), ties=ties)
)
squares = st.one_of(
    st.builds(Discounted, rate=st.sampled_from([0.5, 0.95, 1.0])),
    st.builds(Windowed, size=st.sampled_from([1, 2, 13, 10**6])),
    st.just(Weighted(weight=by_first)),
    st.builds(Lasso, strength=st.sampled_from([0.01, 0.2])),
)


@st.composite
def cases(draw: Any) -> tuple[Any, LinearInstance]:
    """An estimator and a problem whose rewards it takes."""
    given = draw(
        st.builds(gaussian, dim=st.integers(1, 6), arms=st.integers(1, 12), seed=st.integers(0, 10**6))
    )
    if draw(st.booleans()):
        return draw(squares), given
    positive = LinearInstance(np.abs(given.arms), np.abs(given.theta) * 0.9, "bernoulli")
    return draw(st.builds(Logistic, penalty=st.sampled_from([None, 0.3]))), positive


@given(
    policy=policies, case=cases(), seed=st.integers(0, 99), horizon=st.sampled_from([1, 2, 25, 120]),
    penalty=st.sampled_from([1e-8, 0.5, 1.0]),
)  # fmt: skip
@settings(max_examples=EXAMPLES, deadline=None)
def test_compiled_and_interpreted_runs_are_the_same_to_the_last_bit(
    policy: Any, case: tuple[Any, LinearInstance], seed: int, horizon: int, penalty: float
) -> None:
    estimator, instance = case
    assert plan_of(policy, estimator) is not None, "it runs compiled"
    more: Any = {"penalty": penalty, "record": True, "estimator": estimator}
    slow = play_in_python(instance, policy, horizon, seed, **more)
    assert_same(play(instance, policy, horizon, seed, **more), slow)


def test_many_runs_and_long_runs_are_those_of_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [gaussian(dim=3, arms=8, seed=seed) for seed in range(3)]
    policy = Infex(LinTS(), every(3), data="own")
    for estimator in (Discounted(rate=0.9), Windowed(size=20), Lasso(), Weighted(weight=by_first)):
        more: Any = {"record": True, "estimator": estimator}
        many = play_many(problems, policy, 120, seeds=range(3), workers=1, **more)
        for run in many:
            assert_same(run, play(run.instance, policy, 120, run.seed, **more))
        with monkeypatch.context() as patch:
            patch.setattr(instances, "STRETCH", 31)
            np.testing.assert_array_equal(play(problems[0], policy, 120, **more).arms, many[0].arms)


def test_rewards_that_are_neither_0_nor_1_are_refused_by_logistic_regression() -> None:
    for how in (play, play_in_python):
        with pytest.raises(InvalidReward, match=r"must be 0 or 1, got -1\.0"):
            how(gaussian(dim=2, arms=3, seed=1), LinUCB(), 100, estimator=Logistic())
