"""One run of a policy, round by round, with the library's own statistics."""

from collections.abc import Callable

import numpy as np

from infex.arrays import Floats, columns_of
from infex.bandit.agent import Agent, play_round
from infex.lab.simulation.copies import own_copies
from infex.models.base import Estimator
from infex.models.state import ModelState
from infex.policies import Choice, Policy
from infex.policies.base import policy_info

Reward = Callable[[int, int], float]
Draws = Callable[[int], np.random.Generator]


def player_for(
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
    agent = player_for(policy, arms, penalty, estimator)
    choices = []
    for t in range(1, horizon + 1):
        choice, _ = play_round(
            agent,
            t,
            draws(t),
            lambda arm, t=t: reward(t, arm),  # type: ignore[misc]
        )
        choices.append(choice)
    return choices
