"""The compiled loop of all that the hot loop has no room for: notes, controls, other estimators, kernels.

It goes round by round as `rounds.Player` does, over a fixed arm set. What differs between policies and
estimators is called at its address (see `calling`), so that one loop, compiled once, plays them all.
"""

from typing import Any, NamedTuple

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, Words
from infex.kernels import ARM
from infex.kernels.bases import NoSuchArm, pick
from infex.kernels.calling import call, call_fitter, call_learner
from infex.kernels.compiling import compiled, lend, ticks, within, woven
from infex.kernels.fixed_runs import GeneratorMemory, Outcome, Rewarding, Rule, State, begun, set_generators
from infex.kernels.gating import (
    DONE,
    OPEN,
    STILL_OWED,
    Controls,
    Spending,
    explore,
    greedy,
    opening,
    refusal,
    skip,
)
from infex.kernels.handing import generator_at
from infex.kernels.layout import RUNS, VOLUME
from infex.kernels.learning import square_widths
from infex.kernels.regret import close_stretch, note, regret
from infex.kernels.rewards import draw_of, reward_of
from infex.kernels.view import viewed

STALE = RUNS  # where no ridge counts its runs: have widths been left behind?


class Deciding(NamedTuple):
    """What decides in the rounds of the base, and hears of rewards: addresses, settings and notes.

    With `apart` the base sees exploring rounds alone; with `own_clock` it counts time by them too. `learner`
    is 0 if nobody listens; it `hears_all` rewards, or those of exploring rounds. With `linked` scores are
    log-odds.
    """

    chooser: Any
    learner: Any
    settings: Floats
    notes: Floats
    tentative: Floats
    asked: Floats  # 1 once it was asked for an arm: a learner hears of rewards from then on
    reads_widths: bool
    apart: bool
    own_clock: bool
    hears_all: bool
    linked: bool


class Fitting(NamedTuple):
    """An estimator at its address, 0 for ridge; its settings, and the weight of every arm's rewards.

    There are no weights for ridge.
    """

    fitter: Any
    settings: Floats
    weights: Floats


class Learning(NamedTuple):
    """What was learnt: the arrays of a ridge, pulls and sums, and what an estimator keeps."""

    ridge: State
    counts: Floats
    memory: Floats


@woven
def fit(learning: Learning, fitting: Fitting, x: Floats, reward: float, weight: float) -> int:
    """An estimator takes in one reward, or none if the weight is 0; 0, or its fault."""
    _, solved, columns, board, _, run, penalty = learning.ridge
    volume, fault = call_fitter(
        fitting.fitter, x, reward, weight, penalty, fitting.settings, learning.memory, solved
    )
    kernels.product(columns, solved[columns.shape[0]], board[0])
    run[VOLUME], run[STALE] = volume, 1.0
    return fault  # type: ignore[no-any-return]


@woven
def widen(ridge: State) -> None:
    """Widths that an estimator has left behind are computed where they are read: a third of its time."""
    _, solved, columns, board, _, run, _ = ridge
    if run[STALE] > 0.0:
        square_widths(solved, columns, board)
        run[STALE] = 0.0


@within
def take(learning: Learning, fitting: Fitting, arm: int, x: Floats, reward: float) -> int:
    """One reward is learnt; 0, or the fault of an estimator that raised."""
    learning.counts[0, arm] += 1.0
    learning.counts[1, arm] += reward
    if fitting.weights.size > 0:
        return fit(learning, fitting, x, reward, fitting.weights[arm])
    truth, solved, columns, board, vectors, run, penalty = learning.ridge
    kernels.learn(truth, penalty, solved, columns, board, vectors, run, arm, reward)
    return 0


@within
def start(learning: Learning, fitting: Fitting) -> int:
    """Nothing is learnt yet."""
    _, _, _, _, vectors, run, _ = learning.ridge
    learning.counts[:] = 0.0
    if fitting.weights.size == 0:
        return 0
    learning.memory[:] = 0.0
    vectors[:], run[:] = 0.0, 0.0
    run[ARM] = -1.0
    return fit(learning, fitting, np.zeros(vectors.shape[1]), 0.0, 0.0)


