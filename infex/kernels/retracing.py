"""Compiled loops over a log's events: a policy goes through what was seen, and learns where it agrees.

State and round stay until an event agrees, and the draws of a round are the same whenever it is tried: so
theta is found once for each round that is played, and among fixed arms one decision stands until it agrees.
"""

from typing import NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Bools, Floats, Integers
from infex.kernels.algebra import product
from infex.kernels.bases import (
    GREEDY,
    LINTS,
    LINTS_SPHERICAL,
    LINUCB,
    UNIFORM,
    Base,
    any_arm,
    radius,
    sample_scores,
)
from infex.kernels.compiling import compiled, within
from infex.kernels.given_arms import is_lost, take_rows
from infex.kernels.learning import score
from infex.kernels.reading import best, choosing_radius, glance, greedy_glance, parameter, upper, volume
from infex.kernels.run_arrays import State

RETRACED_ALL, ASK_POLICY = 0, 1  # why a loop has ended: all is done, or a round needs Python
KINDS_RETRACED = (GREEDY, LINUCB, UNIFORM, LINTS, LINTS_SPHERICAL)


class Events(NamedTuple):
    """What was seen: offers (n, K, d), how many arms of each, which was played, its reward, may it count?"""

    offers: Floats
    sizes: Integers
    arms: Integers
    rewards: Floats
    usable: Bools


class Explorer(NamedTuple):
    """When a policy explores, and how: the rounds, or always; the base, and the share of uniform arms.

    `numbers` are those of `interval_radius`. `is_compiled`: can the loop ask the base?
    """

    exploring: Integers
    always: bool
    base: Base
    share: float
    numbers: Floats
    is_compiled: bool


class Retraced(NamedTuple):
    """What came of each round that agreed: its event, whether it explored, the estimated loss of that."""

    event: Integers
    explored: Bools
    loss: Floats
    different: Bools


@within
def set_round(t: int, counter: Integers, rest: Integers) -> None:
    """Sets the generator to the start of round t, as `streams.Rounds` does."""
    counter[0], counter[1], counter[2], counter[3] = 0, t, 0, 0
    rest[2], rest[7] = 4, 0


@within
def sampled(base: Base, columns: Floats, state: State, rng: np.random.Generator) -> int:
    """The best arm under one sampled parameter."""
    _, solved, _, _, vectors, run, penalty = state
    scores, sample = np.empty(columns.shape[1]), np.empty((3, columns.shape[0]))
    beta = radius(base, penalty, run)
    sample_scores(base.kind == LINTS_SPHERICAL, beta, columns, solved, vectors, run, rng, sample, scores)
    return int(best(scores))


@within
def drawn_arm(
    who: Explorer, columns: Floats, greedy: int, state: State, board: Floats, rng: np.random.Generator
) -> int:
    """The arm of an exploring round among arms that are given; below 0 if no score is a number."""
    _, solved, _, _, vectors, run, _ = state
    count, kind = columns.shape[1], who.base.kind
    tries, uniform = False, 0
    if who.share > 0.0:
        tries, uniform = rng.random() < who.share, any_arm(count, rng)
    if kind == UNIFORM:
        arm = any_arm(count, rng)
    elif kind == GREEDY:
        arm = greedy
    elif kind == LINUCB:
        bounds = np.empty(count)
        score(solved, vectors, run, columns, board)
        upper(board, run, choosing_radius(volume(run), who.numbers), bounds)
        arm = best(bounds)
    else:
        arm = sampled(who.base, columns, state, rng)
    return uniform if tries and arm >= 0 else arm


