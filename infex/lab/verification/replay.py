"""Recorded runs, gone through again in plain NumPy: widths, alpha and errors of every round.

Nothing here comes from the loops that played the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from infex.arrays import Floats
from infex.lab import environments
from infex.lab.environments import LinearInstance
from infex.lab.simulation import Run, play_many
from infex.lab.verification.statement import Effort
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.schedules import every, power

REPLAY_HORIZON = 600
REPLAY_SHAPES = ((1, 3), (2, 5), (5, 20), (10, 50))


class Replay(NamedTuple):
    """Runs of one dimension, one row each; columns are the rounds 1 to T.

    `squares` are |X_t|^2 in V_{t-1}^-1 and `misses` X_t'(theta_{t-1} - theta*). Four arrays have a column for
    round 0 too: `best_squares`, |x*|^2 in V_t^-1, `log_det_ratios`, alpha_t, `errors`, |theta* - theta_t| in
    V_t, and `optimal`, N_opt(t).
    """

    dim: int
    squares: Floats
    best_squares: Floats
    log_det_ratios: Floats
    errors: Floats
    misses: Floats
    optimal: Floats
    losses: Floats
    explored: NDArray[np.bool_]
    gaps: Floats
    lengths: Floats


def replay(runs: Sequence[Run], penalty: float = 1.0) -> Replay:
    """What happened in recorded runs of one dimension and horizon."""
    problems = [instance_of(run) for run in runs]
    theta = np.array([problem.theta for problem in problems])
    best = np.array([problem.arms[problem.best] for problem in problems])
    rows = np.array([problem.arms[run.arms] for problem, run in zip(problems, runs, strict=True)])
    losses = np.array([run.losses for run in runs])
    count, horizon, dim = rows.shape
    walked = _walk(rows, np.array([run.rewards for run in runs]), theta, best, penalty)
    start = np.zeros((count, 1))
    return Replay(
        dim=dim,
        squares=walked.squares,
        best_squares=walked.best_squares,
        log_det_ratios=np.concatenate([start, np.cumsum(np.log1p(walked.squares), axis=1)], axis=1),
        errors=walked.errors,
        misses=walked.misses,
        optimal=np.concatenate([start, np.cumsum(losses == 0.0, axis=1)], axis=1),
        losses=losses,
        explored=np.array([explored(run.policy, horizon) for run in runs]),
        gaps=np.array([problem.gap for problem in problems]),
        lengths=np.linalg.norm(best, axis=1),
    )


class Walk(NamedTuple):
    """The arrays of a `Replay` that ridge regression fills, round by round."""

    squares: Floats
    misses: Floats
    best_squares: Floats
    errors: Floats


def _walk(rows: Floats, rewards: Floats, theta: Floats, best: Floats, penalty: float) -> Walk:
    """Ridge regression of all runs at once, with V, V^-1 and theta_t kept up by rank-one steps."""
    count, horizon, dim = rows.shape
    gram = np.tile(penalty * np.eye(dim), (count, 1, 1))
    inverse, estimate = np.tile(np.eye(dim) / penalty, (count, 1, 1)), np.zeros((count, dim))
    squares, misses = np.empty((count, horizon)), np.empty((count, horizon))
    best_squares, errors = np.empty((count, horizon + 1)), np.empty((count, horizon + 1))
    for t in range(horizon + 1):
        apart = estimate - theta
        best_squares[:, t] = np.einsum("ri,rij,rj->r", best, inverse, best)
        errors[:, t] = np.sqrt(np.einsum("ri,rij,rj->r", apart, gram, apart))
        if t == horizon:
            break
        x = rows[:, t]
        u = np.einsum("rij,rj->ri", inverse, x)
        square = np.einsum("ri,ri->r", x, u)
        squares[:, t], misses[:, t] = square, np.einsum("ri,ri->r", x, apart)
        surprise = (rewards[:, t] - np.einsum("ri,ri->r", x, estimate)) / (1.0 + square)
        estimate = estimate + u * surprise[:, None]
        inverse = inverse - u[:, :, None] * u[:, None, :] / (1.0 + square)[:, None, None]
        gram = gram + x[:, :, None] * x[:, None, :]
    return Walk(squares, misses, best_squares, errors)


def instance_of(run: Run) -> environments.LinearInstance:
    """The problem of a run, which has fixed arms here."""
    assert isinstance(run.instance, environments.LinearInstance)
    return run.instance


def explored(policy: Policy, horizon: int) -> NDArray[np.bool_]:
    """The rounds in which the policy explores."""
    if isinstance(policy, Infex):
        return np.array([policy.schedule.explores(t) for t in range(1, horizon + 1)])
    return np.full(horizon, not isinstance(policy, Greedy))


def _problems(effort: Effort, dim: int, arms: int) -> list[LinearInstance]:
    """Problems that have a gap: with one feature, all arms may be alike."""
    seeds = effort.seeds(f"problems of {dim} features", 5)
    drawn = [environments.gaussian(dim, arms, seed) for seed in seeds]
    return [problem for problem in drawn if problem.gap > 0]


@lru_cache(maxsize=2)
def replays(effort: Effort) -> tuple[Replay, ...]:
    """The runs that most statements about ridge regression are checked on, by dimension."""
    base = LinUCB(delta=1 / REPLAY_HORIZON)
    policies = (
        base,
        LinTS(delta=1 / REPLAY_HORIZON),
        Greedy(),
        Infex(base, every(5)),
        Infex(base, every(20), data="own"),
        Infex(LinTS(delta=1 / REPLAY_HORIZON), power(0.5)),
    )
    by_shape = []
    for dim, arms in REPLAY_SHAPES:
        problems = _problems(effort, dim, arms)
        runs = [
            run
            for policy in policies
            for run in play_many(problems, policy, REPLAY_HORIZON, [effort.seed], record=True)
        ]
        by_shape.append(replay(runs))
    return tuple(by_shape)
