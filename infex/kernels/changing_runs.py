"""The compiled loop over arms that are drawn anew in every round."""

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.kernels import regret
from infex.kernels.bases import READS_SCORES, READS_WIDTHS, Base, NoSuchArm, base_arm, pick
from infex.kernels.compiling import compiled
from infex.kernels.drawing import gaps_of
from infex.kernels.fixed_runs import Outcome, Rule, State
from infex.kernels.rewards import draw_of, reward_of
from infex.kernels.view import View, viewed


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
    mark = np.searchsorted(checkpoints, t)
    if checkpoints[mark] == t:
        curve[mark] = regret.regret(totals)


@compiled
def play_block(
    t: int,
    block: Floats,
    rule: Rule,
    base: Base,
    settings: Floats,
    state: State,
    apart: State,
    law: int,
    noise: float,
    theta: Floats,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> int:
    """Plays as many rounds from t on as `block` has arms for; 0, or the fault of a kernel that raised.

    The widths of all arms come from one product M X in `kernels.direct`, and only where the base
    reads them; greedy rounds need the scores alone.
    """
    exploring, always, own, random_ties = rule
    truth, solved, empty, no_board, vectors, run, penalty = state
    own_truth, own_solved, _, _, own_vectors, own_run, _ = apart
    count, turn, own_clock = block.shape[2], 0, int(outcome.tally[regret.EXPLORED])
    board, gaps, x = np.zeros((4, count)), np.empty(count), np.empty(block.shape[1])
    seen = viewed(block[0], settings, penalty, board, run, solved, vectors)
    scores, places, sample = seen.scores, seen.places, seen.sample
    for b in range(block.shape[0]):
        columns, fault = block[b], 0
        explores = always or (turn < exploring.size and exploring[turn] == t + b)
        if explores:
            turn += 1
            if own:
                clock, factor, vector, here = own_clock + turn, own_solved, own_vectors, own_run
            else:
                clock, factor, vector, here = t + b, solved, vectors, run
            score(base.reads, factor, columns, board)
            seen = View(columns, settings, penalty, board, here, factor, vector, scores, places, sample)
            arm, explores, fault = base_arm(base, clock, seen, rng)
            explores = explores or not always
        else:
            kernels.product(columns, solved[block.shape[1]], board[0])
            arm = pick(board[0], random_ties, rng)
        if not 0 <= arm < count:
            if fault != 0:
                return fault
            raise NoSuchArm(arm, t + b)
        top = gaps_of(columns, theta, gaps)
        reward = reward_of(law, top - gaps[arm], noise, draw_of(law, reward_rng))
        for i in range(x.size):
            x[i] = columns[i, arm]
        kernels.absorb(truth, penalty, solved, empty, no_board, vectors, run, x, reward)
        if explores and own:
            kernels.absorb(own_truth, penalty, own_solved, empty, no_board, own_vectors, own_run, x, reward)
        enter(outcome, t + b, arm, explores, gaps[arm], reward)
    return 0


@compiled
def score(reads: int, solved: Floats, columns: Floats, board: Floats) -> None:
    """As much of the board as a base reads."""
    if reads == READS_WIDTHS:
        kernels.direct(solved, columns, board)
    elif reads == READS_SCORES:
        kernels.product(columns, solved[columns.shape[0]], board[0])
