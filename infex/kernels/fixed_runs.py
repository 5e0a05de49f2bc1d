"""The compiled loop: whole runs of policies that need no Python, over a fixed arm set.

Inside a run of the same arm a greedy round costs O(1): greedy keeps its arm as long as phi stays
in an interval that one pass over the arms finds. Every step on the statistics is a kernel of
`infex.kernels`, the same that a `Bandit` goes through.
"""

from typing import NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, Words
from infex.kernels import ARM, PHI, PSI, START, SUM, N, Q
from infex.kernels.bases import (
    LINTS,
    LINTS_SPHERICAL,
    LINUCB,
    Base,
    NoSuchArm,
    base_arm,
    greedy_arm,
    optimistic_arm,
    sampled_arm,
)
from infex.kernels.compiling import (
    compiled,
    copy_into,
    inner,
    larger,
    lend,
    lending,
    ticks,
    within,
    woven,
)
from infex.kernels.handing import generator_at
from infex.kernels.regret import EXPLORED, close_stretch, note, regret
from infex.kernels.rewards import draw_of, reward_of
from infex.kernels.view import viewed

TINY, FAR = 1e-150, 1e150  # (with infinities LLVM does not vectorise)


class State(NamedTuple):
    """The six arrays of a ridge, as `kernels` describes them, and its penalty."""

    truth: Floats
    solved: Floats
    columns: Floats
    board: Floats
    vectors: Floats
    run: Floats
    penalty: float


class Rule(NamedTuple):
    """Who decides when.

    `exploring` are the rounds of the base; all are if `always`, where the base itself says what
    explores. With `own` it sees the data of its rounds alone and counts time by them.
    """

    exploring: Integers
    always: bool
    own: bool
    random_ties: bool


class Rewarding(NamedTuple):
    """The law of rewards, and every arm's mean and gap."""

    law: int
    noise: float
    means: Floats
    gaps: Floats


class Outcome(NamedTuple):
    """What a run leaves: the regret at `checkpoints`, and every round's arm and reward if there is room."""

    checkpoints: Integers
    curve: Floats
    tally: Floats
    counts: Integers
    arms: Integers
    rewards: Floats
    losses: Floats


@inner
def stay(board: Floats, run: Floats) -> tuple[float, float]:
    """The open interval of phi in which the run's arm is the only one within the tie tolerance.

    Arm k stays below arm a by more than eps iff (s_a - s_k) + phi (g_a - g_k) > eps. The
    tolerance is taken ten times too wide, and the estimate held below `top`, so that rounding
    cannot bring in an arm that a scan would find tied.
    """
    scores, along = board[0], board[2]
    a = int(run[ARM])
    sa, ga = scores[a], along[a]
    top = 10.0 * (1.0 + abs(sa))
    eps = 10.0 * kernels.TIE * (1.0 + top)
    high = (top - abs(sa)) / larger(ga, TINY)
    low = -high
    down = -high  # minus the upper end, so that both are maxima
    scores[a] = -FAR  # leaves the arm itself out
    for k in range(scores.size):
        step = ga - along[k]
        bar = (scores[k] - sa + eps) / (step if step != 0.0 else TINY)
        low = larger(low, bar if step >= 0.0 else -FAR)
        down = larger(down, -bar if step < 0.0 else -FAR)
    scores[a] = sa
    return low, -down


@woven
def coast(
    t: int, last: int, low: float, high: float, run: Floats, law: int, mean: float, noise: float,
    rng: np.random.Generator, arms: Integers, rewards: Floats,
) -> int:  # fmt: skip
    """Plays the run's arm from round t on while greedy keeps it; the round after.

    As `kernels.pull` does, with the scalars of the run in registers.
    """
    n, total, start, q, phi, psi = run[N], run[SUM], run[START], run[Q], run[PHI], run[PSI]
    arm, record = int(run[ARM]), arms.size > 0
    while t <= last and low < phi < high and not kernels.is_long(n, q):
        reward = reward_of(law, mean, noise, draw_of(law, rng))
        n += 1.0
        total += reward
        phi, psi = kernels.shift(n, total, start, q)
        if record:
            arms[t - 1] = arm
            rewards[t - 1] = reward
        t += 1
    run[N], run[SUM], run[PHI], run[PSI] = n, total, phi, psi
    return t