@compiled
def retrace(
    first: int,
    begun: int,
    events: Events,
    who: Explorer,
    most: float,
    state: State,
    counter: Integers,
    rest: Integers,
    rng: np.random.Generator,
    out: Retraced,
) -> tuple[int, int, int]:
    """Goes on from event `first`, after `begun` rounds: the next event, further rounds, and why it ended.

    It ends after as many rounds as `out` has room for, or with the events, or at a round that needs Python.
    """
    truth, solved, fixed, none, vectors, run, penalty = state
    d, turn, t, fresh = events.offers.shape[2], 0, 0, True
    theta, x = np.empty(d), np.empty(d)
    columns, means, board = np.empty((d, 0)), np.empty(0), np.empty((4, 0))
    for event in range(first, events.arms.size):
        if t == out.event.size:
            return event, t, RETRACED_ALL
        explores = who.always or (turn < who.exploring.size and who.exploring[turn] == begun + t + 1)
        if fresh:
            if is_lost(truth, solved, run):
                return event, t, ASK_POLICY
            parameter(solved, vectors, run, theta)
            fresh = False
        if explores and not who.is_compiled:
            return event, t, ASK_POLICY
        count = events.sizes[event]
        if columns.shape[1] != count:
            columns, means, board = np.empty((d, count)), np.empty(count), np.empty((4, count))
        rows = events.offers[event]
        if not take_rows(rows, 0, most, columns):
            return event, t, ASK_POLICY
        product(columns, theta, means)
        arm = greedy = best(means)
        if explores and arm >= 0:
            set_round(begun + t + 1, counter, rest)
            arm = drawn_arm(who, columns, greedy, state, board, rng)
        if arm < 0:
            return event, t, ASK_POLICY
        if arm != events.arms[event] or not events.usable[event]:
            continue
        for i in range(d):
            x[i] = rows[arm, i]
        out.event[t], out.explored[t] = event, explores
        out.loss[t] = max(means[greedy] - means[arm], 0.0) if explores else 0.0
        out.different[t] = explores and arm != greedy
        kernels.absorb_weighted(
            truth, penalty, solved, fixed, none, vectors, run, x, events.rewards[event], 1.0
        )
        t, fresh = t + 1, True
        turn += explores
    return events.arms.size, t, RETRACED_ALL


@within
def fixed_arm(
    who: Explorer, state: State, work: Floats, places: Integers, rng: np.random.Generator
) -> tuple[int, int, float, float, float]:
    """What `glance` tells of an exploring round among fixed arms; an arm below 0 needs Python."""
    _, _, columns, board, _, run, _ = state
    count, kind = columns.shape[1], who.base.kind
    tries, uniform = False, 0
    if who.share > 0.0:
        tries, uniform = rng.random() < who.share, any_arm(count, rng)
    if kind == LINUCB:
        seen = glance(board, run, who.numbers, work, places)
    else:
        seen = greedy_glance(board, run, who.numbers)
    arm = seen[0]
    if arm < 0:
        return seen
    if kind == UNIFORM:
        arm = any_arm(count, rng)
    elif kind != LINUCB and kind != GREEDY:
        arm = sampled(who.base, columns, state, rng)
    if tries:
        arm = uniform
    estimate = board[0, arm] + run[kernels.PHI] * board[2, arm]
    return arm, seen[1], estimate, seen[3], 0.0


@compiled
def retrace_fixed(
    first: int,
    begun: int,
    order: Integers,
    ends: Integers,
    rewards: Floats,
    who: Explorer,
    state: State,
    counts: Floats,
    counter: Integers,
    rest: Integers,
    rng: np.random.Generator,
    out: Retraced,
) -> tuple[int, int, int]:
    """The same among fixed arms: `order` are usable events by arm, those of arm k end before `ends[k]`.

    The next event, further rounds, and why it ended: RETRACED_ALL also where no event agrees any more.
    """
    truth, solved, columns, board, vectors, run, penalty = state
    arms = columns.shape[1]
    work, places, turn, t = np.empty(arms), np.empty(arms, dtype=np.int64), 0, 0
    at = np.zeros(arms, dtype=np.int64)
    for k in range(1, arms):
        at[k] = ends[k - 1]
    event = first
    while t < out.event.size:
        explores = who.always or (turn < who.exploring.size and who.exploring[turn] == begun + t + 1)
        if explores and not who.is_compiled:
            return event, t, ASK_POLICY
        if explores:
            set_round(begun + t + 1, counter, rest)
            seen = fixed_arm(who, state, work, places, rng)
        else:
            seen = greedy_glance(board, run, who.numbers)
        arm, greedy = seen[0], seen[1]
        if arm < 0:
            return event, t, ASK_POLICY
        while at[arm] < ends[arm] and order[at[arm]] < event:
            at[arm] += 1
        if at[arm] == ends[arm]:
            return event, t, RETRACED_ALL
        place = order[at[arm]]
        out.event[t], out.explored[t], out.different[t] = place, explores, explores and arm != greedy
        out.loss[t] = max(seen[3] - seen[2], 0.0) if explores else 0.0
        kernels.learn_counted(
            truth, penalty, solved, columns, board, vectors, run, counts, arm, rewards[place]
        )
        event, t = place + 1, t + 1
        turn += explores
    return event, t, RETRACED_ALL
