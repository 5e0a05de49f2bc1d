"""Problems to try policies on, and runs of a policy on one of them, round by round."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, columns_of
from infex.bandit.agent import Agent, play_round
from infex.lab.environments import gaussian
from infex.lab.simulation.copies import own_copies
from infex.models.base import Estimator
from infex.models.state import ModelState
from infex.policies import Choice, Policy
from infex.policies.base import policy_info
from infex.streams import stream

Reward = Callable[[int, int], float]
Draws = Callable[[int], np.random.Generator]


class Problem(NamedTuple):
    """Arms, the true parameter, and rewards of +1 or -1 with mean x'theta that every policy shares.

    `arms` is (K, d), and `reward(t, arm)` the reward of an arm in round t.
    """

    arms: Floats
    theta: Floats
    reward: Callable[[int, int], float]


def problem(seed: int, *, arms: int, dim: int, horizon: int) -> Problem:
    """A problem as in the paper: Gaussian arms in the unit ball, a parameter on the sphere.

    `seed` is that of all draws, `dim` the number of features, and `horizon` how many rounds have rewards.
    """
    instance = gaussian(dim=dim, arms=arms, seed=stream(seed, "problem"))
    return signed(instance.arms, instance.theta, stream(seed, "rewards").random(horizon))


def signed(arms: Floats, theta: Floats, uniforms: Floats) -> Problem:
    """Rewards +1 where the round's uniform is below (1 + x'theta)/2, else -1."""
    bars = (1.0 + arms @ theta) / 2.0

    def reward(t: int, arm: int) -> float:
        return 1.0 if uniforms[t - 1] < bars[arm] else -1.0

    return Problem(arms, theta, reward)


def odd_arm_sets() -> dict[str, Floats]:
    """Arm sets on which shortcuts go wrong."""
    return {
        "one arm": np.array([[0.6, 0.8]]),
        "one dimension": np.array([[0.5], [-1.0], [1.0]]),
        "duplicates and a zero arm": np.array([[0.6, 0.8], [0.0, 0.0], [0.6, 0.8], [0.8, 0.6]]),
        "zero alone": np.zeros((1, 3)),
        "standard basis": np.eye(4),
        "e1 and 0": np.array([[1.0], [0.0]]),
        "0 and e1": np.array([[0.0], [1.0]]),
    }


def agent_for(
    policy: Policy, arms: Floats, penalty: float = 1.0, estimator: Estimator | None = None
) -> Agent:
    """The policy over the arms, with nothing learnt."""
    return Agent(
        policy, ModelState.empty(columns_of(arms), penalty, policy_info(policy).uses_explored, estimator)
    )


def play(
    policy: Policy,
    arms: Floats,
    reward: Reward,
    draws: Draws,
    horizon: int,
    penalty: float = 1.0,
    estimator: Estimator | None = None,
) -> list[Choice]:
    """The choices of rounds 1 to `horizon`; `reward(t, arm)` and `draws(t)` are what a round meets.

    A copy of `policy` plays over fixed `arms`, (K, d), with the `penalty` of the ridge, or with another
    `estimator`.
    """
    policy, estimator = own_copies(policy=policy, estimator=estimator)
    agent = agent_for(policy, arms, penalty, estimator)
    rounds = range(1, horizon + 1)
    return [play_round(agent, t, draws(t), functools.partial(reward, t))[0] for t in rounds]
