"""The compiled loop: whole runs of built-in policies over a fixed arm set.

Inside a run of the same arm a greedy round costs O(1): greedy keeps its arm as long as phi stays
in an interval that one pass over the arms finds. Every step on the statistics is a kernel of
`infex.linear.kernels`, the same that a `Bandit` goes through.
"""

from typing import Any, NamedTuple

import numpy as np

from infex.environments.rewards import GAUSSIAN, reward_of
from infex.linear import kernels
from infex.linear.compiling import compiled, larger
from infex.linear.kernels import ARM, PHI, PSI, START, SUM, Floats, Integers, N, Q

# What decides in exploring rounds.
GREEDY, UNIFORM, EPSILON, LINUCB, LINTS, LINTS_SPHERICAL = range(6)

READ_THE_BOARD = (GREEDY, EPSILON, LINUCB)  # the others need no score but those of a sample

HUGE = 1e150

# The cells of `tally`: the stretch under way (arm, 1 if it explores, length), and totals.
AT, EXPLORES, LENGTH, GREEDY_REGRET, EXPLORING_REGRET, EXPLORED, TALLY = range(7)


class State(NamedTuple):
    """The six arrays of a ridge, as `kernels` describes them."""

    truth: Floats
    solved: Floats
    columns: Floats
    board: Floats
    vectors: Floats
    run: Floats


class Base(NamedTuple):
    """What decides in exploring rounds: its kind, its numbers, and whether ties are broken at random."""

    kind: int
    noise: float
    bound: float
    delta: float
    scale: float
    rate: float  # of epsilon-greedy; below 0 it is t^(-1/3)
    random_ties: bool


@compiled
def close_stretch(tally: Floats, counts: Integers, gaps: Floats) -> None:
    """Adds the stretch of equal rounds under way to the totals."""
    arm, length = int(tally[AT]), tally[LENGTH]
    if length > 0.0:
        counts[arm] += int(length)
        tally[EXPLORING_REGRET if tally[EXPLORES] > 0.0 else GREEDY_REGRET] += length * gaps[arm]
        tally[EXPLORED] += tally[EXPLORES] * length
        tally[LENGTH] = 0.0


@compiled
def note(tally: Floats, counts: Integers, gaps: Floats, arm: int, explores: bool, rounds: float) -> None:
    """Counts `rounds` rounds of one arm."""
    if arm != tally[AT] or explores != (tally[EXPLORES] > 0.0):
        close_stretch(tally, counts, gaps)
        tally[AT] = arm
        tally[EXPLORES] = 1.0 if explores else 0.0
    tally[LENGTH] += rounds


@compiled
def pick(scores: Floats, random_ties: bool, rng: Any) -> int:
    """The best arm; among ties the lowest index, or one drawn uniformly, as `ties.pick` does."""
    if not random_ties:
        return kernels.best(scores)
    tied = kernels.tied_count(scores)
    return kernels.tied_arm(scores, int(rng.integers(0, tied)) if tied > 1 else 0)


@compiled
def greedy_arm(board: Floats, run: Floats, random_ties: bool, rng: Any, scores: Floats) -> int:
    """The greedy arm."""
    arm = kernels.estimates(board, run, scores)
    return pick(scores, True, rng) if random_ties else arm


@compiled
def radius(base: Base, penalty: float, run: Floats) -> float:
    """beta, as `Confidence.radius` has it."""
    beta = kernels.radius(kernels.volume(run), penalty, base.noise, base.bound, base.delta)
    return base.scale * beta


@compiled
def optimistic_arm(
    base: Base, penalty: float, board: Floats, run: Floats, rng: Any, scores: Floats, places: Integers
) -> int:
    """The arm of the largest upper bound."""
    beta = radius(base, penalty, run)
    if base.random_ties or beta > HUGE:  # whose square would overflow
        kernels.upper(board, run, beta, scores)
        return pick(scores, base.random_ties, rng)
    return kernels.best_upper(board, run, beta, max(int(run[ARM]), 0), scores, places)


@compiled
def base_arm(
    base: Base,
    t: int,
    penalty: float,
    solved: Floats,
    columns: Floats,
    board: Floats,
    vectors: Floats,
    run: Floats,
    rng: Any,
    scores: Floats,
    places: Integers,
    direction: Floats,
    theta: Floats,
) -> tuple[int, bool]:
    """The arm the base chooses, and whether it calls that exploring."""
    kind = base.kind
    if kind == EPSILON:
        rate = min(1.0, t ** (-1.0 / 3.0)) if base.rate < 0.0 else base.rate
        if rng.random() >= rate:
            return greedy_arm(board, run, base.random_ties, rng, scores), False
        return int(rng.integers(0, scores.size)), True
    if kind == UNIFORM:
        return int(rng.integers(0, scores.size)), True
    if kind == GREEDY:
        return greedy_arm(board, run, base.random_ties, rng, scores), False
    if kind == LINUCB:
        return optimistic_arm(base, penalty, board, run, rng, scores, places), True
    for i in range(direction.size):
        direction[i] = rng.standard_normal()
    if kind == LINTS_SPHERICAL:
        kernels.to_sphere(direction)
    kernels.perturb(solved, vectors, run, radius(base, penalty, run), direction, theta)
    kernels.product(columns, theta, scores)
    return pick(scores, base.random_ties, rng), True


