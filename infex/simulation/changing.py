"""Runs over arms that are drawn anew in every round: compiled, or in Python for any other policy."""

from __future__ import annotations

import functools
import time
from typing import Any

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
from infex.linear import Memory
from infex.linear.statistics import Estimator
from infex.policies import Greedy
from infex.policies.protocol import chosen, learns, noted, teach, uses_explored
from infex.simulation.batch import wrong
from infex.simulation.ledger import Ledger
from infex.simulation.plan import Plan, plan
from infex.simulation.run import Run
from infex.streams import stream


def play_changing(
    instance: ChangingInstance,
    policy: Any,
    label: str,
    found: Plan | None,
    horizon: int,
    seed: int,
    penalty: float,
    record: bool,
    estimator: Estimator | None = None,
) -> Run:
    """One run; `found` is the plan of a policy that needs no Python."""
    if found is not None:
        compile_blocks()
    memory = Memory.empty(np.zeros((instance.dim, 0)), penalty, uses_explored(policy), estimator)
    ledger = Ledger(1, instance.count, horizon, record)
    draws = instance.draws(seed), stream(seed, "policy", label, instance.key)
    begun = time.perf_counter()
    for t, block in instance.blocks(seed, horizon):
        if found is None:
            _interpreted(t, block, instance, policy, memory, ledger, *draws)
        else:
            _compiled(t, block, instance, found, memory, ledger, *draws)
    ledger.volumes[0] = memory.ridge.volume
    return ledger.run(0, instance, policy, seed, time.perf_counter() - begun)


@functools.cache
def compile_blocks() -> None:
    """Compiles the loop, or reads it from the cache, so that no run's time holds it."""
    instance = ChangingInstance(theta=np.zeros(1), arms=1)
    memory, found = Memory.empty(np.zeros((1, 0)), 1.0, apart=False), plan(Greedy())
    assert found is not None
    block = np.zeros((1, 1, 1))
    _compiled(1, block, instance, found, memory, Ledger(1, 1, 2, record=False), stream(0), stream(0))


def _interpreted(
    t: int,
    block: Floats,
    instance: ChangingInstance,
    policy: Any,
    memory: Memory,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    outcome, theta, gaps = ledger.outcome(0), np.array(instance.theta), np.empty(instance.count)
    for place, columns in enumerate(block):
        choice = policy.choose(t + place, memory.offer(columns), rng)
        arm = chosen(choice, instance.count)
        top = gaps_of(columns, theta, gaps)
        reward = instance.reward(top - gaps[arm], reward_rng)
        x = np.ascontiguousarray(columns[:, arm])
        if learns(policy):
            teach(policy, arm, x, reward, choice.explored)
        memory.absorb(
            x if choice.features is None else np.ascontiguousarray(choice.features), reward, choice.explored
        )
        memory.note = noted(choice, memory.note)
        enter(outcome, t + place, arm, bool(choice.explored), gaps[arm], reward)


def _compiled(
    t: int,
    block: Floats,
    instance: ChangingInstance,
    found: Plan,
    memory: Memory,
    ledger: Ledger,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
) -> None:
    ridge: Any = memory.ridge
    own: Any = memory.explored
    state = State._make((*ridge.state, ridge.penalty))
    apart = state if own is None else State._make((*own.state, ridge.penalty))
    exploring = found.exploring(t, t + len(block) - 1)
    rule = Rule(exploring, found.schedule is None, found.own, found.random_ties)
    try:
        fault = play_block(
            t, block, rule, found.base, found.settings, state, apart, LAWS[instance.rewards], instance.noise,
            np.array(instance.theta), reward_rng, rng, ledger.outcome(0),
        )  # fmt: skip
    except NoSuchArm as error:
        raise InvalidChoice(wrong(found, instance.count, *error.args)) from None
    if fault:
        throw(fault)
