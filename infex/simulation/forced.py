"""Runs of OLSBandit over a fixed arm set, compiled: sums alone are kept, and solved where they are read."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from infex.environments import LinearInstance
from infex.environments.rewards import LAWS, draw_of, reward_of
from infex.linear import Ridge, kernels
from infex.linear.compiling import compiled
from infex.linear.kernels import Floats
from infex.linear.moments import least_squares
from infex.linear.ridge import checked_penalty
from infex.policies import OLSBandit
from infex.policies.forced import Rule, is_forced, keep_from
from infex.simulation.batch import CHUNK
from infex.simulation.ledger import Ledger
from infex.simulation.loop import Outcome, Problem
from infex.simulation.run import Run
from infex.simulation.tally import close_stretch, note, regret
from infex.streams import stream

RULED_OUT = -1e150


def play_forced(
    instance: LinearInstance,
    policy: OLSBandit,
    label: str,
    horizon: int,
    seed: int,
    penalty: float,
    record: bool,
) -> Run:
    """One run; `label` names the policy's draws."""
    compile_forced()
    checked_penalty(penalty)
    forced_rounds(policy.rule, policy.scale_for(instance.arms.shape[1]), 1, min(CHUNK, horizon))
    ledger = Ledger(1, len(instance.arms), horizon, record)
    draws = instance.draws(seed), stream(seed, "policy", label, instance.key)
    begun = time.perf_counter()
    truth = _play(instance, policy, ledger, *draws)
    seconds = time.perf_counter() - begun
    ridge = Ridge(np.zeros((instance.arms.shape[1], 0)), penalty)
    ridge.restore({"truth": truth, "told": horizon})
    ledger.volumes[0] = ridge.volume
    return ledger.run(0, instance, policy, seed, seconds)


@functools.cache
def compile_forced() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.ones((1, 1)), np.zeros(1))
    _play(instance, OLSBandit(), Ledger(1, 1, 2, record=False), stream(0), stream(0))


def _play(
    instance: LinearInstance,
    policy: OLSBandit,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> Floats:
    """Plays all rounds; what was learnt, as the truth of a ridge."""
    dim = instance.arms.shape[1]
    truth, own_truth = np.zeros((2, dim + 1, dim)), np.zeros((2, dim + 1, dim))
    problem = Problem(LAWS[instance.rewards], instance.noise, instance.means.copy(), instance.gaps.copy())
    columns = np.ascontiguousarray(instance.arms.T)
    for t in range(1, ledger.horizon + 1, CHUNK):
        end = min(t + CHUNK - 1, ledger.horizon)
        forced = forced_rounds(policy.rule, policy.scale_for(dim), t, end)
        play_forced_rounds(
            t, forced, policy.keep, columns, truth, own_truth, problem, reward_rng, rng, ledger.outcome(0)
        )
    return truth


@functools.lru_cache(maxsize=8)
def forced_rounds(rule: Rule, scale: float, first: int, last: int) -> Any:
    """For each of these rounds, is it forced?"""
    found = np.fromiter((is_forced(rule, scale, t) for t in range(first, last + 1)), bool, last - first + 1)
    found.flags.writeable = False
    return found


@compiled
def play_forced_rounds(
    t: int,
    forced: Any,
    keep: float,
    columns: Floats,
    truth: Floats,
    own_truth: Floats,
    problem: Problem,
    reward_rng: Any,
    rng: Any,
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
        kernels.add_pulls(truth, x, 1.0, reward)
        if forced[place]:
            kernels.add_pulls(own_truth, x, 1.0, reward)
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