@compiled
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
    high = (top - abs(sa)) / larger(ga, 1e-300)
    low = -high
    down = -high  # minus the upper end, so that both are maxima
    scores[a] = -np.inf  # leaves the arm itself out
    for k in range(scores.size):
        step = ga - along[k]
        bar = (scores[k] - sa + eps) / larger(abs(step), 1e-300)
        low = larger(low, bar if step >= 0.0 else -np.inf)
        down = larger(down, bar if step < 0.0 else -np.inf)
    scores[a] = sa
    return low, -down


@compiled
def play_rounds(
    t: int,
    end: int,
    exploring: Integers,
    always: bool,
    own: bool,
    random_ties: bool,
    base: Base,
    state: State,
    apart: State,
    penalty: float,
    law: int,
    means: Floats,
    noise: float,
    gaps: Floats,
    reward_rng: Any,
    rng: Any,
    checkpoints: Integers,
    curve: Floats,
    tally: Floats,
    counts: Integers,
    arms: Integers,
    rewards: Floats,
) -> None:
    """Plays rounds t to end.

    `exploring` are the rounds among them in which the base decides; all do if `always`, where the
    base itself says what explores. With `own` it sees the data of these rounds alone, `apart`,
    and counts time by them. `checkpoints` are rounds at which `curve` gets the regret; `arms` and
    `rewards` are filled if they have room. A board without room is not kept up.
    """
    truth, solved, columns, board, vectors, run = state
    own_truth, own_solved, own_columns, own_board, own_vectors, own_run = apart
    scores = np.empty(columns.shape[1])
    places = np.empty(columns.shape[1], dtype=np.int64)
    direction = np.empty(columns.shape[0])
    theta = np.empty(columns.shape[0])
    record = arms.size > 0
    mark, turn, own_clock = 0, 0, tally[EXPLORED]
    kept, low, high = -1, 0.0, 0.0  # the run's arm if its interval is known, and the interval
    while mark < checkpoints.size and checkpoints[mark] < t:
        mark += 1
    while t <= end:
        pause = min(checkpoints[mark], end) if mark < checkpoints.size else end
        explores = always or (turn < exploring.size and exploring[turn] == t)
        if explores:
            turn += 1
            if own:
                clock = int(own_clock) + turn
                arm, _ = base_arm(
                    base, clock, penalty, own_solved, own_columns, own_board, own_vectors, own_run,
                    rng, scores, places, direction, theta,
                )  # fmt: skip
            elif base.kind == LINUCB:  # as below, with fewer arrays to hand over
                arm = optimistic_arm(base, penalty, board, run, rng, scores, places)
            else:
                arm, explores = base_arm(
                    base, t, penalty, solved, columns, board, vectors, run,
                    rng, scores, places, direction, theta,
                )  # fmt: skip
                explores = explores or not always
            last = t
        else:
            known = kept >= 0 and kept == run[ARM] and low < run[PHI] < high
            arm = kept if known else greedy_arm(board, run, random_ties, rng, scores)
            last = pause if turn >= exploring.size else min(pause, exploring[turn] - 1)
        if arm < 0:
            raise FloatingPointError("no arm has a finite score")
        draw = reward_rng.standard_normal() if law == GAUSSIAN else reward_rng.random()
        reward = reward_of(law, means[arm], noise, draw)
        if arm != run[ARM]:
            kept = -1
            kernels.learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
        elif kernels.pull(run, reward):
            kernels.close_run(truth, penalty, solved, columns, board, vectors, run)
        if explores and own:
            kernels.learn(
                own_truth, penalty, own_solved, own_columns, own_board, own_vectors, own_run, arm, reward
            )
        if record:
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
            n, total, start, q, phi, psi = run[N], run[SUM], run[START], run[Q], run[PHI], run[PSI]
            mean = means[arm]
            while t <= last and low < phi < high and not kernels.is_long(n, q):
                draw = reward_rng.standard_normal() if law == GAUSSIAN else reward_rng.random()
                reward = reward_of(law, mean, noise, draw)
                n += 1.0
                total += reward
                phi, psi = kernels.shift(n, total, start, q)
                if record:
                    arms[t - 1] = arm
                    rewards[t - 1] = reward
                t += 1
            run[N], run[SUM], run[PHI], run[PSI] = n, total, phi, psi
            if kernels.is_long(n, q):
                kernels.close_run(truth, penalty, solved, columns, board, vectors, run)
                kept = -1
        note(tally, counts, gaps, arm, explores, float(t - first))
        if mark < checkpoints.size and t > checkpoints[mark]:
            close_stretch(tally, counts, gaps)
            curve[mark] = tally[GREEDY_REGRET] + tally[EXPLORING_REGRET]
            mark += 1
    close_stretch(tally, counts, gaps)
