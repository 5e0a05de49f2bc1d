"""Runs on problems with a context in every round and a regression for each arm.

Compiled for plain policies whose rewards come at once, else in Python, with the same results.
"""

from __future__ import annotations

import functools
import time

import numpy as np

from infex.environments import ContextualInstance, Stretch
from infex.environments.lateness import checked_late
from infex.environments.reward_laws import RewardSource
from infex.errors import InvalidChoice, InvalidReward
from infex.kernels.bases import KERNEL, NoSuchArm
from infex.kernels.calling import throw
from infex.kernels.context_runs import SmallRidges, play_contexts
from infex.kernels.rewards import Law
from infex.kernels.run_arrays import Rule
from infex.kernels.world import BadReward, World
from infex.linear import Memory, Separate
from infex.linear.block_ridge import BlockRidge
from infex.linear.estimating import Estimator, Statistics
from infex.policies import Greedy
from infex.policies.traits import traits_of
from infex.rounds import Player
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.opened import Interpreter
from infex.simulation.run import Run
from infex.simulation.stateful import wrong
from infex.simulation.terms import RunTerms
from infex.streams import stream

NO_COLUMNS = np.zeros((0, 0, 0))  # of their own: a context is what all see


def play_contextual(
    instance: ContextualInstance,
    seed: int,
    terms: RunTerms,
    estimator: Estimator | None = None,
    narrows: bool = True,
    learnt: BlockRidge | None = None,
) -> Run:
    """One run; it begins with what was `learnt` by ridge before, but for a base that keeps own data."""
    policy, label, horizon, penalty, record = terms
    source, late = RewardSource(instance.law, seed, instance.key), checked_late(instance.late)
    course = course_of(policy, estimator) if late is None else None
    course = course if course is not None and course.is_hot else None
    if course is not None and (course.form.base.kind == KERNEL or source.compiled is None):
        course = None
    if course is not None:
        compile_contexts()
    apart, layout = traits_of(policy).uses_explored, Separate(instance.count, instance.context_dim)
    memory = Memory.empty(layout, penalty, apart, estimator)
    if learnt is not None:
        memory.all.grow(learnt.growth())
    ledger = Ledger(1, instance.count, horizon, record)
    rng = stream(seed, "policy", label, instance.key)
    delays = None if late is None else late.delays(seed, instance.key, horizon)
    begun = time.perf_counter()
    if course is None:
        if narrows and delays is not None:
            memory.foresee()
        loop = Interpreter(Player(policy, memory), ledger, source, rng, delays)
        for stretch in instance.stretches(seed, horizon):
            loop.play(stretch)
    else:
        assert source.compiled is not None
        for stretch in instance.stretches(seed, horizon):
            _compiled(stretch, instance, course, source.compiled, memory, ledger, source.generator, rng)
    ledger.volumes[0] = memory.all.known().volume
    return ledger.run(0, instance, policy, seed, time.perf_counter() - begun)


@functools.cache
def compile_contexts() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = ContextualInstance(thetas=np.zeros((1, 1)))
    memory, course = Memory.empty(Separate(1, 1), 1.0, apart=False), course_of(Greedy())
    source, ledger = RewardSource(instance.law, 0, 0), Ledger(1, 1, 2, record=False)
    assert course is not None
    assert source.compiled is not None
    (stretch,) = instance.stretches(0, 1)
    _compiled(stretch, instance, course, source.compiled, memory, ledger, stream(0), stream(0))


def _ridges(statistics: Statistics) -> SmallRidges:
    assert isinstance(statistics, BlockRidge)
    return SmallRidges(*statistics.state, statistics.penalty)


def _compiled(
    stretch: Stretch,
    instance: ContextualInstance,
    course: Course,
    law: Law,
    memory: Memory,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    form, first, contexts = course.form, stretch.first, stretch.columns
    ridges = _ridges(memory.all)
    apart = ridges if memory.explored is None else _ridges(memory.explored)
    rule = Rule(course.exploring(first, stretch.last), form.schedule is None, form.own, form.random_ties)
    world = World(law, instance.law.noises, stretch.ends, stretch.means, NO_COLUMNS, False)
    try:
        assert contexts is not None
        who = ridges, apart, world, reward_rng, rng, ledger.outcome(0)
        fault = play_contexts(first, contexts, rule, form.base, *who)
    except NoSuchArm as error:
        raise InvalidChoice(wrong(course, instance.count, *error.args)) from None
    except BadReward as error:
        raise InvalidReward(
            "the law of rewards must give a finite number; in round {1} it gave {0}".format(*error.args)
        ) from None
    if fault:
        throw(fault)
