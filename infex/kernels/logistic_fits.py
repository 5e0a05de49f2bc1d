"""Logistic regression as a kernel: exact fits at doubling times, and a step of O(d^2) for rewards in between.

Between two fits by Newton's method over all rows, a reward y of x brings theta to the minimum of its own loss
and the quadratic about the present estimate: theta + a H^-1 x with a = y - p(s), s = x'theta + a q and
q = x'H^-1 x, a search for one number. Then H grows by p(1-p) x x'.

This leaves out how the curvature of earlier rewards changes as theta moves. Where theta has moved by D in the
norm of H, the slope is off by at most sum p(1-p) (x'D)^2 |x|/2, and a chance by |D|^2 max(q)/8. Steps add up
like a random walk, |D|^2 to the sum of a^2 q: all is fitted anew when that sum times the largest q is above
MOVED_FAR, when rewards have doubled, and with every reward while rows or rewards are few. So fits cost O(d^2)
a reward, too.
"""

import math

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidReward
from infex.kernels.algebra import dot, project, rank_one
from infex.kernels.compiling import compiled, copy_into, inner, larger, shared, within, woven
from infex.kernels.learning import settle

STEPS = 100
SHORTEST_STEP = 1e-26  # the squared length of a step in H, for each reward, at which the search stops
FEW_ROWS = 4  # different x that are fitted anew with every reward
FEW_REWARDS = 256
MOVED_FAR = 0.01
HALVINGS = 120
FIT_DUE, WALKED, WIDEST, FIT_STATE = range(4)  # rewards at the next fit; sum of a^2 q, largest q
COUNT, TOLD, GROWN, STATE_BEGINS = range(4)  # rows, rewards, the volume; the state of the fit
LOGISTIC_HEAD = STATE_BEGINS + FIT_STATE


@inner
def fit_logistic(
    x: Floats, reward: float, weight: float, penalty: float, settings: Floats, memory: Floats, solved: Floats
) -> float:
    """Logistic regression by how often each x was followed by 0 and by 1."""
    d, count = x.size, int(memory[COUNT])
    room = (memory.size - LOGISTIC_HEAD) // (d + 2)
    rows = memory[LOGISTIC_HEAD : LOGISTIC_HEAD + room * d].reshape((room, d))
    plays = memory[LOGISTIC_HEAD + room * d :].reshape((2, room))
    if weight > 0.0:
        if reward != 0.0 and reward != 1.0:
            raise InvalidReward("a reward for Logistic must be 0 or 1, got", reward)
        place = 0
        while place < count and not same_row(rows, place, x):
            place += 1
        if place == count:
            for i in range(d):
                rows[place, i] = x[i]
            memory[COUNT] += 1.0
            count += 1
        plays[int(reward), place] += weight
        memory[TOLD] += 1.0
    state = memory[STATE_BEGINS:LOGISTIC_HEAD]
    if weight == 0.0 or is_due(count, memory[TOLD], state):
        begin(state, memory[TOLD])
        theta = solved[d].copy() if weight > 0.0 else np.zeros(d)
        memory[GROWN] = logistic(rows[:count], plays[0, :count], plays[1, :count], penalty, theta, solved)
    else:
        memory[GROWN] += follow(x, reward, weight, solved, state)
    return float(memory[GROWN])


@compiled
def is_due(rows: int, told: float, state: Floats) -> bool:
    """Is all fitted anew with this reward?"""
    few = rows <= FEW_ROWS or told <= FEW_REWARDS
    return few or told >= state[FIT_DUE] or state[WALKED] * state[WIDEST] > MOVED_FAR


@compiled
def begin(state: Floats, told: float) -> None:
    """All was fitted anew with so many rewards."""
    state[FIT_DUE], state[WALKED], state[WIDEST] = 2.0 * told, 0.0, 0.0


@woven
def probability(odds: float) -> float:
    """1/(1 + exp(-odds)), for odds of any size."""
    small = math.exp(-abs(odds))
    return 1.0 / (1.0 + small) if odds >= 0.0 else small / (1.0 + small)


