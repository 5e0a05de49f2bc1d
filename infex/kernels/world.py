"""What loops are told of a problem, and what they leave of a round: for problems of every kind."""

from typing import NamedTuple

from infex.arrays import Bools, Floats, Integers
from infex.kernels import regret
from infex.kernels.compiling import compiled, inlined, larger
from infex.kernels.fixed_runs import Outcome
from infex.kernels.layout import TIE
from infex.kernels.outlook import Outlook
from infex.kernels.rewards import Law


class BadReward(Exception):
    """A law gave something that is no finite number."""


class World(NamedTuple):
    """What is true in some rounds: the law, each arm's noise, and means that hold until `ends`, (rows, K)."""

    law: Law
    noise: Floats
    ends: Integers
    means: Floats


class Post(NamedTuple):
    """Rewards on their way: rounds in the order of arrival, the round after which each is there, what it is.

    `order` is empty where every reward comes at once. `at[0]` is how many have arrived. `ahead` is what
    exploring rounds read of those that have not.
    """

    order: Integers
    due: Integers
    at: Integers
    arms: Integers
    rewards: Floats
    explored: Bools
    features: Floats
    ahead: Outlook


@inlined
def gaps_from(means: Floats, out: Floats) -> None:
    """What each mean falls short of the best, nothing within rounding."""
    top = float(means[0])
    for k in range(means.size):
        top = larger(top, means[k])
    slack = TIE * (1.0 + abs(top))
    for k in range(means.size):
        out[k] = 0.0 if top - means[k] <= slack else top - means[k]


@compiled
def enter(outcome: Outcome, t: int, arm: int, explores: bool, gap: float, reward: float) -> None:
    """Enters one round."""
    checkpoints, curve, totals, counts, arms, rewards, losses = outcome
    counts[arm] += 1
    regret.add(totals, explores, gap, 1.0)
    if arms.size > 0:
        arms[t - 1] = arm
        rewards[t - 1] = reward
        losses[t - 1] = gap
    mark = regret.mark_of(checkpoints, t)
    if checkpoints[mark] == t:
        curve[mark] = regret.regret(totals)
