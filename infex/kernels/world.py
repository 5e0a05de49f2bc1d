"""What loops are told of a problem, and what they leave of a round: for problems of every kind."""

from typing import NamedTuple

from infex.arrays import Bools, Floats, Integers
from infex.kernels import regret
from infex.kernels.compiling import compiled, inlined, larger, woven
from infex.kernels.layout import TIE
from infex.kernels.outlook import Outlook, await_arm, await_row
from infex.kernels.reading import to_chances
from infex.kernels.rewards import Law
from infex.kernels.run_arrays import Outcome


class BadReward(Exception):
    """A law gave something that is no finite number."""


class World(NamedTuple):
    """What is true in some rounds: the law, each arm's noise, and means that hold until `ends`, (rows, K).

    `columns` are the arms where they are drawn anew, (rounds, d, K), with a row of means for each round; else
    (0, d, K). Where means stay for the whole run they are `steady`, and equal rounds are counted together.
    """

    law: Law
    noise: Floats
    ends: Integers
    means: Floats
    columns: Floats
    steady: bool


class Post(NamedTuple):
    """Rewards on their way: rounds in the order of arrival, the round after which each is there, what it is.

    `order` is empty where every reward comes at once. `at[0]` is how many have arrived. `ahead` is what
    exploring rounds read of those that have not, each with its weight there, where these are not all 1.
    """

    order: Integers
    due: Integers
    at: Integers
    arms: Integers
    rewards: Floats
    explored: Bools
    features: Floats
    weights: Floats
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


@woven
def pending(post: Post, place: int, x: Floats, apart: bool, times: int) -> None:
    """A decision is pending from now on (1), or no more (-1)."""
    arm, explored = post.arms[place], post.explored[place]
    if post.weights.size > 0:
        await_row(post.ahead, x, post.weights[place], explored, apart, times)
    elif post.features.shape[1] > 0:
        await_row(post.ahead, x, 1.0, explored, apart, times)
    else:
        await_arm(post.ahead, arm, explored, apart, times)


@woven
def pend(
    post: Post, t: int, arm: int, x: Floats, reward: float, explores: bool, apart: bool, weight: float
) -> None:
    """The reward of round t is on its way."""
    post.arms[t - 1], post.rewards[t - 1], post.explored[t - 1] = arm, reward, explores
    for i in range(post.features.shape[1]):
        post.features[t - 1, i] = x[i]
    if post.weights.size > 0:
        post.weights[t - 1] = weight
    pending(post, t - 1, x, apart, 1)


@woven
def information(linked: bool, score: float, room: Floats) -> float:
    """How much a reward will tell of theta along its x: a chance p of 1 as much as p(1 - p)."""
    if not linked:
        return 1.0
    room[0] = score
    to_chances(room)
    return float(room[0] * (1.0 - room[0]))