@within
def play_rounds(
    t: int,
    end: int,
    rule: Rule,
    base: Base,
    settings: Floats,
    state: State,
    apart: State,
    problem: Rewarding,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> int:
    """Plays rounds t to end; a board without room is not kept up. 0, or the fault of a kernel that raised."""
    exploring, always, own, random_ties = rule
    truth, solved, columns, board, vectors, run, penalty = state
    own_truth, own_solved, own_columns, own_board, own_vectors, own_run, _ = apart
    law, noise, means, gaps = problem
    checkpoints, curve, tally, counts, arms, rewards, _ = outcome
    nothing, no_counts = np.empty(0), np.full((2, columns.shape[1]), np.nan)  # as nobody reads them
    seen = viewed(columns, settings, penalty, board, run, solved, vectors, no_counts, nothing, truth)
    if own:
        seen = viewed(
            own_columns, settings, penalty, own_board, own_run, own_solved, own_vectors, no_counts, nothing,
            own_truth,
        )  # fmt: skip
    scores, places, sample = seen.scores[2], seen.places, seen.sample
    mark, turn, own_clock = 0, 0, int(tally[EXPLORED])
    fault = 0
    kept, low, high = -1, 0.0, 0.0  # the run's arm if its interval is known, and the interval
    while mark < checkpoints.size and checkpoints[mark] < t:
        mark += 1
    while t <= end:
        pause = min(checkpoints[mark], end) if mark < checkpoints.size else end
        explores = always or (turn < exploring.size and exploring[turn] == t)
        if explores:
            turn += 1
            if base.kind == LINUCB and not own:  # as below, with fewer arrays to hand over
                arm = optimistic_arm(base, penalty, board, run, rng, scores, places)
            elif (base.kind == LINTS or base.kind == LINTS_SPHERICAL) and not own:
                arm = sampled_arm(base, penalty, columns, solved, vectors, run, rng, sample, scores)
            else:
                arm, explores, fault = base_arm(base, own_clock + turn if own else t, seen, rng)
                explores = explores or not always
            last = t
        else:
            known = kept >= 0 and kept == run[ARM] and low < run[PHI] < high
            arm = kept if known else greedy_arm(board, run, random_ties, rng, scores)
            last = pause if turn >= exploring.size else min(pause, exploring[turn] - 1)
        if not 0 <= arm < means.size:
            if fault != 0:
                break
            raise NoSuchArm(arm, t)
        reward = reward_of(law, means[arm], noise, draw_of(law, reward_rng))
        if arm != run[ARM]:
            kept = -1
            kernels.learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
        elif kernels.pull(run, reward):
            kernels.close_run(truth, penalty, solved, columns, board, vectors, run)
        if explores and own:
            kernels.learn(
                own_truth, penalty, own_solved, own_columns, own_board, own_vectors, own_run, arm, reward
            )
        if arms.size > 0:
            arms[t - 1] = arm
            rewards[t - 1] = reward
        first = t
        t += 1
        if run[ARM] != arm:
            kept = -1  # the run grew so long that it was closed
        elif t <= last:
            if kept < 0:
                low, high = stay(board, run)
                kept = arm
            t = coast(t, last, low, high, run, law, means[arm], noise, reward_rng, arms, rewards)
            if kernels.is_long(run[N], run[Q]):
                kernels.close_run(truth, penalty, solved, columns, board, vectors, run)
                kept = -1
        note(tally, counts, gaps, arm, explores, float(t - first))
        if mark < checkpoints.size and t > checkpoints[mark]:
            close_stretch(tally, counts, gaps)
            curve[mark] = regret(tally)
            mark += 1
    close_stretch(tally, counts, gaps)
    return fault


@lending
def begun(state: State, columns: Floats, fresh: bool, learnt: Floats) -> State:
    """The ridge over these arms; if `fresh`, with what was `learnt` before, which may be empty."""
    truth, solved, _, board, vectors, run, penalty = state
    if fresh:
        truth[:], vectors[:] = 0.0, 0.0  # a run before may have left what is no number
        if learnt.size > 0:
            copy_into(truth, learnt)
        kernels.refresh(truth, penalty, solved, columns, board, run)
    return State(truth, solved, columns, board, vectors, run, penalty)


class GeneratorMemory(NamedTuple):
    """The memory of the generators of rewards and of the policy (see `streams.SettableGenerator`)."""

    reward_state: Words
    state: Words
    reward_buffer: Words
    buffer: Words


@woven
def set_generators(memory: GeneratorMemory, starts: Words, r: int) -> None:
    """Sets both generators to the start of their streams."""
    reward_state, state, reward_buffer, buffer = memory
    for i in range(4):
        reward_state[i] = starts[r, 0, i]
        state[i] = starts[r, 1, i]
    reward_buffer[0] = 0
    buffer[0] = 0


@compiled
def play_batch(
    t: int,
    end: int,
    rule: Rule,
    base: Base,
    settings: Floats,
    state: State,
    apart: State,
    law: int,
    noise: float,
    which: Integers,
    columns: Floats,
    means: Floats,
    gaps: Floats,
    handed: Words,
    memory: GeneratorMemory,
    starts: Words,
    checkpoints: Integers,
    curves: Floats,
    tallies: Floats,
    counts: Integers,
    arms: Integers,
    rewards: Floats,
    losses: Floats,
    volumes: Floats,
    times: Integers,
    learnt: Floats,
) -> int:
    """Plays rounds t to end of many runs, one after the other: run r on problem which[r].

    From round 1 on the ridge is set to what was `learnt` before, that of own data to nothing, and the
    generators to `starts`, if they are given; from a later round on the one run goes on as it stands. 0, or
    the fault of a kernel that raised, for `calling.throw`. Both generators are `handed` over as `handing` has
    them.
    """
    state, apart, rule, memory, learnt = lend(state), lend(apart), lend(rule), lend(memory), lend(learnt)
    columns, means, gaps, curves = lend(columns), lend(means), lend(gaps), lend(curves)
    tallies, counts, arms, rewards = lend(tallies), lend(counts), lend(arms), lend(rewards)
    losses, checkpoints, settings = lend(losses), lend(checkpoints), lend(settings)
    which, starts, volumes, times = lend(which), lend(starts), lend(volumes), lend(times)
    reward_rng, rng = generator_at(handed, 0), generator_at(handed, 1)
    for r in range(which.size):
        clock = ticks()
        i = which[r]
        if t == 1 and starts.shape[0] > 0:
            set_generators(memory, starts, r)
        ridge = begun(state, columns[i], t == 1, learnt)
        own = begun(apart, columns[i], t == 1, learnt[:0]) if rule.own else ridge
        problem = Rewarding(law, noise, means[i], gaps[i])
        outcome = Outcome(checkpoints, curves[r], tallies[r], counts[r], arms[r], rewards[r], losses[r])
        fault = play_rounds(t, end, rule, base, settings, ridge, own, problem, reward_rng, rng, outcome)
        if fault != 0:
            return fault
        volumes[r] = kernels.volume(ridge.run)
        times[r] += ticks() - clock
    return 0
