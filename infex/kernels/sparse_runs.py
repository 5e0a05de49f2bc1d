"""The compiled loop of LASSO bandits: a ridge without a board, and LASSO of its sums where it is read."""

import math
from typing import NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Bools, Floats
from infex.kernels.bases import any_arm, pick
from infex.kernels.compiling import compiled, copy_into, inner
from infex.kernels.fitters import lasso
from infex.kernels.forced_runs import RULED_OUT, keep_from, solve_whole
from infex.kernels.regret import close_stretch, mark_of, note, regret
from infex.kernels.rewards import draw_of, reward_of
from infex.kernels.run_arrays import Outcome, Rewarding, State


class Sparse(NamedTuple):
    """The numbers of a LASSO bandit, see `policies.form.LassoForm`."""

    any_forced: bool
    keep: float
    first: float
    later: float
    of_n: float
    of_d: float
    random_ties: bool


@compiled
def fading_strength(scale: float, of_n: float, of_d: float, told: int, dim: int) -> float:
    """scale sqrt((of_n log n + of_d log d)/n), the strength after n rewards."""
    n = max(told, 1)
    return scale * math.sqrt((of_n * math.log(n) + of_d * math.log(dim)) / n)


@inner
def sparse_scores(
    columns: Floats, truth: Floats, told: int, strength: float, sums: Floats, theta: Floats, out: Floats
) -> None:
    """Every arm's score by LASSO, or by least squares if the strength is 0."""
    if strength == 0.0:
        solve_whole(truth, sums, theta)
    else:
        theta[:] = 0.0
        lasso(truth, float(told), strength, theta)
    kernels.product(columns, theta, out)


@inner
def take_all(truth: Floats, penalty: float, vectors: Floats, run: Floats, out: Floats) -> None:
    """The truth with the run under way in it, as `Known.moments` has it."""
    copy_into(out, truth)
    kernels.add_pulls(out, penalty, vectors[0], run[kernels.N], run[kernels.SUM])


@compiled
def play_sparse_rounds(
    t: int,
    forced: Bools,
    sparse: Sparse,
    ridge: State,
    apart: State,
    own_told: int,
    problem: Rewarding,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> None:
    """Plays as many rounds from t on as `forced` has entries; `own_told` were forced before."""
    truth, solved, columns, board, vectors, run, penalty = ridge
    own_truth, own_solved, _, _, own_vectors, own_run, _ = apart
    law, noise, means, gaps = problem
    checkpoints, curve, tally, counts, arms, rewards, _ = outcome
    dim, count = columns.shape
    theta, scores, kept, total = np.empty(dim), np.empty(count), np.empty(count), np.empty(truth.shape)
    sums, stale, mark = np.empty((dim + 1, dim)), sparse.any_forced, mark_of(checkpoints, t)
    for place in range(forced.size):
        if forced[place]:
            arm = any_arm(count, rng)
        else:
            if stale:
                take_all(own_truth, penalty, own_vectors, own_run, total)
                sparse_scores(columns, total, own_told, sparse.first, sums, theta, kept)
                limit, stale = keep_from(np.max(kept), sparse.keep), False
                for k in range(count):
                    kept[k] = 1.0 if kept[k] >= limit else 0.0
            strength = fading_strength(sparse.later, sparse.of_n, sparse.of_d, t - 1, dim)
            take_all(truth, penalty, vectors, run, total)
            sparse_scores(columns, total, t - 1, strength, sums, theta, scores)
            if sparse.any_forced:
                for k in range(count):
                    scores[k] = scores[k] if kept[k] > 0.0 else RULED_OUT
            arm = pick(scores, sparse.random_ties, rng)
        reward = reward_of(law, means[arm], noise, draw_of(law, reward_rng))
        kernels.learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
        if forced[place]:
            kernels.learn(own_truth, penalty, own_solved, columns, board, own_vectors, own_run, arm, reward)
            own_told += 1
            stale = True
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
