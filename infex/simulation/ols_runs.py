"""Runs of OLSBandit over a fixed arm set, compiled: sums alone are kept, and solved where they are read."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from infex.arrays import Floats
from infex.environments import LinearInstance
from infex.estimators import Solution
from infex.kernels.forced_runs import play_forced_rounds
from infex.kernels.run_arrays import Rewarding
from infex.linear.regression import checked_penalty
from infex.policies import OLSBandit
from infex.policies.forced_sampling import Rule, is_forced
from infex.simulation.compiled import CHUNK
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run, RunTerms
from infex.streams import stream


def play_forced(instance: LinearInstance, seed: int, terms: RunTerms, policy: OLSBandit) -> Run:
    """One run."""
    compile_forced()
    horizon, penalty = terms.horizon, checked_penalty(terms.penalty)
    forced_rounds(policy.rule, policy.scale_for(instance.arms.shape[1]), 1, min(CHUNK, horizon))
    ledger = Ledger(1, len(instance.arms), horizon, terms.record)
    draws = instance.draws(seed), stream(seed, "policy", terms.label, instance.key)
    begun = time.perf_counter()
    truth = _play(instance, policy, ledger, penalty, *draws)
    seconds = time.perf_counter() - begun
    ledger.volumes[0] = Solution.of(truth, penalty).volume
    return ledger.run(0, instance, policy, seed, seconds)


@functools.cache
def compile_forced() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.ones((1, 1)), np.zeros(1))
    _play(instance, OLSBandit(), Ledger(1, 1, 2, record=False), 1.0, stream(0), stream(0))


def _play(
    instance: LinearInstance,
    policy: OLSBandit,
    ledger: Ledger,
    penalty: float,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> Floats:
    """Plays all rounds; what was learnt, as the truth of a ridge."""
    dim = instance.arms.shape[1]
    truth, own_truth = np.zeros((2, dim + 1, dim)), np.zeros((2, dim + 1, dim))
    law = instance.law
    assert isinstance(law.noise, float)
    problem = Rewarding(int(law.kind), law.noise, instance.means.copy(), instance.gaps.copy())
    columns = instance.arms.T.copy(order="C")  # which can be written to, as in other loops
    for t in range(1, ledger.horizon + 1, CHUNK):
        end = min(t + CHUNK - 1, ledger.horizon)
        forced = forced_rounds(policy.rule, policy.scale_for(dim), t, end)
        play_forced_rounds(
            t,
            forced,
            policy.keep,
            columns,
            truth,
            own_truth,
            penalty,
            problem,
            reward_rng,
            rng,
            ledger.outcome(0),
        )
    return truth


@functools.lru_cache(maxsize=8)
def forced_rounds(rule: Rule, scale: float, first: int, last: int) -> Any:
    """For each of these rounds, is it forced?"""
    found = np.fromiter((is_forced(rule, scale, t) for t in range(first, last + 1)), bool, last - first + 1)
    found.flags.writeable = False
    return found
