"""Runs over fixed arms by the compiled loop of `infex.core.simulation`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from infex.arrays import Floats
from infex.core.choosing import Base, Kind, Reads, Wrap
from infex.core.ridge import Ridge
from infex.core.runs import Law, Outcome
from infex.core.simulation import FixedArmsRun
from infex.environments import Instance
from infex.kernels import bases
from infex.linear.regression import checked_penalty
from infex.policies.form import Form
from infex.simulation.course import Course
from infex.simulation.run import Run, log_spaced
from infex.simulation.terms import RunTerms
from infex.streams import stream

Task = tuple[Any, int]  # an instance and a seed

CHUNK = 1 << 20  # rounds whose explorations are listed at a time
KINDS = {
    bases.GREEDY: Kind.GREEDY,
    bases.UNIFORM: Kind.UNIFORM,
    bases.EPSILON: Kind.EPSILON_GREEDY,
    bases.LINUCB: Kind.LINUCB,
    bases.LINTS: Kind.LINTS,
    bases.LINTS_SPHERICAL: Kind.LINTS_SPHERICAL,
    bases.ROBIN: Kind.ROUND_ROBIN,
    bases.HYBRID: Kind.HYBRID_TS,
    bases.PLAIN_UCB: Kind.UCB1,
    bases.GAUSSIAN_TS: Kind.GAUSSIAN_TS,
    bases.PLAIN_HYBRID: Kind.PLAIN_HYBRID_TS,
    bases.SWITCHING: Kind.RARELY_SWITCHING,
}


def play_batch(
    tasks: Sequence[Task], terms: RunTerms, course: Course, learnt: Floats | None = None
) -> list[Run]:
    """The runs of some problems and seeds.

    `learnt` are the sums of rewards that were seen before round 1, as `RidgeStatistics.snapshot` has them.
    """
    return [play_fixed(instance, seed, terms, course, learnt) for instance, seed in tasks]


def play_fixed(
    instance: Any, seed: int, terms: RunTerms, course: Course, learnt: Floats | None = None
) -> Run:
    """One run."""
    form, base = course.form, base_of(course.form)
    penalty, always = checked_penalty(terms.penalty), form.schedule is None
    reads = read_of(form) != Reads.READS_NOTHING
    begun = time.perf_counter()
    run = FixedArmsRun(
        Ridge(instance.arms.T, penalty, learnt, scored=reads or not always),
        base,
        instance.means,
        instance.gaps,
        Law(instance.law.kind),
        instance.noise,
        instance.draws(seed),
        stream(seed, "policy", terms.label, instance.key),
        terms.horizon,
        log_spaced(terms.horizon),
        own=Ridge(instance.arms.T, penalty, scored=reads) if form.own else None,
        always=always,
        random_ties=form.random_ties,
        record=terms.record,
    )
    for t in range(1, terms.horizon + 1, CHUNK):
        last = min(t + CHUNK - 1, terms.horizon)
        run.play(last, course.exploring(t, last))
    return run_of(run, instance, seed, terms, time.perf_counter() - begun)


def base_of(form: Form) -> Base:
    """The base of a policy, as the core takes it."""
    base, wrap = form.base, form.wrap
    return Base(
        KINDS[base.kind],
        read_of(form),
        noise=base.noise,
        bound=base.bound,
        delta=base.delta,
        scale=base.scale,
        bonus=base.bonus,
        rate=base.rate,
        random_ties=base.random_ties,
        wrap=Wrap(wrap.kind),
        first=wrap.first,
        second=wrap.second,
        wrap_random_ties=wrap.random_ties,
    )


def read_of(form: Form) -> Reads:
    """What the base reads of the arms, with what is wrapped around it."""
    reads = Reads(form.base.reads)
    greedy = form.wrap.kind in (Wrap.GREEDY_FIRST, Wrap.COMMITS)
    return max(reads, Reads.READS_SCORES) if greedy else reads


def run_of(run: Outcome, instance: Instance, seed: int, terms: RunTerms, seconds: float) -> Run:
    """What a loop of the core has played."""
    return Run(
        instance=instance,
        policy=terms.policy,
        horizon=terms.horizon,
        seed=seed,
        regret_exploring=run.regret_exploring,
        regret_greedy=run.regret_greedy,
        explored=run.explored,
        optimal=run.optimal,
        seconds=seconds,
        volume=run.log_det_ratio,
        counts=run.counts,
        points=(log_spaced(terms.horizon), run.curve),
        arms=run.arms if terms.record else None,
        rewards=run.rewards if terms.record else None,
        losses=run.losses if terms.record else None,
    )
