"""The compiled loop of users' kernels, round by round, over problems of every kind."""

import math

import numpy as np

from infex import kernels
from infex.arrays import Floats, Integers, Words
from infex.kernels.bases import READS_SCORES, READS_WIDTHS, NoSuchArm, pick
from infex.kernels.calling import call
from infex.kernels.compiling import compiled, copy_into, lend, ticks, within, woven
from infex.kernels.gating import (
    CERTAINTY,
    CONTROL,
    DONE,
    OPEN,
    RESTS,
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
from infex.kernels.outlook import PENDING_ALL, PENDING_EXPLORED
from infex.kernels.reading import estimates
from infex.kernels.regret import close_stretch, mark_of, note, regret
from infex.kernels.rewards import Law, draw_of, reward_of, rewarded
from infex.kernels.round_parts import (
    Deciding,
    Fitting,
    Learning,
    Room,
    ask_of,
    hear,
    score,
    search_on,
    standing_view,
    start,
    take_fixed,
    widen,
)
from infex.kernels.run_arrays import GeneratorMemory, Outcome, Rule, begun, set_generators
from infex.kernels.world import BadReward, Post, World, enter, gaps_from, information, pend, pending


@woven
def read_by_controls(controls: Controls) -> int:
    """How much of the board controls read."""
    for place in range(controls.table.shape[0]):
        if int(controls.table[place, CONTROL]) == CERTAINTY:
            return READS_WIDTHS
    return READS_SCORES


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
    world: World,
    post: Post,
    room: Room,
    reward_rng: np.random.Generator,
    rng: np.random.Generator,
    outcome: Outcome,
) -> int:
    """Plays rounds t to end; 0, or the fault of a kernel that raised."""
    exploring, always, _, random_ties = rule
    notes, tentative, linked = deciding.notes, deciding.tentative, deciding.linked
    truth, solved, columns, board, vectors, run, penalty = learning.ridge
    checkpoints, curve, tally, counts, arms, rewards, _ = outcome
    totals, dim, count = spending.totals, solved.shape[1], world.means.shape[1]
    controlled, changes, fitted = controls.table.shape[0] > 0, notes.size > 0, fitting.weights.size > 0
    anew, late, first = columns.shape[1] == 0, post.order.size > 0, t
    if anew:
        columns, board = world.columns[0], room.boards[0]
    scores, gaps, x = room.scores[4], room.scores[5], room.sample[4]
    chooser, asked, shown = deciding.chooser, deciding.asked, deciding.shown
    reads_factor, apart, own_clock = deciding.reads_factor, deciding.apart, deciding.own_clock
    law, noise, ends, means, blocks, steady = world
    order, due_at, at, ahead = post.order, post.due, post.at, post.ahead
    pool = PENDING_EXPLORED if apart else PENDING_ALL
    widens = fitted and deciding.reads == READS_WIDTHS
    copies = anew or fitted or linked or deciding.learner != 0
    plain = not copies  # a ridge over fixed arms is all that learns
    seen = standing_view(deciding, own, room)
    row, turn, fault, mark = -1, 0, 0, mark_of(checkpoints, t)
    read = read_by_controls(controls)
    while t <= end:
        if row < 0 or t > ends[row]:
            row += 1
            gaps_from(means[row], gaps)
        if anew:
            columns = blocks[t - first]
        due = always or (turn < exploring.size and exploring[turn] == t)
        turn += 1 if due else 0
        place, arm, explores, loss, scored = OPEN, -1, False, 0.0, not anew
        if not due and totals[STILL_OWED] == 0.0:
            place = RESTS
        elif controlled:
            if anew:
                score(read, solved, columns, board)
                scored = True
            elif fitted:
                widen(learning.ridge)
            place = opening(t, due, controls, spending, penalty, board, run, linked, scores)
        if place == OPEN:
            if changes:
                copy_into(tentative, notes)
            asked[0] = 1.0
            if shown.size > 0:
                copy_into(shown, columns)
            clock = int(totals[DONE]) + 1 if own_clock else t
            if anew or (reads_factor and ahead.counts[pool] > 0):
                arm, fault = ask_of(deciding, own, ahead, columns, room, clock, rng)
            else:
                if widens:
                    widen(own.ridge)
                arm, fault = call(chooser, clock, seen, rng)
            explores = arm >= 0 or not always
            arm = arm if arm >= -1 else -2 - arm
            if fault != 0:
                break
            if controlled and 0 <= arm < count:
                best = greedy(board, run, linked, scores) if linked else estimates(board, run, scores)
                loss = max(scores[best] - scores[arm], 0.0)
                place = refusal(t, loss, controls, spending)
        if place == OPEN:
            if changes:
                copy_into(notes, tentative)
            if explores:
                explore(t, due, loss, spending)
        else:
            explores = False
            if not scored:
                kernels.product(columns, solved[dim], board[0])
                scored = True
            arm = greedy(board, run, linked, scores) if linked else estimates(board, run, scores)
            if random_ties:
                arm = pick(scores, random_ties, rng)
            if place >= 0:
                skip(place, due, controls.table, totals, anew)
        if not 0 <= arm < count:
            raise NoSuchArm(arm, t)
        if steady:
            reward = reward_of(law.kind, means[row, arm], noise[arm], draw_of(law.kind, reward_rng))
            if arms.size > 0:
                arms[t - 1], rewards[t - 1] = arm, reward
            note(tally, counts, gaps, arm, explores, 1.0)
            if checkpoints[mark] == t:
                close_stretch(tally, counts, gaps)
                curve[mark] = regret(tally)
                mark += 1
        else:
            reward, fault = rewarded(law, means[row, arm], noise[arm], t, reward_rng)
            if fault != 0:
                break
            if not math.isfinite(reward):
                raise BadReward(reward, t)
            enter(outcome, t, arm, explores, gaps[arm], reward)
        if copies:
            for i in range(dim):
                x[i] = columns[i, arm]
        if late:
            search_on(learning, fitting)
            if explores and apart:
                search_on(own, fitting)
            if linked and not scored:
                kernels.product(columns, solved[dim], board[0])
            weight = information(linked, board[0, arm] if linked else 0.0, scores[:1])
            pend(post, t, arm, x, reward, explores, apart, weight)
        while True:
            if late:
                if at[0] == order.size or due_at[at[0]] > t:
                    break
                past = order[at[0]]
                arm, reward, explores = post.arms[past], post.rewards[past], post.explored[past]
                if copies:
                    for i in range(dim):
                        x[i] = post.features[past, i] if anew else columns[i, arm]
                pending(post, past, x, apart, -1)
                at[0] += 1
            if plain and not (explores and apart):
                take_fixed(learning.counts, truth, solved, columns, board, vectors, run, penalty, arm, reward)
            else:
                heard = shown if anew else columns
                fault = hear(deciding, fitting, learning, own, heard, arm, x, reward, explores)
            if fault != 0 or not late:
                break
        if fault != 0:
            break
        t += 1
    if steady:
        close_stretch(tally, counts, gaps)
    return fault


