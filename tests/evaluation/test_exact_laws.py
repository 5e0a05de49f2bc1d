"""Logs of bases that know their law are evaluated by it, with nothing softened: intervals cover."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infex
from infex import Policy, evaluation
from infex.arrays import Floats, Integers
from infex.logs import Log
from infex.policies import EnsembleSampling, LinIDS, LinMED, RandLinUCB, SpannerIGW

ARMS = np.array([[0.9, 0.1], [0.3, 0.8], [-0.4, 0.6]])
THETA = np.array([0.4, 0.3])
PERIOD, LEAST = 3, 0.1  # rounds of a block; the least probability of an arm that a target plays
BASES: dict[str, Policy] = {
    "LinMED": LinMED(greedy_share=0.4, scale=0.5),
    "RandLinUCB": RandLinUCB(spread=1.0),
    "LinIDS": LinIDS(scale=0.3),
    "EnsembleSampling": EnsembleSampling(members=10),
    "SpannerIGW": SpannerIGW(rate=20),
}


def written(policy: Policy, rounds: int, seed: int, path: Path) -> Log:
    """The log of a bandit that learns from rewards of +1 and -1; two rounds of it go before the log."""
    rng, bandit = np.random.default_rng(seed), infex.Bandit(ARMS, policy, seed=seed)
    for t in range(rounds + PERIOD):
        if t == PERIOD:  # the ensemble's first law is not known
            bandit.log_to(path)
        decision = bandit.ask()
        mean = ARMS[decision.arm] @ THETA
        bandit.tell(decision, 1.0 if rng.random() < (1 + mean) / 2 else -1.0)
    bandit.log_to(None)
    return evaluation.read(path)


def rarest(law: Floats) -> Integers:
    """The arm of the least probability that is not nearly 0, by the law of each round, (n, K)."""
    found: Integers = np.argmin(np.where(law < LEAST, np.inf, law), axis=1)
    return found


def standardised(log: Log, law: Floats, rows: Any) -> Floats:
    """How much more often each arm was played in some rounds than its law says, and the variance of that."""
    played = np.eye(len(ARMS))[log.arm[rows]]
    return np.array([np.sum(played - law[rows], axis=0), np.sum(law[rows] * (1 - law[rows]), axis=0)])


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["alone", "drawn"])
@pytest.mark.parametrize("name", sorted(BASES))
def test_intervals_cover_the_value_of_another_target_by_the_law_in_the_log(
    name: str, schedule: str, tmp_path: Path
) -> None:
    """The target plays the arm that the base is least likely to play, in each round or in each drawn block.

    Under the drawn schedule the base has data of its own: its law is the same until the block explores.
    """
    policy = BASES[name]
    if schedule == "drawn":
        policy = infex.Infex(policy, infex.jittered(PERIOD, seed=5), data="own")
    logs, rounds = 120, 150 if schedule == "alone" else 150 * PERIOD
    held, errors, counts = 0, list[float](), np.zeros((2, len(ARMS)))
    for seed in range(logs):
        log = written(policy, rounds, seed, tmp_path / f"{seed}.log")
        law = log.base_propensities
        assert law is not None
        first = law if schedule == "alone" else np.repeat(law[log.explored], PERIOD, axis=0)
        np.testing.assert_allclose(first.sum(axis=1), 1.0)
        target = rarest(first)
        found = evaluation.evaluate(log, {"rarest": target}, estimator="dr", rewards=(-1, 1))["rarest"]
        truth = float(np.mean(ARMS[target] @ THETA))
        held += found.low <= truth <= found.high
        errors.append(found.value - truth)
        counts += standardised(log, first, log.explored)
    assert held >= 105  # of 120: 114 are expected, and fewer than 105 have a chance of 1 in 1,000
    assert abs(np.mean(errors)) <= 4 * np.std(errors, ddof=1) / np.sqrt(logs)
    drawn = counts[1] > 1.0
    assert np.all(np.abs(counts[0][drawn]) <= 4 * np.sqrt(counts[1][drawn]))
