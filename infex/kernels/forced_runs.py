"""The compiled loop of forced sampling: two ridges without a board, their sums solved where they are read.

Least squares of arms that differ much in length hangs on the last bits of sums. So rewards are added up
by runs, just as `RidgeStatistics` adds them.
"""

import numpy as np

from infex import kernels
from infex.arrays import Bools, Floats, Integers
from infex.kernels.bases import any_arm
from infex.kernels.compiling import compiled, copy_into, inlined, inner, within
from infex.kernels.layout import RUN, SUM, N
from infex.kernels.least_squares import least_squares
from infex.kernels.reading import tie_bar
from infex.kernels.regret import close_stretch, mark_of, note, regret
from infex.kernels.rewards import draw_of, reward_of
from infex.kernels.run_arrays import Outcome, Rewarding

RULED_OUT = -1e150


@inlined
def keep_from(top: float, keep: float) -> float:
    """The estimate from forced rounds from which on an arm is kept: within keep/2 of the best, or a tie."""
    return tie_bar(top) - keep / 2.0


@compiled
def play_forced_rounds(
    t: int,
    forced: Bools,
    keep: float,
    columns: Floats,
    truth: Floats,
    own_truth: Floats,
    penalty: float,
    problem: Rewarding,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> None:
    """Plays as many rounds from t on as `forced` has entries.

    Up to the first round that is not forced, both ridges are one.
    """
    law, noise, means, gaps = problem
    checkpoints, curve, tally, counts, arms, rewards, _ = outcome
    dim, count = columns.shape
    theta, scores, board = np.empty(dim), np.empty(count), np.empty((4, 0))
    sums, stale, alike = np.empty((2, dim + 1, dim)), True, t == 1
    kept, places, many = np.empty((dim, count)), np.empty(count, dtype=np.int64), 0
    solved, vectors, run = np.zeros((dim + 1, dim)), np.zeros((4, dim)), np.zeros(RUN)
    own_solved, own_vectors, own_run = np.zeros((dim + 1, dim)), np.zeros((4, dim)), np.zeros(RUN)
    kernels.refresh(truth, penalty, solved, columns, board, run)
    kernels.refresh(own_truth, penalty, own_solved, columns, board, own_run)
    mark = mark_of(checkpoints, t)
    for place in range(forced.size):
        if forced[place]:
            arm = any_arm(count, rng)
            stale = True
        else:
            if alike:
                copy_into(own_truth, truth)
                copy_into(own_solved, solved)
                copy_into(own_vectors, vectors)
                copy_into(own_run, run)
                alike = False
            if stale:
                solve_sums(own_truth, penalty, own_vectors, own_run, sums, theta)
                many, stale = keep_arms(columns, theta, keep, scores, kept, places), False
            solve_sums(truth, penalty, vectors, run, sums, theta)
            kernels.product(kept, theta, scores[:many])
            arm = places[max(kernels.best(scores[:many]), 0)]
        reward = reward_of(law, means[arm], noise, draw_of(law, reward_rng))
        kernels.learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
        if forced[place] and not alike:
            kernels.learn(own_truth, penalty, own_solved, columns, board, own_vectors, own_run, arm, reward)
        if arms.size > 0:
            arms[t - 1] = arm
            rewards[t - 1] = reward
        note(tally, counts, gaps, arm, bool(forced[place]), 1.0)
        if t == checkpoints[mark]:
            close_stretch(tally, counts, gaps)
            curve[mark] = regret(tally)
            mark += 1
        t += 1
    close_stretch(tally, counts, gaps)
    kernels.close_run(truth, penalty, solved, columns, board, vectors, run)
    kernels.close_run(own_truth, penalty, own_solved, columns, board, own_vectors, own_run)
    if alike:
        copy_into(own_truth, truth)


@inner
def solve_sums(
    truth: Floats, penalty: float, vectors: Floats, run: Floats, sums: Floats, theta: Floats
) -> None:
    """Least squares of a truth with its carry, and the run under way in it."""
    copy_into(sums, truth)
    kernels.add_pulls(sums, penalty, vectors[0], run[N], run[SUM])
    solve_whole(sums, sums[0], theta)


@within
def solve_whole(truth: Floats, sums: Floats, theta: Floats) -> None:
    """Least squares of a truth with its carry; `sums`, (d + 1, d), may be its first part."""
    dim = theta.size
    for i in range(dim + 1):
        for j in range(dim):
            sums[i, j] = truth[0, i, j] + truth[1, i, j]
    least_squares(sums[:dim], sums[dim], theta)


@inner
def keep_arms(
    columns: Floats, theta: Floats, keep: float, scores: Floats, kept: Floats, places: Integers
) -> int:
    """How many arms the estimate from forced rounds keeps; their columns in `kept`, their `places` among all.

    As `policies.forced_sampling` has it.
    """
    kernels.product(columns, theta, scores)
    limit, many = keep_from(np.max(scores), keep), 0
    places[0] = 0  # the arm where estimates overflow, and none is kept
    for k in range(scores.size):
        if scores[k] >= limit:
            places[many] = k
            many += 1
    for i in range(theta.size):
        for n in range(many):
            kept[i, n] = columns[i, places[n]]
    return many
