"""What calls of `play` use again: what was read of a policy, and a thread's room."""

from typing import Any

import numpy as np
import pytest

from infex import Infex, LinTS, LinUCB, Run, every, play
from infex.environments import LinearInstance, gaussian
from infex.simulation.remembered import Remembered, asks_for_problem, stream_name


class Mutable:
    """A user's policy, which may change between two runs."""

    def __init__(self, arm: int) -> None:
        self.arm = arm

    def choose(self, t: int, evidence: Any, rng: np.random.Generator) -> Any:
        raise NotImplementedError


def test_a_users_policy_is_read_anew_each_time() -> None:
    read, policy = Remembered(lambda policy: policy.arm), Mutable(1)
    assert read(policy) == 1
    policy.arm = 2
    assert read(policy) == 2
    own = Infex(policy, every(5))
    assert Remembered(lambda policy: policy.base.arm)(own) == 2


def test_a_policy_of_infex_is_read_once() -> None:
    asked = []
    read = Remembered(lambda policy: asked.append(policy))
    policy = Infex(LinUCB(), every(7))
    for _ in range(3):
        read(policy)
    assert asked == [policy]


def test_many_policies_are_told_apart() -> None:
    names = [stream_name(LinUCB(delta=1 / (2 + number))) for number in range(200)]
    assert len(set(names)) == 200
    assert not asks_for_problem(LinUCB())


def figures(run: Run) -> tuple[Any, ...]:
    return run.regret, run.volume, run.explored, run.counts.tolist(), run.points[1].tolist()


@pytest.mark.parametrize("data", ["shared", "own"])
def test_runs_in_one_thread_leave_each_other_alone(data: Any) -> None:
    """They use the same room, one after the other; what they leave behind is theirs."""
    here, there = (gaussian(dim=4, arms=12, seed=seed) for seed in (1, 2))
    policies = Infex(LinUCB(delta=0.1), every(3), data=data), Infex(LinTS(delta=0.1), every(2), data=data)
    kept = play(here, policies[0], 300, penalty=0.5)
    before = figures(kept)
    for instance, policy, penalty in ((there, policies[0], 2.0), (here, policies[1], 1.0)):
        play(instance, policy, 200, penalty=penalty)
    assert figures(kept) == before
    assert figures(play(here, policies[0], 300, penalty=0.5)) == before


def test_a_problem_of_the_same_arms_is_another_problem() -> None:
    arms = gaussian(dim=3, arms=6, seed=4).arms
    regrets = [play(LinearInstance(arms, theta), LinUCB(), 100).regret for theta in np.eye(3) * 0.5]
    assert len(set(regrets)) == 3
