"""Learners that keep something in `self` on a log: every replay begins with a copy as it was given."""

import numpy as np
import pytest

from infex import Infex, every
from infex.errors import CannotCopy
from infex.evaluation import Log, replay, simulate
from tests.stateful import Holding, Sticky, Stiffening, Tiring


def uniform_log(rounds: int = 400) -> Log:
    rng = np.random.default_rng(0)
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    arm = rng.integers(3, size=rounds)
    reward = arms[arm] @ np.array([0.2, 0.4]) + rng.normal(size=rounds)
    return Log(arm=arm, reward=reward, propensity=np.full(rounds, 1 / 3), arms=arms)


def test_a_replay_begins_with_the_policy_as_it_was_given() -> None:
    log = uniform_log()
    policy, estimator = Infex(Sticky(), Tiring(every(2))), Stiffening()
    for _ in range(2):
        found = replay(log, policy, rounds=60, estimator=estimator)
        fresh = replay(log, Infex(Sticky(), Tiring(every(2))), rounds=60, estimator=Stiffening())
        np.testing.assert_array_equal(found.arms, fresh.arms)
        assert found.bandit.theta.tolist() == fresh.bandit.theta.tolist()


def test_every_part_of_a_replay_has_a_learner_of_its_own() -> None:
    log = uniform_log()
    means = [replay(log, Sticky(), rounds=30, parts=parts).parts[0] for parts in (2, 3, 4)]
    policy = Sticky()
    again = [replay(log, policy, rounds=30, parts=parts).parts[0] for parts in (2, 3, 4)]
    assert again == means


def test_simulated_problems_are_played_by_the_policy_as_it_was_given() -> None:
    log, policy = uniform_log(), Sticky()
    one = simulate(log, {"first": policy, "again": policy}, 50, worlds=4)
    assert one.rewards["first"].tolist() == one.rewards["again"].tolist()


def test_what_cannot_be_copied_is_refused() -> None:
    with pytest.raises(CannotCopy, match="the policy Holding cannot be copied"):
        replay(uniform_log(), Holding())
