"""Logged probabilities that cannot be right are noticed, whatever target is judged."""

import numpy as np
import pytest

from infex import evaluation
from infex.evaluation import Log
from infex.policies import Uniform

RATES = np.array([0.6, 0.1, 0.1, 0.1, 0.1])


def played(said: np.ndarray, rounds: int = 2000, seed: int = 0) -> Log:
    rng = np.random.default_rng(seed)
    arm = rng.choice(5, rounds, p=RATES)
    return Log(arm=arm, reward=rng.random(rounds), propensity=said[arm], count=5)


def kinds(log: Log) -> list[str]:
    found = evaluation.evaluate(log, {"flat": Uniform(), "now": evaluation.logged}, rewards=(0, 1))
    assert [each.kind for each in evaluation.check(log).findings] == [each.kind for each in found.findings]
    return [each.kind for each in found.findings if each.warns]


def test_one_is_told_of_an_arm_that_was_played_more_often_than_probabilities_allow() -> None:
    """Weights of a uniform target are all 1 here, so that their mean tells nothing."""
    log = played(np.full(5, 0.2))
    assert kinds(log) == ["propensities"]
    words = str(evaluation.check(log))
    assert "arm 0 was played 3" in words
    assert "times as often as the logged propensities allow" in words


@pytest.mark.parametrize("seed", range(50))
def test_right_probabilities_are_not_doubted(seed: int) -> None:
    assert kinds(played(RATES, 300, seed)) == []


def test_an_arm_that_could_not_always_be_played_is_no_reason_to_doubt() -> None:
    rng = np.random.default_rng(1)
    fixed = rng.random(2000) < 0.5  # in half of the rounds arm 0 was sure
    drawn = rng.choice(5, 2000, p=RATES)
    arm = np.where(fixed, 0, drawn)
    log = Log(arm=arm, reward=rng.random(2000), propensity=np.where(fixed, 1.0, RATES[arm]), count=5)
    assert "probabilities" not in [each.kind for each in evaluation.check(log).findings]
