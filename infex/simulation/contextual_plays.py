"""Runs on problems with a context in every round and a regression for each arm.

Compiled for plain policies whose rewards come at once, else in Python, with the same results.
"""

from __future__ import annotations

import time

from infex.bandit.agent import Agent
from infex.core.bank import RidgeBank
from infex.core.contexts import ContextsRun
from infex.core.runs import Law
from infex.environments import ContextualInstance
from infex.environments.lateness import checked_late
from infex.environments.reward_laws import RewardSource
from infex.kernels import rewards
from infex.linear import Memory, Separate
from infex.linear.estimating import Estimator
from infex.linear.regression import checked_penalty
from infex.linear.ridge_bank import BlockRidge
from infex.policies.traits import traits_of
from infex.simulation.batch import base_of, run_of
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.opened import Interpreter
from infex.simulation.run import Run, log_spaced
from infex.simulation.terms import RunTerms
from infex.streams import stream


def play_contextual(
    instance: ContextualInstance,
    seed: int,
    terms: RunTerms,
    estimator: Estimator | None = None,
    narrows: bool = True,
    learnt: BlockRidge | None = None,
) -> Run:
    """One run; it begins with what was `learnt` by ridge before, but for a base that keeps own data."""
    late = checked_late(instance.late)
    course = course_of(terms.policy, estimator) if late is None else None
    if course is not None and course.is_hot and instance.law.kind != rewards.OWN:
        return _play_compiled(instance, seed, terms, course, learnt)
    policy, label, horizon, penalty, record = terms
    apart, layout = traits_of(policy).uses_explored, Separate(instance.count, instance.context_dim)
    memory = Memory.empty(layout, penalty, apart, estimator)
    if learnt is not None:
        memory.all.grow(learnt.growth())
    ledger = Ledger(1, instance.count, horizon, record)
    rng = stream(seed, "policy", label, instance.key)
    delays = None if late is None else late.delays(seed, instance.key, horizon)
    begun = time.perf_counter()
    if narrows and delays is not None:
        memory.foresee()
    source = RewardSource(instance.law, seed, instance.key)
    loop = Interpreter(Agent(policy, memory), ledger, source, rng, delays)
    for stretch in instance.stretches(seed, horizon):
        loop.play(stretch)
    ledger.volumes[0] = memory.all.known().volume
    return ledger.run(0, instance, policy, seed, time.perf_counter() - begun)


def _play_compiled(
    instance: ContextualInstance, seed: int, terms: RunTerms, course: Course, learnt: BlockRidge | None
) -> Run:
    form, size = course.form, (instance.count, instance.context_dim, checked_penalty(terms.penalty))
    begun = time.perf_counter()
    run = ContextsRun(
        RidgeBank(*size, None if learnt is None else learnt.growth().truth),
        base_of(form),
        Law(instance.law.kind),
        instance.law.noises,
        RewardSource(instance.law, seed, instance.key).generator,
        stream(seed, "policy", terms.label, instance.key),
        terms.horizon,
        log_spaced(terms.horizon),
        own=RidgeBank(*size) if form.own else None,
        always=form.schedule is None,
        random_ties=form.random_ties,
        degrees=instance.law.degrees,
        record=terms.record,
    )
    for first, last, _, means, contexts in instance.stretches(seed, terms.horizon):
        assert contexts is not None
        run.play(first, contexts, means, course.exploring(first, last))
    return run_of(run, instance, seed, terms, time.perf_counter() - begun)
