"""The compiled loop over arms that are drawn anew in every round."""

import math

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.kernels import regret
from infex.kernels.bases import READS_SCORES, READS_WIDTHS, Base, NoSuchArm, base_arm, pick
from infex.kernels.compiling import compiled, lend, woven
from infex.kernels.fixed_runs import Outcome, Rule, State
from infex.kernels.outlook import await_row, look_ahead, looks_ahead
from infex.kernels.rewards import rewarded
from infex.kernels.view import View, viewed
from infex.kernels.world import BadReward, Post, World, enter, gaps_from


@compiled
def play_block(
    t: int,
    block: Floats,
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
    """Plays as many rounds from t on as `block` has arms for; 0, or the fault of a kernel that raised.

    The widths of all arms come from one product M X in `kernels.direct`, and only where the base
    reads them; greedy rounds need the scores alone. There is a row of means for each round.
    """
    state, apart, world, post, outcome = lend(state), lend(apart), lend(world), lend(post), lend(outcome)
    block = lend(block)
    exploring, always, own, random_ties = rule
    truth, solved, _, _, vectors, run, penalty = state
    own_truth, own_solved, _, _, own_vectors, own_run, _ = apart
    count, turn, own_clock = block.shape[2], 0, int(outcome.tally[regret.EXPLORED])
    board, gaps, x = np.zeros((4, count)), np.empty(count), np.empty(block.shape[1])
    nothing, no_counts = np.empty(0), np.empty((2, 0))
    seen = viewed(block[0], settings, penalty, board, run, solved, vectors, no_counts, nothing, truth)
    room, ahead = (seen.scores, seen.places, seen.sample), post.ahead
    for b in range(block.shape[0]):
        columns, now, fault = block[b], t + b, 0
        explores = always or (turn < exploring.size and exploring[turn] == now)
        if explores:
            turn += 1
            if own:
                clock, factor, vector, here = own_clock + turn, own_solved, own_vectors, own_run
                total = own_truth
            else:
                clock, factor, vector, here, total = now, solved, vectors, run, truth
            if looks_ahead(ahead, base, own):
                look_ahead(ahead, own, factor, vector, here)
                factor, vector, here = ahead.solved, ahead.vectors, ahead.run
            score(base.reads, factor, columns, board)
            seen = View(
                columns, settings, penalty, board, here, factor, vector, no_counts, nothing, total, *room
            )
            arm, explores, fault = base_arm(base, clock, seen, rng)
            explores = explores or not always
        else:
            kernels.product(columns, solved[block.shape[1]], board[0])
            arm = pick(board[0], random_ties, rng)
        if not 0 <= arm < count:
            if fault != 0:
                return fault
            raise NoSuchArm(arm, now)
        reward, fault = rewarded(world.law, world.means[b, arm], world.noise[arm], now, reward_rng)
        if fault != 0:
            return fault
        if not math.isfinite(reward):
            raise BadReward(reward, now)
        gaps_from(world.means[b], gaps)
        enter(outcome, now, arm, explores, gaps[arm], reward)
        if post.order.size == 0:
            for i in range(x.size):
                x[i] = columns[i, arm]
            take_in(state, x, reward)
            if explores and own:
                take_in(apart, x, reward)
        else:
            post.rewards[now - 1], post.explored[now - 1] = reward, explores
            for i in range(x.size):
                post.features[now - 1, i] = columns[i, arm]
            await_row(ahead, post.features[now - 1], explores, own, 1)
            while post.at[0] < post.order.size and post.due[post.at[0]] <= now:
                past = post.order[post.at[0]]
                await_row(ahead, post.features[past], post.explored[past], own, -1)
                take_in(state, post.features[past], post.rewards[past])
                if post.explored[past] and own:
                    take_in(apart, post.features[past], post.rewards[past])
                post.at[0] += 1
    return 0


@woven
def take_in(state: State, x: Floats, reward: float) -> None:
    """Learns the reward of an x."""
    truth, solved, empty, no_board, vectors, run, penalty = state
    kernels.absorb(truth, penalty, solved, empty, no_board, vectors, run, x, reward)


@compiled
def score(reads: int, solved: Floats, columns: Floats, board: Floats) -> None:
    """As much of the board as a base reads."""
    if reads == READS_WIDTHS:
        kernels.direct(solved, columns, board)
    elif reads == READS_SCORES:
        kernels.product(columns, solved[columns.shape[0]], board[0])
