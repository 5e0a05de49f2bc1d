"""Runs over changing arms: compiled and interpreted alike, and like a slow obvious version."""

from typing import Any

import numpy as np
import pytest

from infex import EpsilonGreedy, Greedy, Infex, LinTS, LinUCB, every, stretched
from infex.errors import NotKept
from infex.lab import play, play_many
from infex.lab.environments import ChangingInstance, changing, instances
from infex.lab.simulation import Run, simulator
from infex.policies import Uniform
from infex.policies.base import resolve_defaults
from infex.registry import stream_name
from infex.streams import stream
from tests.lab.simulation.in_python import assert_same
from tests.lab.simulation.test_playing import Plain
from tests.policies.test_contract import Means

POLICIES: list[Any] = [
    Greedy(),
    Greedy(ties="random"),
    Uniform(),
    EpsilonGreedy(),
    LinUCB(),
    LinUCB(ties="random", radius="mixture"),
    LinTS(),
    LinTS(sampling="spherical", scale=0.2),
    Infex(LinUCB(), every(5)),
    Infex(LinTS(scale=0.3), stretched(1), data="own"),
    Infex(LinUCB(), every(3), data="own"),
    Infex(EpsilonGreedy(), every(2), ties="random"),
    Infex(EpsilonGreedy(), every(2), data="own"),
]
INSTANCES = [
    changing(dim=4, arms=9, seed=1),
    changing(dim=3, arms=12, seed=2, best="fixed", rewards="gaussian"),
    changing(dim=5, arms=6, seed=3, best="recurring"),
    ChangingInstance(theta=[0.3, 0.3], arms=0, fixed=[[1, 0], [0, 1], [0, 1]], rewards="bernoulli"),
]


def interpreted(policy: Any, *given: Any, **more: Any) -> Run:
    policy = resolve_defaults(policy, 1 / given[1])
    name = stream_name(policy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "stream_name", lambda _: name)
        return play(given[0], Plain(policy), *given[1:], **more)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@pytest.mark.parametrize("instance", INSTANCES, ids=["moving", "fixed", "recurring", "constant"])
def test_compiled_and_interpreted_runs_are_the_same(
    policy: Any, instance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = play(instance, policy, 200, 7, record=True, penalty=0.7)
    monkeypatch.setattr(instances, "BLOCK", 333)
    assert_same(interpreted(policy, instance, 200, 7, record=True, penalty=0.7), fast)
    assert_same(play(instance, policy, 200, 7, record=True, penalty=0.7), fast)


def slow_linucb(instance: ChangingInstance, horizon: int, seed: int, period: int) -> list[int]:
    """INFEX(LinUCB, every period) by the book: one solve for each round and arm."""
    gram, moment, draws, chosen = np.eye(instance.dim), np.zeros(instance.dim), instance.draws(seed), []
    for first, block in instance.blocks(seed, horizon):
        for t, columns in enumerate(block, first):
            theta = np.linalg.solve(gram, moment)
            scores = columns.T @ theta
            if t % period == 0:
                beta = np.sqrt(np.linalg.slogdet(gram)[1] + 2 * np.log(horizon)) + 1
                scores = scores + beta * np.array([np.sqrt(x @ np.linalg.solve(gram, x)) for x in columns.T])
            arm = int(np.argmax(scores))
            x = columns[:, arm]
            reward = instance.reward(float(x @ instance.theta), draws)
            gram, moment = gram + np.outer(x, x), moment + reward * x
            chosen.append(arm)
    return chosen


@pytest.mark.parametrize("period", [1, 4])
def test_every_arm_is_that_of_the_slow_version(period: int) -> None:
    for seed in range(4):
        instance = changing(dim=3, arms=8, seed=seed)
        run = play(instance, Infex(LinUCB(), every(period)), 200, seed, record=True)
        assert run.arms is not None
        assert run.arms.tolist() == slow_linucb(instance, 200, seed, period)


def test_a_run_adds_up() -> None:
    instance = changing(dim=4, arms=9, seed=1)
    run = play(instance, Infex(LinUCB(), every(10)), 1000, record=True)
    assert run.losses is not None
    assert run.arms is not None
    assert run.regret == pytest.approx(run.losses.sum())
    assert run.regret_exploring == pytest.approx(run.losses[9::10].sum())
    assert run.explored == 100
    assert run.optimal == np.count_nonzero(run.losses == 0)
    np.testing.assert_array_equal(run.counts, np.bincount(run.arms, minlength=9))
    rounds, curve = run.curve()
    np.testing.assert_allclose(curve, np.cumsum(run.losses)[rounds - 1])
    np.testing.assert_allclose(run.curve(every_round=True)[1], np.cumsum(run.losses))
    with pytest.raises(NotKept):
        play(instance, Greedy(), 10).curve(every_round=True)


def test_all_policies_meet_the_same_arms_and_noise() -> None:
    instance = changing(dim=3, arms=2, seed=5, rewards="gaussian")
    runs = [play(instance, policy, 300, 4, record=True) for policy in (Greedy(), Uniform())]
    blocks = np.concatenate([block for _, block in instance.blocks(4, 300)])
    noise = [
        run.rewards - np.einsum("bd,d->b", blocks[np.arange(300), :, run.arms], instance.theta)
        for run in runs
    ]
    np.testing.assert_allclose(noise[0], noise[1], atol=1e-12)
    assert np.std(noise[0]) == pytest.approx(1.0, abs=0.15)


def test_a_learner_sees_the_features_it_played() -> None:
    instance = changing(dim=3, arms=5, seed=5)
    heard: list[float] = []

    class Hearing(Means):
        def learn(self, arm: int, features: Any, reward: float, explored: bool) -> None:
            super().learn(arm, features, reward, explored)
            heard.append(reward)

    learner = Hearing()
    run = play(instance, learner, 30, 4, record=True)
    assert run.rewards is not None
    assert heard == run.rewards.tolist()
    assert not learner.rewards  # a run leaves the policy as it was given
    assert play(instance, learner, 30, 4).regret == run.regret


def test_many_runs_are_those_of_play() -> None:
    instances = [*INSTANCES[:2], INSTANCES[0]]
    runs = play_many(instances, Infex(LinTS(), every(3)), 100, seeds=range(5), record=True)
    tasks = [(instance, seed) for instance in instances for seed in range(5)]
    for run, (instance, seed) in zip(runs, tasks, strict=True):
        assert_same(run, play(instance, Infex(LinTS(), every(3)), 100, seed, record=True))


@pytest.mark.compiled
def test_greedy_does_well_with_diverse_arms_and_explorers_pay() -> None:
    instance = changing(dim=5, arms=10, seed=3)
    greedy, uniform = (
        np.mean([play(instance, policy, 2000, seed).regret for seed in range(5)])
        for policy in (Greedy(), Uniform())
    )
    assert greedy < 0.1 * uniform


def test_policies_draw_from_streams_of_their_own() -> None:
    instance = INSTANCES[0]
    run = play(instance, Uniform(), 50, 3, record=True)
    rng = stream(3, "policy", "Uniform", instance.key)
    np.testing.assert_array_equal(run.arms, [rng.integers(0, 9) for _ in range(50)])