@compiled
def play_stretch(
    t: int,
    end: int,
    rule: Rule,
    deciding: Deciding,
    fitting: Fitting,
    controls: Controls,
    spending: Spending,
    learning: Learning,
    own: Learning,
    world: World,
    post: Post,
    room: Room,
    handed: Words,
    outcome: Outcome,
    volumes: Floats,
    learnt: Floats,
) -> int:
    """Plays rounds t to end of one run on a problem of any kind; 0, or the fault of a kernel that raised.

    Round 1 begins with what was `learnt` before, which may be empty; a base with own data with nothing.
    """
    rule, deciding, fitting, controls = lend(rule), lend(deciding), lend(fitting), lend(controls)
    spending, learning, own, world = lend(spending), lend(learning), lend(own), lend(world)
    post, outcome, volumes, room = lend(post), lend(outcome), lend(volumes), lend(room)
    learnt, fault = lend(learnt), 0
    if t == 1:
        begun(learning.ridge, learning.ridge.columns, True, learnt)
        fault = start(learning, fitting)
        if fault == 0 and deciding.apart:
            begun(own.ridge, own.ridge.columns, True, learnt[:0])
            fault = start(own, fitting)
    if fault == 0:
        fault = play_stateful_rounds(
            t, end, rule, deciding, fitting, controls, spending, learning, own, world, post, room,
            generator_at(handed, 0), generator_at(handed, 1), outcome,
        )  # fmt: skip
    volumes[0] = kernels.volume(learning.ridge.run)
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
    law: Law,
    noise: Floats,
    post: Post,
    room: Room,
    which: Integers,
    columns: Floats,
    means: Floats,
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
    ends: Integers,
    nothing: Floats,
) -> int:
    """Plays rounds t to end of many runs, one after the other: run r on problem which[r].

    `ends` is the last round, `nothing` an empty array: what a loop makes is lost when an exception leaves it.
    """
    rule, deciding, fitting, controls = lend(rule), lend(deciding), lend(fitting), lend(controls)
    spending, learning, own, memory = lend(spending), lend(learning), lend(own), lend(memory)
    columns, means, weights, noise = lend(columns), lend(means), lend(weights), lend(noise)
    tallies, counts, arms, rewards = lend(tallies), lend(counts), lend(arms), lend(rewards)
    losses, checkpoints, curves = lend(losses), lend(checkpoints), lend(curves)
    which, starts, volumes, times = lend(which), lend(starts), lend(volumes), lend(times)
    law, post, room = lend(law), lend(post), lend(room)
    ends, nothing = lend(ends), lend(nothing)
    reward_rng, rng = generator_at(handed, 0), generator_at(handed, 1)
    for r in range(which.size):
        clock = ticks()
        i = which[r]
        if t == 1 and starts.shape[0] > 0:
            set_generators(memory, starts, r)
        ridge = begun(learning.ridge, columns[i], t == 1, nothing)
        mine = Learning(ridge, learning.counts, learning.memory, learning.search)
        kept = mine
        if deciding.apart:
            kept = Learning(begun(own.ridge, columns[i], t == 1, nothing), own.counts, own.memory, own.search)
        fault, fit_here = 0, Fitting(fitting.fitter, fitting.settings, weights[i], fitting.search_at)
        if t == 1:
            deciding.notes[:], deciding.asked[0], spending.totals[:] = 0.0, 0.0, 0.0
            fault = start(mine, fit_here)
            if fault == 0 and deciding.apart:
                fault = start(kept, fit_here)
        if fault == 0:
            fault = play_stateful_rounds(
                t, end, rule, deciding, fit_here, controls, spending, mine, kept,
                World(law, noise, ends, means[i : i + 1], nothing, True), post, room, reward_rng, rng,
                Outcome(checkpoints, curves[r], tallies[r], counts[r], arms[r], rewards[r], losses[r]),
            )  # fmt: skip
        if fault != 0:
            return fault
        volumes[r] = kernels.volume(mine.ridge.run)
        times[r] += ticks() - clock
    return 0
