"""Runs of LASSO bandits over a fixed arm set, compiled."""

from __future__ import annotations

import functools
import time

import numpy as np

from infex import kernels
from infex.arrays import Floats
from infex.environments import LinearInstance
from infex.kernels.layout import blank
from infex.kernels.regret import EXPLORED
from infex.kernels.run_arrays import Rewarding, State
from infex.kernels.sparse_runs import Sparse, play_sparse_rounds
from infex.linear.regression import checked_penalty
from infex.policies.form import LassoForm
from infex.simulation import compiled
from infex.simulation.ledger import Ledger
from infex.simulation.ols_runs import forced_rounds
from infex.simulation.run import Run, RunTerms
from infex.streams import stream


def play_sparse(instance: LinearInstance, seed: int, terms: RunTerms, form: LassoForm) -> Run:
    """One run."""
    compile_sparse()
    ledger = Ledger(1, len(instance.arms), terms.horizon, terms.record)
    draws = instance.draws(seed), stream(seed, "policy", terms.label, instance.key)
    begun = time.perf_counter()
    ledger.volumes[0] = _play(instance, form, ledger, terms.penalty, *draws)
    return ledger.run(0, instance, terms.policy, seed, time.perf_counter() - begun)


@functools.cache
def compile_sparse() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = LinearInstance(np.ones((1, 1)), np.zeros(1))
    _play(instance, LassoForm(True), Ledger(1, 1, 2, record=False), 1.0, stream(0), stream(0))


def _play(
    instance: LinearInstance,
    form: LassoForm,
    ledger: Ledger,
    penalty: float,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> float:
    """Plays all rounds; the volume after them."""
    dim, columns = instance.arms.shape[1], instance.arms.T.copy(order="C")
    ridge, apart = (_empty(columns, penalty) for _ in range(2))
    law = instance.law
    assert isinstance(law.noise, float)
    problem = Rewarding(int(law.kind), law.noise, instance.means.copy(), instance.gaps.copy())
    outcome = ledger.outcome(0)
    sparse = Sparse(form.forced, form.keep, form.first, form.later, form.of_n, form.of_d, form.random_ties)
    for t in range(1, ledger.horizon + 1, compiled.CHUNK):
        last = min(t + compiled.CHUNK - 1, ledger.horizon)
        forced = np.zeros(last - t + 1, dtype=bool)
        if form.forced:
            forced = forced_rounds("blocks", 2 * dim if form.q is None else form.q, t, last).copy()
        own_told = int(outcome.tally[EXPLORED])
        play_sparse_rounds(t, forced, sparse, ridge, apart, own_told, problem, reward_rng, rng, outcome)
    return kernels.volume(ridge.run)


def _empty(columns: Floats, penalty: float) -> State:
    """A ridge with nothing learnt, and no board."""
    truth, solved, board, vectors, run = blank(columns.shape[0], 0)
    kernels.refresh(truth, penalty, solved, columns, board, run)
    return State(truth, solved, columns, board, vectors, run, checked_penalty(penalty))
