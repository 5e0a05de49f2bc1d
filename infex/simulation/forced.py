"""Runs of forced sampling and LASSO bandits over fixed arms, by the compiled loop of `infex.core.forced`."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from infex.arrays import Integers
from infex.core.forced import ForcedRun
from infex.core.runs import Law
from infex.environments import LinearInstance
from infex.linear.regression import checked_penalty
from infex.policies.form import ForcedForm
from infex.simulation.compiled import CHUNK, run_of
from infex.simulation.run import Run, RunTerms, log_spaced
from infex.streams import stream

NO_ROUNDS = np.zeros(0, dtype=np.int64)


def play_forced(instance: LinearInstance, seed: int, terms: RunTerms, form: ForcedForm) -> Run:
    """One run."""
    policy: Any = terms.policy
    noise = instance.law.noise
    assert isinstance(noise, float)  # as in every plain law
    begun = time.perf_counter()
    run = ForcedRun(
        instance.arms.T,
        checked_penalty(terms.penalty),
        instance.means,
        instance.gaps,
        Law(instance.law.kind),
        noise,
        instance.draws(seed),
        stream(seed, "policy", terms.label, instance.key),
        terms.horizon,
        log_spaced(terms.horizon),
        keep=form.keep,
        first=form.first,
        later=form.later,
        of_n=form.of_n,
        of_d=form.of_d,
        screens=form.forces,
        random_ties=form.random_ties,
        record=terms.record,
    )
    dim = instance.arms.shape[1]
    for t in range(1, terms.horizon + 1, CHUNK):
        last = min(t + CHUNK - 1, terms.horizon)
        run.play(t, last, forced_rounds(policy, dim, t, last) if form.forces else NO_ROUNDS)
    return run_of(run, instance, seed, terms, time.perf_counter() - begun)


@functools.lru_cache(maxsize=8)
def forced_rounds(policy: Any, dim: int, first: int, last: int) -> Integers:
    """Which of these rounds a policy forces, with so many features."""
    found = np.array([t for t in range(first, last + 1) if policy.is_forced(t, dim)], dtype=np.int64)
    found.flags.writeable = False
    return found
