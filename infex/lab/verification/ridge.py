"""Statements about ridge regression along a run: C1 to C7 and C17.

Recorded runs are gone through again in plain NumPy: nothing here comes from the loops that played them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from infex.arrays import Bools, Floats
from infex.lab import environments
from infex.lab.environments import LinearInstance
from infex.lab.simulation import Run, play_many
from infex.lab.theory import formulas
from infex.lab.verification.statements import Effort, states
from infex.policies import Greedy, Infex, LinTS, LinUCB, Policy
from infex.schedules import every, power

HORIZON = 600
SHAPES = ((1, 3), (2, 5), (5, 20), (10, 50))
DELTA = 1 / HORIZON


class Replay(NamedTuple):
    """Runs of one dimension, one row each; columns are the rounds 1 to T.

    `squares` are |X_t|^2 in V_{t-1}^-1 and `misses` X_t'(theta_{t-1} - theta*). Four arrays have a column for
    round 0 too: `best_squares`, |x*|^2 in V_t^-1, `log_det_ratios`, alpha_t, `errors`, |theta* - theta_t| in
    V_t, and `optimal`, N_opt(t).
    """

    dim: int
    squares: Floats
    misses: Floats
    best_squares: Floats
    errors: Floats
    log_det_ratios: Floats
    optimal: Floats
    losses: Floats
    explored: Bools
    gaps: Floats
    lengths: Floats

    def beta(self) -> Floats:
        """beta_t with delta = 1/T, from round 0 on."""
        return np.asarray(formulas.radius(self.log_det_ratios, delta=DELTA))

    def held(self) -> Bools:
        """The runs in which theta* never left the ellipsoid."""
        held: Bools = np.all(self.errors <= self.beta(), axis=1)
        return held


def replay(runs: Sequence[Run]) -> Replay:
    """What happened in recorded runs of one dimension and horizon: ridge regression of all runs at once."""
    problems = [_instance(run) for run in runs]
    theta = np.array([problem.theta for problem in problems])
    best = np.array([problem.arms[problem.best] for problem in problems])
    rows = np.array([problem.arms[run.arms] for problem, run in zip(problems, runs, strict=True)])
    rewards, losses = np.array([run.rewards for run in runs]), np.array([run.losses for run in runs])
    count, horizon, dim = rows.shape
    gram, inverse = np.tile(np.eye(dim), (2, count, 1, 1))
    estimate = np.zeros((count, dim))
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
        dim, squares, misses, best_squares, errors,
        log_det_ratios=np.concatenate([start, np.cumsum(np.log1p(squares), axis=1)], axis=1),
        optimal=np.concatenate([start, np.cumsum(losses == 0.0, axis=1)], axis=1),
        losses=losses,
        explored=np.array([_explored(run.policy, horizon) for run in runs]),
        gaps=np.array([problem.gap for problem in problems]),
        lengths=np.linalg.norm(best, axis=1),
    )  # fmt: skip


def _instance(run: Run) -> LinearInstance:
    """The problem of a run, which has fixed arms here."""
    assert isinstance(run.instance, LinearInstance)
    return run.instance


def _explored(policy: Policy, horizon: int) -> Bools:
    """The rounds in which the policy explores."""
    if isinstance(policy, Infex):
        return np.array([policy.schedule.explores(t) for t in range(1, horizon + 1)])
    return np.full(horizon, not isinstance(policy, Greedy))


Share = TypeVar("Share", bound=Callable[[Replay], Floats])


@lru_cache(maxsize=2)
def replays(effort: Effort) -> tuple[Replay, ...]:
    """The runs that most statements about ridge regression are checked on, by dimension."""
    base = LinUCB(delta=DELTA)
    policies = (
        base,
        LinTS(delta=DELTA),
        Greedy(),
        Infex(base, every(5)),
        Infex(base, every(20), data="own"),
        Infex(LinTS(delta=DELTA), power(0.5)),
    )
    by_shape = []
    for dim, arms in SHAPES:
        seeds = effort.seeds(f"problems of {dim} features", 5)
        drawn = [environments.gaussian(dim, arms, seed) for seed in seeds]
        problems = [problem for problem in drawn if problem.gap > 0]  # with d = 1, all arms may be alike
        runs = [play_many(problems, policy, HORIZON, [effort.seed], record=True) for policy in policies]
        by_shape.append(replay([run for some in runs for run in some]))
    return tuple(by_shape)


def largest(ratios: Iterable[Floats]) -> float:
    """The largest number of several arrays."""
    return float(np.max([np.max(ratio) for ratio in ratios]))  # unlike Python's max, it gives nan for nan


def greatest(name: str, words: str) -> Callable[[Share], Share]:
    """Makes shares of a bound in recorded runs a statement: the greatest of all runs may not exceed 1."""

    def add(share: Share) -> Share:
        states(name, words, 1.0 + 1e-9)(lambda effort: largest(map(share, replays(effort))))  # rounding
        return share

    return add


@greatest("C1", "|x*|^2 in V_t^-1 is at most 1/(1 + N_opt(t)): the greatest share of it")
def best_width(runs: Replay) -> Floats:
    """|x*|^2 in V_t^-1, as a share of 1/(1 + N_opt(t))."""
    return runs.best_squares * (1.0 + runs.optimal)


@greatest("C2", "squared widths sum up to at most 2 alpha_T: the greatest share of it")
def potential(runs: Replay) -> Floats:
    """The sum of squared widths as a share of its bound."""
    return np.asarray(runs.squares.sum(axis=1) / formulas.potential_bound(runs.log_det_ratios[:, -1]))


@greatest("C3", "alpha_t is at most d log(1 + t/d): the greatest share of it")
def simple_volume(runs: Replay) -> Floats:
    """alpha_t as a share of d log(1 + t/d)."""
    rounds = np.arange(1.0, runs.log_det_ratios.shape[1])
    return np.asarray(runs.log_det_ratios[:, 1:] / formulas.volume_bound(rounds, runs.dim))


@greatest(
    "C4", "alpha_T is at most log(1+T) + (d-1) log(1 + N_sub/(d-1)), and so with R/Delta: the greatest share"
)
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


@greatest(
    "C6", "greedy rounds cost at most what the decomposition allows, each and together: the greatest share"
)
def greedy_rounds(runs: Replay, scale: float = 1.0) -> Floats:
    """What greedy rounds cost, each and together, as a share of what the decomposition allows them.

    Only runs in which the ellipsoid held count, as in the statement.
    """
    beta, held = runs.beta(), runs.held()
    before, greedy = scale * beta[:, :-1], ~runs.explored
    each = runs.losses / (before * (np.sqrt(runs.best_squares[:, :-1]) + np.sqrt(runs.squares)))
    late = np.where(greedy, before**2 / (1.0 + runs.optimal[:, :-1]), 0.0).sum(axis=1)
    allowed = (4.0 * runs.log_det_ratios[:, -1] * (scale * beta[:, -1]) ** 2 + 2.0 * late) / runs.gaps
    together = np.where(greedy, runs.losses, 0.0).sum(axis=1) / allowed
    return np.concatenate([together[held], np.where(greedy, each, 0.0)[held].ravel()])


@greatest("C7", "squared errors of prediction sum up to at most 2 alpha_T beta_T^2: the greatest share of it")
def squared_misses(runs: Replay) -> Floats:
    """The sum of squared errors of prediction as a share of 2 alpha_T beta_T^2, where the ellipsoid held."""
    beta, held = runs.beta(), runs.held()
    allowed = 2.0 * runs.log_det_ratios[:, -1] * beta[:, -1] ** 2
    return np.asarray(np.sum(runs.misses**2, axis=1) / allowed)[held]


def drift(run: Run, penalty: float = 1.0) -> float:
    """How far alpha, kept up by rank-one steps, is from a determinant computed at the end."""
    instance = _instance(run)
    gram = np.eye(instance.arms.shape[1]) + (instance.arms.T * run.counts) @ instance.arms / penalty
    return abs(run.log_det_ratio - float(np.linalg.slogdet(gram)[1]))


@states(
    "C5", "theta* leaves the ellipsoid, at any time, in at most a share delta = 0.1 of runs: the share", 0.1
)
def check_coverage(effort: Effort) -> float:
    """The share of runs with normal noise, for greedy and for INFEX; the greater counts."""
    problem = environments.gaussian(5, 20, effort.seed, rewards="gaussian")
    shares = []
    for policy in (Greedy(), Infex(LinUCB(delta=0.1), every(5))):
        some = [
            coverage(replay(play_many(problem, policy, 400, seeds, record=True)), delta=0.1)
            for seeds in effort.seed_parts("coverage", 200)
        ]
        shares.append(sum(some) / len(some))
    return max(shares)


@states("C17", "alpha by rank-one steps is the log determinant: the greatest difference", 1e-8)
def check_drift(effort: Effort) -> float:
    """The greatest drift of long runs."""
    problems = [environments.gaussian(dim, 100, seed) for dim in (3, 20) for seed in effort.seeds("drift", 2)]
    policies = (LinUCB(delta=1e-4), Infex(LinUCB(delta=1e-4), every(20)), Greedy())
    return max(drift(run) for each in policies for run in play_many(problems, each, 10_000))
