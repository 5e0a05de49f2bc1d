"""Statements about ridge regression along a run: C1 to C7 and C17."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from infex.arrays import Floats
from infex.lab import environments
from infex.lab.simulation import Run, play_many
from infex.lab.theory import formulas
from infex.lab.verification.replay import REPLAY_HORIZON, Replay, instance_of, replay, replays
from infex.lab.verification.statement import Effort, Measured, Statement, parts
from infex.policies import Greedy, Infex, LinUCB
from infex.schedules import every

SHARE_AFTER_ROUNDING = 1.0 + 1e-9  # what a share of 1 may come out as


def largest(ratios: Iterable[Floats]) -> float:
    """The largest number of several arrays."""
    return float(np.max([np.max(ratio) for ratio in ratios]))  # unlike Python's max, it gives nan for nan


def best_width(runs: Replay) -> Floats:
    """|x*|^2 in V_t^-1, as a share of 1/(1 + N_opt(t))."""
    return runs.best_squares * (1.0 + runs.optimal)


def potential(runs: Replay) -> Floats:
    """The sum of squared widths as a share of its bound."""
    return np.asarray(runs.squares.sum(axis=1) / formulas.potential_bound(runs.log_det_ratios[:, -1]))


def simple_volume(runs: Replay) -> Floats:
    """alpha_t as a share of d log(1 + t/d)."""
    rounds = np.arange(1.0, runs.log_det_ratios.shape[1])
    return np.asarray(runs.log_det_ratios[:, 1:] / formulas.volume_bound(rounds, runs.dim))


def better_volume(runs: Replay) -> Floats:
    """alpha_T as a share of its bounds by pulls of worse arms, and by regret."""
    horizon, alpha = runs.losses.shape[1], runs.log_det_ratios[:, -1]
    worse = horizon - runs.optimal[:, -1]
    by_pulls = formulas.volume_bound_by_pulls(horizon, worse, runs.dim, length=runs.lengths)
    by_regret = formulas.volume_bound_by_regret(horizon, runs.losses.sum(axis=1), runs.gaps, runs.dim)
    return np.concatenate([alpha / by_pulls, alpha / by_regret])


def coverage(runs: Replay, delta: float, scale: float = 1.0) -> float:
    """The share of runs in which theta* leaves the ellipsoid at some time."""
    return float(
        np.mean(np.any(runs.errors > scale * formulas.radius(runs.log_det_ratios, delta=delta), axis=1))
    )


def greedy_rounds(runs: Replay, scale: float = 1.0) -> Floats:
    """What greedy rounds cost, each and together, as a share of what the decomposition allows them.

    Only runs in which the ellipsoid held count, as in the statement.
    """
    beta = formulas.radius(runs.log_det_ratios, delta=1 / REPLAY_HORIZON)
    held = np.all(runs.errors <= beta, axis=1)
    before, greedy = scale * beta[:, :-1], ~runs.explored
    each = runs.losses / (before * (np.sqrt(runs.best_squares[:, :-1]) + np.sqrt(runs.squares)))
    late = np.where(greedy, before**2 / (1.0 + runs.optimal[:, :-1]), 0.0).sum(axis=1)
    allowed = (4.0 * runs.log_det_ratios[:, -1] * (scale * beta[:, -1]) ** 2 + 2.0 * late) / runs.gaps
    together = np.where(greedy, runs.losses, 0.0).sum(axis=1) / allowed
    return np.concatenate([together[held], np.where(greedy, each, 0.0)[held].ravel()])


def squared_misses(runs: Replay) -> Floats:
    """The sum of squared errors of prediction as a share of 2 alpha_T beta_T^2, where the ellipsoid held."""
    beta = formulas.radius(runs.log_det_ratios, delta=1 / REPLAY_HORIZON)
    held = np.all(runs.errors <= beta, axis=1)
    allowed = 2.0 * runs.log_det_ratios[:, -1] * beta[:, -1] ** 2
    return np.asarray(np.sum(runs.misses**2, axis=1) / allowed)[held]


def drift(run: Run, penalty: float = 1.0) -> float:
    """How far alpha, kept up by rank-one steps, is from a determinant computed at the end."""
    instance = instance_of(run)
    gram = np.eye(instance.arms.shape[1]) + (instance.arms.T * run.counts) @ instance.arms / penalty
    return abs(run.log_det_ratio - float(np.linalg.slogdet(gram)[1]))


def check_coverage(effort: Effort) -> Measured:
    """The share of runs with normal noise, for greedy and for INFEX; the greater counts."""
    problem = environments.gaussian(5, 20, effort.seed, rewards="gaussian")
    shares = []
    for policy in (Greedy(), Infex(LinUCB(delta=0.1), every(5))):
        some = [
            coverage(replay(play_many(problem, policy, 400, seeds, record=True)), delta=0.1)
            for seeds in parts(effort.seeds("coverage", 200))
        ]
        shares.append(sum(some) / len(some))
    return Measured(max(shares), 0.1)


def check_drift(effort: Effort) -> Measured:
    """The greatest drift of long runs."""
    problems = [environments.gaussian(dim, 100, seed) for dim in (3, 20) for seed in effort.seeds("drift", 2)]
    policies = (LinUCB(delta=1e-4), Infex(LinUCB(delta=1e-4), every(20)), Greedy())
    return Measured(
        max(drift(run) for each in policies for run in play_many(problems, each, 10_000)), limit=1e-8
    )


RIDGE_STATEMENTS = (
    Statement(
        "C1",
        "|x*|^2 in V_t^-1 is at most 1/(1 + N_opt(t)): the greatest share of it",
        lambda effort: Measured(largest(map(best_width, replays(effort))), SHARE_AFTER_ROUNDING),
    ),
    Statement(
        "C2",
        "squared widths sum up to at most 2 alpha_T: the greatest share of it",
        lambda effort: Measured(largest(map(potential, replays(effort))), SHARE_AFTER_ROUNDING),
    ),
    Statement(
        "C3",
        "alpha_t is at most d log(1 + t/d): the greatest share of it",
        lambda effort: Measured(largest(map(simple_volume, replays(effort))), SHARE_AFTER_ROUNDING),
    ),
    Statement(
        "C4",
        "alpha_T is at most log(1+T) + (d-1) log(1 + N_sub/(d-1)), and so with R/Delta: the greatest share",
        lambda effort: Measured(largest(map(better_volume, replays(effort))), SHARE_AFTER_ROUNDING),
    ),
    Statement(
        "C5",
        "theta* leaves the ellipsoid, at any time, in at most a share delta = 0.1 of runs: the share",
        check_coverage,
    ),
    Statement(
        "C6",
        "greedy rounds cost at most what the decomposition allows, each and together: the greatest share",
        lambda effort: Measured(largest(map(greedy_rounds, replays(effort))), SHARE_AFTER_ROUNDING),
    ),
    Statement(
        "C7",
        "squared errors of prediction sum up to at most 2 alpha_T beta_T^2: the greatest share of it",
        lambda effort: Measured(largest(map(squared_misses, replays(effort))), SHARE_AFTER_ROUNDING),
    ),
    Statement("C17", "alpha by rank-one steps is the log determinant: the greatest difference", check_drift),
)
