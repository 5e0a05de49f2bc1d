"""What a user's object keeps in `self` lasts for one run: each run begins with a copy as it was given."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import infex
from infex import Greedy, Infex, LinUCB, always, every, paused
from infex.errors import CannotCopy
from infex.lab.environments import ChangingInstance, LinearInstance, gaussian
from infex.models import Weighted
from infex.models.ridge import RidgeModel
from infex.policies import EpsilonGreedy, Softened
from tests.lab.simulation.in_python import assert_same
from tests.stateful import (
    CountingLinUCB,
    DrawnArms,
    Drift,
    EverySeventhQuestion,
    Fading,
    FadingLaw,
    FallingWeight,
    Holding,
    Sticky,
    Stiffening,
    Tiring,
    Walk,
    sharing,
)  # fmt: skip

Made = tuple[Any, Any, Any]  # a problem, a policy and an estimator
PLAIN = gaussian(dim=3, arms=8, seed=1)
BROAD = LinUCB(scale=0.5)

STATEFUL: dict[str, Callable[[], Made]] = {
    "policy": lambda: (PLAIN, Sticky(), None),
    "base": lambda: (PLAIN, Infex(Sticky(), every(2)), None),
    "base with own data": lambda: (PLAIN, Infex(Sticky(), every(2), data="own"), None),
    "greedy model": lambda: (PLAIN, Infex(BROAD, every(2), greedy=Sticky()), None),
    "policy inside another": lambda: (PLAIN, Softened(Sticky(), 0.2), None),
    "subclass of a built-in policy": lambda: (PLAIN, CountingLinUCB(), None),
    "subclass as a base": lambda: (PLAIN, Infex(CountingLinUCB(chosen=6), every(2)), None),
    "rate": lambda: (PLAIN, EpsilonGreedy(rate=FallingWeight()), None),
    "schedule": lambda: (PLAIN, Infex(BROAD, EverySeventhQuestion()), None),
    "schedule in a union": lambda: (PLAIN, Infex(BROAD, every(9) | EverySeventhQuestion()), None),
    "pauses": lambda: (PLAIN, Infex(BROAD, paused(every(2), when=EverySeventhQuestion())), None),
    "control": lambda: (PLAIN, Infex(BROAD, Tiring(every(2))), None),
    "base and control together": lambda: (PLAIN, sharing(), None),
    "estimator": lambda: (PLAIN, BROAD, Stiffening()),
    "weights": lambda: (PLAIN, BROAD, Weighted(weight=FallingWeight())),
    "problem with fixed arms": lambda: (Walk(), BROAD, None),
    "problem that draws arms": lambda: (Fading(), BROAD, None),
    "law of rewards": lambda: (LinearInstance(PLAIN.arms, PLAIN.theta, rewards=FadingLaw()), BROAD, None),
    "moves": lambda: (LinearInstance(PLAIN.arms, PLAIN.theta, moves=Drift()), BROAD, None),
    "contexts": lambda: (ChangingInstance(theta=[0.5, 0.2], arms=5, contexts=DrawnArms()), BROAD, None),
    "policy and problem": lambda: (Walk(), Infex(Sticky(), Tiring(every(2))), None),
}


def played(made: Made, seed: int) -> infex.lab.simulation.Run:
    problem, policy, estimator = made
    return infex.lab.play(problem, policy, 60, seed, record=True, estimator=estimator)


@pytest.mark.parametrize("make", STATEFUL.values(), ids=STATEFUL)
def test_the_same_call_of_play_gives_the_same_run(make: Callable[[], Made]) -> None:
    made = make()
    for seed in (0, 0, 3, 0):
        assert_same(played(made, seed), played(make(), seed))


@pytest.mark.parametrize("make", STATEFUL.values(), ids=STATEFUL)
def test_many_runs_are_those_of_fresh_objects(make: Callable[[], Made]) -> None:
    problem, policy, estimator = make()
    for workers in (1, 2):
        runs = infex.lab.play_many(
            problem, policy, 60, range(4), record=True, estimator=estimator, workers=workers
        )
        for seed, run in enumerate(runs):
            assert_same(run, played(make(), seed))


def test_many_plain_problems_with_a_weight_that_counts_are_those_of_fresh_objects() -> None:
    problems = [gaussian(dim=3, arms=8, seed=seed) for seed in range(5)]
    runs = infex.lab.play_many(problems, BROAD, 60, record=True, estimator=Weighted(weight=FallingWeight()))
    for problem, run in zip(problems, runs, strict=True):
        assert_same(run, played((problem, BROAD, Weighted(weight=FallingWeight())), 0))


def test_runs_that_begin_with_what_was_learnt_begin_with_the_same_problem() -> None:
    learnt = RidgeModel(np.zeros((3, 0)))
    learnt.update(np.array([0.5, 0.1, 0.2]), 1.0)

    def runs(seeds: Any) -> list[infex.lab.simulation.Run]:
        problem = ChangingInstance(theta=PLAIN.theta, arms=5, rewards=FadingLaw())
        return infex.lab.play_many(problem, BROAD, 60, seeds, record=True, learnt=learnt)

    for seed, run in enumerate(runs(range(3))):
        assert_same(run, runs([seed])[0])


def test_a_run_names_what_was_given() -> None:
    problem, policy = LinearInstance(PLAIN.arms, PLAIN.theta, rewards=FadingLaw()), Sticky()
    run = infex.lab.play(problem, policy, 40)
    assert run.policy is policy
    assert run.instance is problem
    assert policy.counts is None


def test_what_is_known_to_be_immutable_is_not_copied() -> None:
    def skewed(rng: np.random.Generator, means: Any) -> Any:
        return means + rng.standard_exponential(means.shape) - 1.0

    class Uncopied(Sticky):
        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("copied")

    problem = LinearInstance(PLAIN.arms, PLAIN.theta, rewards=skewed)
    with pytest.raises(CannotCopy, match="copied"):
        infex.lab.play(problem, Uncopied(), 5)
    assert infex.lab.play(problem, Infex(BROAD, every(5)), 50).instance is problem


def test_what_cannot_be_copied_is_refused_by_its_name() -> None:
    class Locked(Walk):
        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()

    why = r"policy Holding cannot be copied: .*'generator' object.* begins with a copy .*__deepcopy__"
    with pytest.raises(CannotCopy, match=why):
        infex.lab.play(PLAIN, Holding(), 10)
    with pytest.raises(CannotCopy, match=r"policy Infex cannot be copied: .*'generator'"):
        infex.lab.play_many(PLAIN, Infex(Holding(), every(2)), 10, range(2))
    with pytest.raises(CannotCopy, match=r"problem Locked cannot be copied: .*lock"):
        infex.lab.play(Locked(), Greedy(), 10)
    with pytest.raises(CannotCopy, match=r"estimator Weighted cannot be copied: .*'generator'"):
        infex.lab.play(PLAIN, Greedy(), 10, estimator=Weighted(weight=Holding()))


def test_rounds_that_the_contract_plays_begin_with_a_copy_too() -> None:
    policy = Sticky()
    runs = [
        infex.testing.play(
            policy, PLAIN.arms, lambda t, arm: 0.1 * arm, lambda t: np.random.default_rng(t), 30
        )
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    infex.testing.agree(policy, Sticky(), instances=[PLAIN], horizon=40)
    assert infex.lab.play(PLAIN, Infex(policy, always()), 30).explored == 30
