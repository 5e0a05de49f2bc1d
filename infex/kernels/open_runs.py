"""The compiled loop over fixed arms whose means move, whose rewards have any law, or come late.

It goes round by round; `fixed_runs` is quicker where none of this is so.
"""

import math

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.kernels import ARM, regret
from infex.kernels.bases import Base, NoSuchArm, base_arm, greedy_arm
from infex.kernels.compiling import compiled, lend, woven
from infex.kernels.fixed_runs import Outcome, Rule, State
from infex.kernels.outlook import await_arm, look_ahead_on, looks_ahead
from infex.kernels.rewards import rewarded
from infex.kernels.view import viewed
from infex.kernels.world import BadReward, Post, World, enter, gaps_from


@woven
def take_in(state: State, arm: int, reward: float) -> None:
    """Learns the reward of one of the fixed arms."""
    truth, solved, columns, board, vectors, run, penalty = state
    if arm != run[ARM]:
        kernels.learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
    elif kernels.pull(run, reward):
        kernels.close_run(truth, penalty, solved, columns, board, vectors, run)


@compiled
def play_open_rounds(
    t: int,
    end: int,
    rule: Rule,
    base: Base,
    settings: Floats,
    state: State,
    apart: State,
    world: World,
    post: Post,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> int:
    """Plays rounds t to end; 0, or the fault of a kernel that raised."""
    state, apart, world, post, outcome = lend(state), lend(apart), lend(world), lend(post), lend(outcome)
    exploring, always, own, random_ties = rule
    truth, solved, columns, board, vectors, run, penalty = state
    nothing, no_counts = np.empty(0), np.full((2, columns.shape[1]), np.nan)  # as nobody reads them
    seen = viewed(columns, settings, penalty, board, run, solved, vectors, no_counts, nothing, truth)
    if own:
        own_truth, own_solved, own_columns, own_board, own_vectors, own_run, _ = apart
        seen = viewed(
            own_columns, settings, penalty, own_board, own_run, own_solved, own_vectors, no_counts, nothing,
            own_truth,
        )  # fmt: skip
    ahead = post.ahead
    narrowed = viewed(
        columns, settings, penalty, ahead.board, ahead.run, ahead.solved, ahead.vectors, no_counts, nothing,
        seen.truth,
    )  # fmt: skip
    scores, gaps = seen.scores[2], np.empty(columns.shape[1])
    row, turn, own_clock = -1, 0, int(outcome.tally[regret.EXPLORED])
    for now in range(t, end + 1):
        if row < 0 or now > world.ends[row]:
            row += 1
            gaps_from(world.means[row], gaps)
        fault = 0
        explores = always or (turn < exploring.size and exploring[turn] == now)
        if explores:
            turn += 1
            read = seen
            if looks_ahead(ahead, base, own):
                look_ahead_on(ahead, base, own, seen.solved, columns, seen.board, seen.vectors, seen.run)
                read = narrowed
            arm, explores, fault = base_arm(base, own_clock + turn if own else now, read, rng)
            explores = explores or not always
        else:
            arm = greedy_arm(board, run, random_ties, rng, scores)
        if not 0 <= arm < gaps.size:
            if fault != 0:
                return fault
            raise NoSuchArm(arm, now)
        reward, fault = rewarded(world.law, world.means[row, arm], world.noise[arm], now, reward_rng)
        if fault != 0:
            return fault
        if not math.isfinite(reward):
            raise BadReward(reward, now)
        enter(outcome, now, arm, explores, gaps[arm], reward)
        if post.order.size == 0:
            take_in(state, arm, reward)
            if explores and own:
                take_in(apart, arm, reward)
        else:
            post.arms[now - 1], post.rewards[now - 1], post.explored[now - 1] = arm, reward, explores
            await_arm(ahead, arm, explores, own, 1)
            while post.at[0] < post.order.size and post.due[post.at[0]] <= now:
                past = post.order[post.at[0]]
                await_arm(ahead, post.arms[past], post.explored[past], own, -1)
                take_in(state, post.arms[past], post.rewards[past])
                if post.explored[past] and own:
                    take_in(apart, post.arms[past], post.rewards[past])
                post.at[0] += 1
    return 0