@shared
def follow(x: Floats, reward: float, weight: float, solved: Floats, state: Floats) -> float:
    """How much the volume grows with one reward more, and in `solved` the estimate and the factor of H."""
    d = x.size
    vectors = np.empty((4, d))
    copy_into(vectors[0], x)
    q = project(solved, vectors)
    start = dot(x, solved[d], d)
    odds = settled_odds(start, q * weight, reward)
    chance = probability(odds)
    left = weight * (reward - chance)
    for i in range(d):
        solved[d, i] += left * vectors[2, i]
    curvature = weight * chance * (1.0 - chance)
    rank_one(solved, vectors, curvature)
    state[WALKED] += left * left * q
    state[WIDEST] = larger(state[WIDEST], q)
    return math.log1p(curvature * q)


@inner
def settled_odds(start: float, reach: float, reward: float) -> float:
    """The odds s = start + reach (reward - p(s)), by Newton's method, which halving keeps within bounds."""
    low = start - reach if reward < 0.5 else start
    high = start if reward < 0.5 else start + reach
    odds, before = start, math.inf
    for _ in range(HALVINGS):
        chance = probability(odds)
        off = odds - start - reach * (reward - chance)
        if off == 0.0:
            break
        if off > 0.0:
            high = odds
        else:
            low = odds
        step = off / (1.0 + reach * chance * (1.0 - chance))
        if abs(step) <= 1e-15 * (1.0 + abs(odds)):
            break
        odds -= step
        if not low <= odds <= high or abs(off) > 0.5 * before:
            odds = 0.5 * (low + high)
        before = abs(off)
    return odds


@woven
def same_row(rows: Floats, place: int, x: Floats) -> bool:
    """Is x the row at a place?"""
    i = 0
    while i < x.size and rows[place, i] == x[i]:
        i += 1
    return i == x.size


@shared
def logistic(
    rows: Floats, losses: Floats, wins: Floats, penalty: float, theta: Floats, solved: Floats
) -> float:
    """The volume, and the estimate and H after so many losses and wins of each row, by Newton's method.

    With r the largest change of any x'theta, log(1 + r)/r of a step never goes too far: along it the
    third derivative is at most r times the second (Bach, 2010), and this minimises the bound that
    follows from that. Near the end it is a whole step. The search starts from theta.
    """
    n, d = rows.shape
    truth, volume, played = np.zeros((2, d + 1, d)), 0.0, 0.0
    weights, slope = np.empty(n), np.empty(d)
    for k in range(n):
        played += losses[k] + wins[k]
    for _ in range(STEPS):
        for i in range(d):
            slope[i] = -penalty * theta[i]
        for k in range(n):
            odds = 0.0
            for i in range(d):
                odds += rows[k, i] * theta[i]
            chance = probability(odds)
            plays = losses[k] + wins[k]
            weights[k] = plays * chance * (1.0 - chance)
            left = wins[k] - plays * chance
            for i in range(d):
                slope[i] += left * rows[k, i]
        weigh(rows, weights, slope, truth)
        volume = settle(truth, penalty, solved)
        gained, reach = 0.0, 0.0
        for i in range(d):
            gained += slope[i] * solved[d, i]
        if gained <= SHORTEST_STEP * (1.0 + played):
            break
        for k in range(n):
            change = 0.0
            for i in range(d):
                change += rows[k, i] * solved[d, i]
            reach = larger(reach, abs(change))
        share = math.log1p(reach) / reach if reach > 0.0 else 1.0
        for i in range(d):
            theta[i] += share * solved[d, i]
    copy_into(solved[d], theta)
    return volume


@within
def weigh(rows: Floats, weights: Floats, slope: Floats, truth: Floats) -> None:
    """sum weight x x' and the slope, as the sums of a ridge; four rows at a time."""
    n, d = rows.shape
    sums = truth[0]
    sums[:] = 0.0
    k = 0
    while k + 4 <= n:
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for i in range(d):
            a0, a1, a2, a3 = w0 * rows[k, i], w1 * rows[k + 1, i], w2 * rows[k + 2, i], w3 * rows[k + 3, i]
            for j in range(i + 1):
                sums[i, j] += (
                    a0 * rows[k, j] + a1 * rows[k + 1, j] + (a2 * rows[k + 2, j] + a3 * rows[k + 3, j])
                )
        k += 4
    while k < n:
        for i in range(d):
            part = weights[k] * rows[k, i]
            for j in range(i + 1):
                sums[i, j] += part * rows[k, j]
        k += 1
    copy_into(sums[d], slope)
