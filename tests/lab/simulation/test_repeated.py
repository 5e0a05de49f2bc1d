"""Runs leave each other alone, whatever was played before."""

from typing import Any

import numpy as np
import pytest

from infex import Infex, LinTS, LinUCB, every
from infex.lab import Run, play
from infex.lab.environments import LinearInstance, gaussian
from infex.registry import stream_name


def test_many_policies_are_told_apart() -> None:
    names = [stream_name(LinUCB(delta=1 / (2 + number))) for number in range(200)]
    assert len(set(names)) == 200


def figures(run: Run) -> tuple[Any, ...]:
    return run.regret, run.log_det_ratio, run.explored, run.counts.tolist(), run.points[1].tolist()


@pytest.mark.parametrize("data", ["shared", "own"])
def test_runs_in_one_thread_leave_each_other_alone(data: Any) -> None:
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
