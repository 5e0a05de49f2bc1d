"""Estimators other than ridge as kernels: each takes in one reward, and solves; see `calling`.

A fitter is given x, a reward, its weight, the penalty, its settings, the memory it keeps (numbers, all 0 at
first) and room for what it solves: M and theta, as `kernels` describes them. It gives the volume. A
weight of 0 asks it to solve with nothing learnt.
"""

import math

import numpy as np

from infex.arrays import Floats
from infex.errors import InvalidReward
from infex.kernels.algebra import rows_dot
from infex.kernels.compiling import compiled, larger, lend, woven
from infex.kernels.factoring import factor, factor_finely
from infex.kernels.layout import FINE
from infex.kernels.learning import add_pulls, settle
from infex.kernels.least_squares import descend

STEPS = 100
SHORTEST_STEP = 1e-26  # the squared length of a step in H, for each reward, at which the search stops
LEAST_PIVOT = 1e-300  # rounding may not make a root of nothing
WINDOW = 3  # numbers that a window keeps beside its sums and rewards: how many, where the next goes, dropped


@compiled
def settled(truth: Floats, penalty: float, solved: Floats) -> float:
    """The volume, and M and theta, of ridge regression by its sums."""
    return settle(truth, penalty, solved)


@compiled
def fit_weighted(
    x: Floats, reward: float, weight: float, penalty: float, settings: Floats, memory: Floats, solved: Floats
) -> float:
    """Ridge regression by weights."""
    truth = memory.reshape((2, x.size + 1, x.size))
    if weight > 0.0:
        add_pulls(truth, penalty, x, weight, weight * reward)
    return settle(truth, penalty, solved)


@compiled
def fit_windowed(
    x: Floats, reward: float, weight: float, penalty: float, settings: Floats, memory: Floats, solved: Floats
) -> float:
    """Ridge regression of the last settings[0] rewards, whose sums are taken anew when all have changed."""
    d = x.size
    sums = 2 * (d + 1) * d
    truth = memory[WINDOW : WINDOW + sums].reshape((2, d + 1, d))
    if weight > 0.0:
        last = memory[WINDOW + sums :].reshape((-1, d + 2))
        add_pulls(truth, penalty, x, weight, weight * reward)
        replace(truth, penalty, settings[0], memory, last[int(memory[1])])
        row = last[int(memory[1])]
        row[:d] = x
        row[d], row[d + 1] = reward, weight
        memory[1] = 0.0 if memory[1] + 1.0 == settings[0] else memory[1] + 1.0
        if memory[2] == settings[0]:
            sum_anew(truth, penalty, last, int(memory[1]), int(memory[0]))
            memory[2] = 0.0
    return settle(truth, penalty, solved)


@compiled
def replace(truth: Floats, penalty: float, size: float, memory: Floats, oldest: Floats) -> None:
    """One more is in the window, or the oldest leaves it."""
    d = truth.shape[2]
    if memory[0] < size:
        memory[0] += 1.0
        return
    add_pulls(truth, penalty, oldest[:d], -oldest[d + 1], -oldest[d + 1] * oldest[d])
    memory[2] += 1.0


@compiled
def sum_anew(truth: Floats, penalty: float, last: Floats, first: int, held: int) -> None:
    """The sums of a full window, from its oldest reward on."""
    d = truth.shape[2]
    truth[:] = 0.0
    for back in range(held):
        row = last[(first + back) % held]
        add_pulls(truth, penalty, row[:d], row[d + 1], row[d + 1] * row[d])


@compiled
def fit_discounted(
    x: Floats, reward: float, weight: float, penalty: float, settings: Floats, memory: Floats, solved: Floats
) -> float:
    """Ridge regression whose weights fade by settings[0] with each reward, their squares by settings[1]."""
    d = x.size
    sums = memory.reshape((2, 2, d + 1, d))
    truth, squares = sums[0], sums[1]
    if weight > 0.0:
        for part in range(2):
            for i in range(d + 1):
                for j in range(d):
                    truth[part, i, j] *= settings[0]
                    squares[part, i, j] *= settings[1]
        add_pulls(truth, penalty, x, weight, weight * reward)
        add_pulls(squares, penalty, x, weight, 0.0)
    return spread(truth, squares, penalty, solved)


