"""The compiled loop of forced sampling: sums alone are kept, and solved where they are read."""

import numpy as np

from infex import kernels
from infex.arrays import Bools, Floats
from infex.kernels.compiling import compiled, inlined
from infex.kernels.fixed_runs import Outcome, Rewarding
from infex.kernels.layout import TIE
from infex.kernels.least_squares import least_squares
from infex.kernels.regret import close_stretch, note, regret
from infex.kernels.rewards import draw_of, reward_of

RULED_OUT = -1e150


@inlined
def keep_from(top: float, keep: float) -> float:
    """The estimate from forced rounds from which on an arm is kept: within keep/2 of the best, or a tie."""
    return top - keep / 2.0 - TIE * (1.0 + abs(top))


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
    """Plays as many rounds from t on as `forced` has entries."""
    law, noise, means, gaps = problem
    checkpoints, curve, tally, counts, arms, rewards, _ = outcome
    dim, count = columns.shape
    theta, x, scores = np.empty(dim), np.empty(dim), np.empty(count)
    kept, sums, stale = np.empty(count), np.empty((dim + 1, dim)), True
    mark = np.searchsorted(checkpoints, t)
    for place in range(forced.size):
        if forced[place]:
            arm = int(rng.integers(0, count))
            stale = True
        else:
            if stale:
                keep_arms(columns, own_truth, keep, sums, theta, kept)
                stale = False
            solve_sums(truth, sums, theta)
            kernels.product(columns, theta, scores)
            for k in range(count):
                scores[k] = scores[k] if kept[k] > 0.0 else RULED_OUT
            arm = kernels.best(scores)
        reward = reward_of(law, means[arm], noise, draw_of(law, reward_rng))
        for i in range(dim):
            x[i] = columns[i, arm]
        kernels.add_pulls(truth, penalty, x, 1.0, reward)
        if forced[place]:
            kernels.add_pulls(own_truth, penalty, x, 1.0, reward)
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


@compiled
def solve_sums(truth: Floats, sums: Floats, theta: Floats) -> None:
    """Least squares of a truth, with its carry."""
    dim = theta.size
    for i in range(dim + 1):
        for j in range(dim):
            sums[i, j] = truth[0, i, j] + truth[1, i, j]
    least_squares(sums[:dim], sums[dim], theta)


@compiled
def keep_arms(
    columns: Floats, own_truth: Floats, keep: float, sums: Floats, theta: Floats, kept: Floats
) -> None:
    """1 for each arm that the estimate from forced rounds keeps, as `policies.forced` has it."""
    solve_sums(own_truth, sums, theta)
    kernels.product(columns, theta, kept)
    limit = keep_from(np.max(kept), keep)
    for k in range(kept.size):
        kept[k] = 1.0 if kept[k] >= limit else 0.0
