"""One run of a policy, round by round, with the library's own statistics."""

from collections.abc import Callable

import numpy as np

from infex.arrays import Floats, columns_of
from infex.linear import Memory
from infex.linear.statistics import Estimator
from infex.policies.protocol import Choice, Policy, learns, noted, teach, uses_explored

Reward = Callable[[int, int], float]
Draws = Callable[[int], np.random.Generator]


def memory_for(
    policy: Policy, arms: Floats, penalty: float = 1.0, estimator: Estimator | None = None
) -> Memory:
    """An empty memory over the arms, as the policy needs it."""
    return Memory.empty(columns_of(arms), penalty, uses_explored(policy), estimator)


def play(
    policy: Policy,
    arms: Floats,
    reward: Reward,
    draws: Draws,
    horizon: int,
    penalty: float = 1.0,
    estimator: Estimator | None = None,
) -> list[Choice]:
    """The choices of rounds 1 to `horizon`; `reward(t, arm)` and `draws(t)` are what a round meets."""
    memory = memory_for(policy, arms, penalty, estimator)
    choices = []
    for t in range(1, horizon + 1):
        choice = policy.choose(t, memory.evidence(), draws(t))
        gained = reward(t, choice.arm)
        if learns(policy):
            teach(policy, choice.arm, arms[choice.arm], gained, choice.explored)
        memory.learn(choice.arm, gained, choice.explored)
        memory.note = noted(choice, memory.note)
        choices.append(choice)
    return choices
