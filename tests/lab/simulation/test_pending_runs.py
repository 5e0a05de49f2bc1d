"""Runs with late rewards read what is pending as a bandit does, compiled and in Python."""

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infex import Bandit, Choice, Infex, LinTS, LinUCB, best, every, jittered
from infex.errors import InvalidSetting
from infex.lab import play, play_many, stream
from infex.lab.environments import changing, gaussian, late
from infex.lab.simulation import Run
from infex.models import Discounted, Logistic
from infex.registry import stream_name
from tests.lab.simulation.in_python import assert_same, in_python

LATE = [3, late(mean=9, lost=0.3), late(rounds=[0, 11, 2]), late(lost=1.0), late(rounds=40)]
POLICIES: list[Any] = [
    LinUCB(delta=0.01),
    LinUCB(delta=0.01, ties="random"),
    LinTS(delta=0.01),
    LinTS(delta=0.01, sampling="spherical"),
    Infex(LinUCB(delta=0.01), every(3)),
    Infex(LinTS(delta=0.01), jittered(3, seed=1)),
    Infex(LinUCB(delta=0.01), every(2), data="own"),
    Infex(LinTS(delta=0.01), every(2), data="own"),
]


class Widest:
    """A base in Python."""

    def choose(self, t: int, posterior: Any, rng: np.random.Generator) -> Choice:
        return Choice(best(posterior.upper(2.0)))


class Draws:
    """The draws of a run: one stream for all rounds."""

    def __init__(self, run: Run, policy: Any) -> None:
        self.rng = stream(run.seed, "policy", stream_name(policy), run.instance.key)

    def at(self, t: int) -> np.random.Generator:
        return self.rng


def asked_and_told(
    run: Run, policy: Any, estimator: Any, pending: Any
) -> tuple[list[int], list[bool], float]:
    """The arms of a bandit that goes along the same course."""
    instance: Any = run.instance
    fixed = instance.fixed_arms is not None
    place: Any = {"arms": instance.fixed_arms} if fixed else {"dim": instance.dim}
    bandit = Bandit(policy=policy, estimator=estimator, pending=pending, **place)
    bandit._draws = Draws(run, policy)  # type: ignore[assignment]
    delays = instance.late.delays(run.seed, instance.key, run.horizon)
    draws = instance.draws(run.seed)
    due: defaultdict[int, list[Any]] = defaultdict(list)
    arms, explored = [], []
    for stretch in instance.stretches(run.seed, run.horizon):
        for t in range(stretch.first, stretch.last + 1):
            offered = {} if fixed else {"arms": stretch.columns[t - stretch.first].T}
            means = stretch.means[np.searchsorted(stretch.ends, t)]
            decision = bandit.ask(**offered)
            reward = instance.law.draw(decision.arm, float(means[decision.arm]), draws)
            arms.append(decision.arm)
            explored.append(decision.explored)
            if delays[t - 1] >= 0:
                due[t + int(delays[t - 1])].append((decision, reward))
            for told in due.pop(t, ()):
                bandit.tell(*told)
    return arms, explored, bandit._agent.model.all.posterior().log_det_ratio


@given(
    policy=st.sampled_from(POLICIES),
    lateness=st.sampled_from(LATE),
    anew=st.booleans(),
    pending=st.sampled_from(["narrow", "narrow", "ignore"]),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_a_run_is_a_bandit_that_is_asked_and_told_along_its_course(
    policy: Any, lateness: Any, anew: bool, pending: Any, seed: int
) -> None:
    lateness = late(lateness) if isinstance(lateness, int) else lateness
    instance = (changing if anew else gaussian)(dim=3, arms=8, seed=seed, late=lateness)
    run = play(instance, policy, 90, seed, record=True, pending=pending)
    with in_python():
        assert_same(run, play(instance, policy, 90, seed, record=True, pending=pending))
    arms, explored, log_det_ratio = asked_and_told(run, policy, None, pending)
    assert run.arms is not None
    assert run.arms.tolist() == arms
    assert (run.explored, run.log_det_ratio) == (sum(explored), log_det_ratio)


@pytest.mark.parametrize("estimator", [Discounted(rate=0.9), Logistic()], ids=repr)
@pytest.mark.parametrize("policy", [Infex(LinTS(delta=0.01), every(2)), LinUCB(delta=0.01)], ids=repr)
def test_so_it_is_with_another_estimator(policy: Any, estimator: Any) -> None:
    instance = gaussian(dim=3, arms=8, seed=2, late=late(mean=9), rewards="bernoulli", link="logistic")
    run = play(instance, policy, 60, 2, record=True, estimator=estimator)
    assert run.arms is not None
    assert run.arms.tolist() == asked_and_told(run, policy, estimator, "narrow")[0]


@pytest.mark.parametrize("seed", range(3))
def test_clicks_that_come_together_are_all_learnt(seed: int) -> None:
    """What a logistic regression keeps was brought back to before the last decision with each of them."""
    instance = gaussian(dim=8, arms=12, seed=seed, late=late(mean=30), rewards="bernoulli", link="logistic")
    policy = Infex(LinUCB(delta=0.01), every(2))
    run = play(instance, policy, 400, seed, record=True, estimator=Logistic())
    arms, explored, log_det_ratio = asked_and_told(run, policy, Logistic(), "narrow")
    assert run.arms is not None
    assert run.arms.tolist() == arms
    assert (run.explored, run.log_det_ratio) == (sum(explored), log_det_ratio)


@pytest.mark.parametrize("anew", [False, True])
def test_a_base_in_python_sees_what_is_narrowed(anew: bool) -> None:
    instance = (changing if anew else gaussian)(dim=3, arms=8, seed=4, late=late(7))
    policy = Infex(Widest(), every(2))
    run = play(instance, policy, 90, 4, record=True)
    with in_python():
        assert_same(run, play(instance, policy, 90, 4, record=True))
    ignored = play(instance, policy, 90, 4, record=True, pending="ignore")
    assert run.arms is not None
    assert ignored.arms is not None
    assert (run.arms != ignored.arms).any()


def test_many_runs_are_those_one_by_one() -> None:
    instance = gaussian(dim=3, arms=8, seed=1, late=30)
    for pending in ("narrow", "ignore"):
        runs = play_many(instance, LinUCB(), 100, seeds=range(3), record=True, pending=pending, workers=2)
        for run in runs:
            assert_same(run, play(instance, LinUCB(), 100, run.seed, record=True, pending=pending))


def test_where_rewards_come_at_once_it_makes_no_difference() -> None:
    for nature in ({}, {"late": 0}, {"rewards": "student"}):
        instance = gaussian(dim=3, arms=8, seed=1, **nature)
        assert_same(*(play(instance, LinTS(), 100, record=True, pending=way) for way in ("narrow", "ignore")))


@pytest.mark.parametrize("pending", ["none", False])
def test_another_way_to_look_at_them_is_refused(pending: Any) -> None:
    instance = gaussian(dim=3, arms=8, seed=1)
    with pytest.raises(InvalidSetting, match="pending must be 'narrow' or 'ignore', got"):
        play(instance, LinUCB(), 10, pending=pending)
    with pytest.raises(InvalidSetting, match="pending must be 'narrow' or 'ignore', got"):
        play_many(instance, LinUCB(), 10, pending=pending)
