"""A plan says when logged rewards lie beyond what its bound allows."""

import warnings

import numpy as np
import pytest

from infex.errors import LargeReward
from infex.features import disjoint
from infex.lab.planner.beliefs import belief, belief_of_log, least_length
from infex.logs import Log
from infex.logs.arm_features import LogSums, sums_over

THETA = np.array([3.0, -2.0, 1.0])


def sums_of(rounds: int, noise: float, seed: int) -> LogSums:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rounds, 3)) * [1.0, 0.5, 0.02]  # little is known of the last
    return sums_over(rows, rows @ THETA + noise * rng.normal(size=rounds), np.ones(rounds, dtype=bool))


@pytest.mark.parametrize("seed", range(5))
def test_the_least_length_is_that_of_the_shortest_parameter_that_fits(seed: int) -> None:
    sums, noise = sums_of(60, 0.7, seed), 0.7
    centre, far = np.linalg.solve(sums.gram, sums.moment), noise * (np.sqrt(3.0) + 4.0)
    root = np.linalg.cholesky(np.linalg.inv(sums.gram))
    rng = np.random.default_rng(seed)
    step, shortest = np.zeros(3), np.inf
    for size in np.repeat(2.0 ** -np.arange(24), 200):  # a search that only knows which theta are allowed
        tried = step + size * rng.normal(size=3)
        tried /= max(1.0, np.linalg.norm(tried))
        length = float(np.linalg.norm(centre + far * root @ tried))
        step, shortest = (tried, length) if length < shortest else (step, shortest)
    assert least_length(sums, noise) == pytest.approx(shortest, rel=1e-3)


def test_rewards_that_may_be_noise_alone_need_no_parameter() -> None:
    assert least_length(sums_of(60, 0.7, 0), 1000.0) == 0.0
    nothing = LogSums(np.zeros((3, 3)), np.zeros(3), 0.0, 0)
    assert least_length(nothing, 1.0) == 0.0


def fixed(scale: float) -> Log:
    rng = np.random.default_rng(1)
    arms = rng.normal(size=(4, 3))
    arm = rng.integers(4, size=300)
    return Log(arm=arm, reward=scale * (arms[arm] @ THETA + 0.3 * rng.normal(size=300)), arms=arms)


def believe(log: Log, bound: float) -> None:
    belief(log.arms, None, None, None, None, bound, (log.arm, log.reward))


def believe_contexts(log: Log, bound: float) -> None:
    belief_of_log(log, None, bound)


@pytest.mark.parametrize("kind", ["arms", "contexts"])
def test_one_is_told_of_rewards_beyond_the_bound_and_of_one_that_would_do(kind: str) -> None:
    """Noise that is estimated fits any rewards: only the length of the parameter tells."""
    log, believes = fixed(1.0), believe
    if kind == "contexts":
        rng = np.random.default_rng(2)
        context, arm = rng.normal(size=(900, 3)), rng.integers(2, size=900)
        reward = context @ THETA * np.where(arm == 0, 1.0, 0.1) + 0.3 * rng.normal(size=900)
        log = Log(arm=arm, reward=reward, context=context, features=disjoint(2, 3, longest=6.0))
        believes = believe_contexts
    with pytest.warns(LargeReward, match=r"bound 2 .*they need a bound of at least 3\.[5-7]"):
        believes(log, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        believes(log, 3.8)
