"""Recorded runs, gone through again in plain NumPy: widths, alpha and errors of every round.

Nothing here comes from the kernels that played the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infex import environments
from infex.arrays import Floats
from infex.policies import Greedy, Infex, LinTS, LinUCB
from infex.schedules import every, power
from infex.simulation import Run, play_many
from infex.theory.statements.statement import Effort

HORIZON = 600
SHAPES = ((1, 3), (2, 5), (5, 20), (10, 50))


class Replay(NamedTuple):
    """Runs of one dimension, one row each; rounds 1 to T, or 0 to T where one more is said.

    `squares` are |X_t|^2 in V_{t-1}^-1 and `misses` X_t'(theta_{t-1} - theta*). With one more:
    `best_squares`, |x*|^2 in V_t^-1, `volumes`, alpha_t, `errors`, |theta* - theta_t| in V_t, and `optimal`,
    N_opt(t).
    """

    dim: int
    squares: Floats
    best_squares: Floats
    volumes: Floats
    errors: Floats
    misses: Floats
    optimal: Floats
    losses: Floats
    explored: NDArray[np.bool_]
    gaps: Floats
    lengths: Floats


def replay(runs: Sequence[Run], penalty: float = 1.0) -> Replay:
    """What happened in recorded runs of one dimension and horizon."""
    problems: list[Any] = [run.instance for run in runs]
    theta = np.array([each.theta for each in problems])
    best = np.array([each.arms[each.best] for each in problems])
    rows = np.array([each.arms[run.arms] for each, run in zip(problems, runs, strict=True)])
    losses = np.array([run.losses for run in runs])
    rewards = np.array([run.rewards for run in runs])
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
    start = np.zeros((count, 1))
    return Replay(
        dim,
        squares,
        best_squares,
        np.concatenate([start, np.cumsum(np.log1p(squares), axis=1)], axis=1),
        errors,
        misses,
        np.concatenate([start, np.cumsum(losses == 0.0, axis=1)], axis=1),
        losses,
        np.array([explored(run.policy, horizon) for run in runs]),
        np.array([each.gap for each in problems]),
        np.linalg.norm(best, axis=1),
    )


def explored(policy: Any, horizon: int) -> NDArray[np.bool_]:
    """The rounds in which the policy explores."""
    if isinstance(policy, Infex):
        return np.array([policy.schedule.explores(t) for t in range(1, horizon + 1)])
    return np.full(horizon, not isinstance(policy, Greedy))


@lru_cache(maxsize=2)
def replays(effort: Effort) -> tuple[Replay, ...]:
    """The runs that most statements about ridge regression are checked on, by dimension.

    Problems of one feature whose arms are all alike are left out, as they have no gap.
    """
    base = LinUCB(delta=1 / HORIZON)
    policies = (
        base,
        LinTS(delta=1 / HORIZON),
        Greedy(),
        Infex(base, every(5)),
        Infex(base, every(20), data="own"),
        Infex(LinTS(delta=1 / HORIZON), power(0.5)),
    )
    found = []
    for dim, arms in SHAPES:
        drawn = [
            environments.gaussian(dim, arms, seed) for seed in effort.seeds(f"problems of {dim} features", 5)
        ]
        problems = [each for each in drawn if each.gap > 0]
        runs = [
            run
            for policy in policies
            for run in play_many(problems, policy, HORIZON, [effort.seed], record=True)
        ]
        found.append(replay(runs))
    return tuple(found)
