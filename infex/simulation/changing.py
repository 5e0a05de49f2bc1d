"""Runs over arms that are drawn anew in every round: compiled, or in Python for any other policy."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

from infex.environments import ChangingInstance
from infex.environments.contexts import gaps_of
from infex.environments.rewards import LAWS, draw_of, reward_of
from infex.errors import InvalidChoice
from infex.linear import Memory, kernels
from infex.linear.compiling import compiled
from infex.linear.kernels import Floats
from infex.linear.statistics import Estimator
from infex.linear.view import View, viewed
from infex.policies import Greedy
from infex.policies.protocol import chosen, learns, noted, teach, uses_explored
from infex.simulation import tally
from infex.simulation.bases import EPSILON, GREEDY, HYBRID, READ_WIDTHS, Base, NoSuchArm, base_arm, pick
from infex.simulation.batch import fault
from infex.simulation.ledger import Ledger
from infex.simulation.loop import Outcome, Rule, State
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
        play_block(
            t, block, rule, found.base, found.settings, state, apart, LAWS[instance.rewards], instance.noise,
            np.array(instance.theta), reward_rng, rng, ledger.outcome(0),
        )  # fmt: skip
    except NoSuchArm as error:
        raise InvalidChoice(fault(found, instance.count, *error.args)) from None


@compiled
def enter(outcome: Outcome, t: int, arm: int, explores: bool, gap: float, reward: float) -> None:
    """Enters one round."""
    checkpoints, curve, totals, counts, arms, rewards, losses = outcome
    counts[arm] += 1
    tally.add(totals, explores, gap, 1.0)
    if arms.size > 0:
        arms[t - 1] = arm
        rewards[t - 1] = reward
        losses[t - 1] = gap
    mark = np.searchsorted(checkpoints, t)
    if checkpoints[mark] == t:
        curve[mark] = tally.regret(totals)


@compiled
def play_block(
    t: int,
    block: Floats,
    rule: Rule,
    base: Base,
    settings: Floats,
    state: State,
    apart: State,
    law: int,
    noise: float,
    theta: Floats,
    reward_rng: Any,
    rng: Any,
    outcome: Outcome,
) -> None:
    """Plays as many rounds from t on as `block` has arms for.

    The widths of all arms come from one product M X in `kernels.direct`, and only where the base
    reads them; greedy rounds need the scores alone.
    """
    exploring, always, own, random_ties = rule
    truth, solved, empty, no_board, vectors, run, penalty = state
    own_truth, own_solved, _, _, own_vectors, own_run, _ = apart
    count, turn, own_clock = block.shape[2], 0, int(outcome.tally[tally.EXPLORED])
    board, gaps, x = np.zeros((4, count)), np.empty(count), np.empty(block.shape[1])
    seen = viewed(block[0], settings, penalty, board, run, solved, vectors)
    scores, places, sample = seen.scores, seen.places, seen.sample
    for b in range(block.shape[0]):
        columns = block[b]
        explores = always or (turn < exploring.size and exploring[turn] == t + b)
        if explores:
            turn += 1
            if own:
                clock, factor, vector, here = own_clock + turn, own_solved, own_vectors, own_run
            else:
                clock, factor, vector, here = t + b, solved, vectors, run
            score(base.kind, factor, columns, board)
            seen = View(columns, settings, penalty, board, here, factor, vector, scores, places, sample)
            arm, explores = base_arm(base, clock, seen, rng)
            explores = explores or not always
        else:
            kernels.product(columns, solved[block.shape[1]], board[0])
            arm = pick(board[0], random_ties, rng)
        if not 0 <= arm < count:
            raise NoSuchArm(arm, t + b)
        top = gaps_of(columns, theta, gaps)
        reward = reward_of(law, top - gaps[arm], noise, draw_of(law, reward_rng))
        for i in range(x.size):
            x[i] = columns[i, arm]
        kernels.absorb(truth, penalty, solved, empty, no_board, vectors, run, x, reward)
        if explores and own:
            kernels.absorb(own_truth, penalty, own_solved, empty, no_board, own_vectors, own_run, x, reward)
        enter(outcome, t + b, arm, explores, gaps[arm], reward)


@compiled
def score(kind: int, solved: Floats, columns: Floats, board: Floats) -> None:
    """As much of the board as a base of that kind reads."""
    if kind in READ_WIDTHS:
        kernels.direct(solved, columns, board)
    elif kind in (GREEDY, EPSILON, HYBRID):
        kernels.product(columns, solved[columns.shape[0]], board[0])