@compiled
def spread(truth: Floats, squares: Floats, penalty: float, solved: Floats) -> float:
    """theta by the sums V, the factor of the covariance V^-1 W V^-1 by those of squared weights, W's volume.

    With V^-1 = M'M, W = L L' and K = M L, the covariance is M'(K K')M. So it is F'F with F = T M, where
    T is the lower triangular root K K' = T'T, found from its last row up; K K' is at most I, as weights are.
    """
    truth, squares, solved = lend(truth), lend(squares), lend(solved)
    d = solved.shape[1]
    settle(truth, penalty, solved)
    root, inner, row = np.zeros((d + 1, d)), np.zeros((d, d)), np.empty(d)
    volume = factor_finely(squares, penalty, root) if penalty < FINE else factor(squares, penalty, root)
    for i in range(d):  # K; sums go along memory, each in the order of k
        for k in range(i + 1):
            part = solved[i, k]
            for j in range(k + 1):
                inner[i, j] += part * root[k, j]
    for i in range(d):
        for j in range(i + 1):
            root[i, j] = rows_dot(inner, i, j, j + 1)
    for i in range(d - 1, -1, -1):  # T, in the lower triangle of `inner`
        for j in range(i + 1):
            row[j] = root[i, j]
        for k in range(i + 1, d):
            part = inner[k, i]
            for j in range(i + 1):
                row[j] -= part * inner[k, j]
        pivot = math.sqrt(larger(row[i], LEAST_PIVOT))
        inner[i, i] = pivot
        for j in range(i):
            inner[i, j] = row[j] / pivot
    for i in range(d - 1, -1, -1):
        for j in range(i + 1):
            row[j] = 0.0
        for k in range(i + 1):
            part = inner[i, k]
            for j in range(k + 1):
                row[j] += part * solved[k, j]
        for j in range(i + 1):
            solved[i, j] = row[j]
    return max(volume, 0.0)


@compiled
def fit_lasso(
    x: Floats, reward: float, weight: float, penalty: float, settings: Floats, memory: Floats, solved: Floats
) -> float:
    """LASSO of strength settings[0] from its last estimate on, with the factor of ridge regression."""
    d = x.size
    truth = memory[1 + d :].reshape((2, d + 1, d))
    theta = memory[1 : 1 + d]
    if weight > 0.0:
        add_pulls(truth, penalty, x, weight, weight * reward)
        memory[0] += 1.0
    volume = settle(truth, penalty, solved)
    lasso(truth, memory[0], settings[0], theta)
    solved[d] = theta
    return volume


@compiled
def lasso(truth: Floats, told: float, strength: float, theta: Floats) -> None:
    """LASSO by sums of so many rewards, from theta on, in its place."""
    d = theta.size
    if told == 0.0:
        return
    gram, moment = np.empty((d, d)), np.empty(d)
    for i in range(d):
        moment[i] = (truth[0, d, i] + truth[1, d, i]) / told
        for j in range(i + 1):
            gram[i, j] = gram[j, i] = (truth[0, i, j] + truth[1, i, j]) / told
    descend(gram, moment, strength, theta)


@compiled
def fit_logistic(
    x: Floats, reward: float, weight: float, penalty: float, settings: Floats, memory: Floats, solved: Floats
) -> float:
    """Logistic regression from its last estimate on, by how often each x was followed by 0 and by 1."""
    d = x.size
    theta, count = memory[1 : 1 + d], int(memory[0])
    room = (memory.size - 1 - d) // (d + 2)
    rows = memory[1 + d : 1 + d + room * d].reshape((room, d))
    plays = memory[1 + d + room * d :].reshape((2, room))
    if weight > 0.0:
        if reward != 0.0 and reward != 1.0:
            raise InvalidReward("a reward for Logistic must be 0 or 1, got", reward)
        place = 0
        while place < count and not same_row(rows, place, x):
            place += 1
        if place == count:
            rows[place] = x
            memory[0] += 1.0
            count += 1
        plays[int(reward), place] += weight
    return logistic(rows[:count], plays[0, :count], plays[1, :count], penalty, theta, solved)


@woven
def same_row(rows: Floats, place: int, x: Floats) -> bool:
    """Is x the row at a place?"""
    i = 0
    while i < x.size and rows[place, i] == x[i]:
        i += 1
    return i == x.size


@compiled
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
            small = math.exp(-abs(odds))
            chance = 1.0 / (1.0 + small) if odds >= 0.0 else small / (1.0 + small)
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
    solved[d] = theta
    return volume


@compiled
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
    sums[d] = slope