@within
def play_stateful_rounds(
    t: int,
    end: int,
    rule: Rule,
    deciding: Deciding,
    fitting: Fitting,
    controls: Controls,
    spending: Spending,
    learning: Learning,
    own: Learning,
    problem: Rewarding,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> int:
    """Plays rounds t to end; 0, or the fault of a kernel that raised."""
    exploring, always, _, random_ties = rule
    chooser, learner, settings, notes, tentative, asked, reads_widths, apart, own_clock, hears_all, linked = (
        deciding
    )
    truth, solved, columns, board, vectors, run, penalty = learning.ridge
    own_truth, own_solved, _, own_board, own_vectors, own_run, _ = own.ridge
    law, noise, means, gaps = problem
    checkpoints, curve, tally, counts, arms, rewards, _ = outcome
    totals, controlled, changes = spending.totals, controls.table.shape[0] > 0, notes.size > 0
    seen = viewed(columns, settings, penalty, board, run, solved, vectors, learning.counts, tentative, truth)
    if apart:
        seen = viewed(
            columns, settings, penalty, own_board, own_run, own_solved, own_vectors, own.counts, tentative,
            own_truth,
        )  # fmt: skip
    fitted = fitting.weights.size > 0
    scores, x = np.empty(columns.shape[1]), np.empty(columns.shape[0])
    mark, turn, fault = 0, 0, 0
    while mark < checkpoints.size and checkpoints[mark] < t:
        mark += 1
    while t <= end:
        due = always or (turn < exploring.size and exploring[turn] == t)
        turn += 1 if due else 0
        place, arm, explores, loss = OPEN, -1, False, 0.0
        if controlled and fitted and (due or totals[STILL_OWED] > 0.0):
            widen(learning.ridge)
        if not due or controlled:
            place = opening(t, due, controls, spending, penalty, board, run, linked, scores)
        if place == OPEN:
            if changes:
                tentative[:] = notes
            asked[0] = 1.0
            if fitted and reads_widths:
                widen(own.ridge)
            arm, fault = call(chooser, int(totals[DONE]) + 1 if own_clock else t, seen, rng)
            explores = arm >= 0 or not always
            arm = arm if arm >= -1 else -2 - arm
            if fault != 0:
                break
            if controlled and 0 <= arm < means.size:
                best = greedy(board, run, linked, scores)
                loss = max(scores[best] - scores[arm], 0.0)
                place = refusal(t, loss, controls, spending)
        if place == OPEN:
            if changes:
                notes[:] = tentative
            if explores:
                explore(t, due, loss, spending)
        else:
            explores = False
            arm = greedy(board, run, linked, scores)
            if random_ties:
                arm = pick(scores, random_ties, rng)
            if place >= 0:
                skip(place, due, controls.table, totals)
        if not 0 <= arm < means.size:
            raise NoSuchArm(arm, t)
        reward = reward_of(law, means[arm], noise, draw_of(law, reward_rng))
        for i in range(x.size):
            x[i] = columns[i, arm]
        if learner != 0 and asked[0] > 0.0 and (explores or hears_all):
            fault = call_learner(learner, notes, settings, columns, arm, x, reward, explores)
        if fault == 0:
            fault = take(learning, fitting, arm, x, reward)
        if fault == 0 and explores and apart:
            fault = take(own, fitting, arm, x, reward)
        if fault != 0:
            break
        if arms.size > 0:
            arms[t - 1] = arm
            rewards[t - 1] = reward
        note(tally, counts, gaps, arm, explores, 1.0)
        t += 1
        if mark < checkpoints.size and t > checkpoints[mark]:
            close_stretch(tally, counts, gaps)
            curve[mark] = regret(tally)
            mark += 1
    close_stretch(tally, counts, gaps)
    return fault


@compiled
def play_stateful_batch(
    t: int,
    end: int,
    rule: Rule,
    deciding: Deciding,
    fitting: Fitting,
    controls: Controls,
    spending: Spending,
    learning: Learning,
    own: Learning,
    law: int,
    noise: float,
    which: Integers,
    columns: Floats,
    means: Floats,
    gaps: Floats,
    weights: Floats,
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
) -> int:
    """Plays rounds t to end of many runs, as `fixed_runs.play_batch` does."""
    rule, deciding, fitting, controls = lend(rule), lend(deciding), lend(fitting), lend(controls)
    spending, learning, own, memory = lend(spending), lend(learning), lend(own), lend(memory)
    columns, means, gaps, weights = lend(columns), lend(means), lend(gaps), lend(weights)
    tallies, counts, arms, rewards = lend(tallies), lend(counts), lend(arms), lend(rewards)
    losses, checkpoints, curves = lend(losses), lend(checkpoints), lend(curves)
    which, starts, volumes, times = lend(which), lend(starts), lend(volumes), lend(times)
    reward_rng, rng, nothing = generator_at(handed, 0), generator_at(handed, 1), np.zeros((0, 0, 0))
    for r in range(which.size):
        clock = ticks()
        i = which[r]
        if t == 1 and starts.shape[0] > 0:
            set_generators(memory, starts, r)
        mine = Learning(begun(learning.ridge, columns[i], t == 1, nothing), learning.counts, learning.memory)
        kept = mine
        if deciding.apart:
            kept = Learning(begun(own.ridge, columns[i], t == 1, nothing), own.counts, own.memory)
        fault, fit_here = 0, Fitting(fitting.fitter, fitting.settings, weights[i])
        if t == 1:
            deciding.notes[:], deciding.asked[0], spending.totals[:] = 0.0, 0.0, 0.0
            fault = start(mine, fit_here)
            if fault == 0 and deciding.apart:
                fault = start(kept, fit_here)
        if fault == 0:
            fault = play_stateful_rounds(
                t, end, rule, deciding, fit_here, controls, spending, mine, kept,
                Rewarding(law, noise, means[i], gaps[i]), reward_rng, rng,
                Outcome(checkpoints, curves[r], tallies[r], counts[r], arms[r], rewards[r], losses[r]),
            )  # fmt: skip
        if fault != 0:
            return fault
        volumes[r] = kernels.volume(mine.ridge.run)
        times[r] += ticks() - clock
    return 0
