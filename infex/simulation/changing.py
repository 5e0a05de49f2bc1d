"""Runs over arms that are drawn anew in every round: compiled, or in Python for any other policy."""

from __future__ import annotations

import functools
import time

import numpy as np

from infex.arrays import Floats
from infex.environments import ChangingInstance
from infex.errors import InvalidChoice
from infex.kernels.bases import NoSuchArm
from infex.kernels.calling import throw
from infex.kernels.changing_runs import enter, play_block
from infex.kernels.drawing import gaps_of
from infex.kernels.fixed_runs import Rule, State
from infex.kernels.rewards import LAWS
from infex.linear import Memory, RidgeStatistics
from infex.linear.estimating import Estimator
from infex.policies import Greedy, Policy
from infex.policies.traits import traits_of
from infex.rounds import Player, play_round
from infex.simulation.batch import wrong
from infex.simulation.course import Course, course_of
from infex.simulation.ledger import Ledger
from infex.simulation.run import Run
from infex.streams import stream


def play_changing(
    instance: ChangingInstance,
    policy: Policy,
    label: str,
    course: Course | None,
    horizon: int,
    seed: int,
    penalty: float,
    record: bool,
    estimator: Estimator | None = None,
) -> Run:
    """One run; `course` is that of a policy that needs no Python."""
    if course is not None:
        compile_blocks()
    apart = traits_of(policy).uses_explored
    player = Player(policy, Memory.empty(np.zeros((instance.dim, 0)), penalty, apart, estimator))
    ledger = Ledger(1, instance.count, horizon, record)
    draws = instance.draws(seed), stream(seed, "policy", label, instance.key)
    begun = time.perf_counter()
    for t, block in instance.blocks(seed, horizon):
        if course is None:
            _interpreted(t, block, instance, player, ledger, *draws)
        else:
            _compiled(t, block, instance, course, player.memory, ledger, *draws)
    ledger.volumes[0] = player.memory.all.known().volume
    return ledger.run(0, instance, policy, seed, time.perf_counter() - begun)


@functools.cache
def compile_blocks() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = ChangingInstance(theta=np.zeros(1), arms=1)
    memory, course = Memory.empty(np.zeros((1, 0)), 1.0, apart=False), course_of(Greedy())
    assert course is not None
    block = np.zeros((1, 1, 1))
    _compiled(1, block, instance, course, memory, Ledger(1, 1, 2, record=False), stream(0), stream(0))


def _interpreted(
    t: int,
    block: Floats,
    instance: ChangingInstance,
    player: Player,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    outcome, theta, gaps = ledger.outcome(0), np.array(instance.theta), np.empty(instance.count)
    for place, columns in enumerate(block):
        top = gaps_of(columns, theta, gaps)
        choice, reward = play_round(
            player,
            t + place,
            rng,
            lambda arm, top=top: instance.reward(top - gaps[arm], reward_rng),  # type: ignore[misc]
            columns,
        )
        enter(outcome, t + place, choice.arm, choice.explored, gaps[choice.arm], reward)


def _compiled(
    t: int,
    block: Floats,
    instance: ChangingInstance,
    course: Course,
    memory: Memory,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    ridge, own, form = memory.all, memory.explored, course.form
    assert isinstance(ridge, RidgeStatistics)
    state = State._make((*ridge.state, ridge.penalty))
    apart = State._make((*own.state, ridge.penalty)) if isinstance(own, RidgeStatistics) else state
    exploring = course.exploring(t, t + len(block) - 1)
    rule = Rule(exploring, form.schedule is None, form.own, form.random_ties)
    try:
        fault = play_block(
            t, block, rule, form.base, form.settings, state, apart, LAWS[instance.rewards], instance.noise,
            np.array(instance.theta), reward_rng, rng, ledger.outcome(0),
        )  # fmt: skip
    except NoSuchArm as error:
        raise InvalidChoice(wrong(course, instance.count, *error.args)) from None
    if fault:
        throw(fault)
