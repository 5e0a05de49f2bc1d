"""Estimators other than ridge as kernels: each takes in one reward, and solves; see `calling`.

A fitter is given x, a reward, its weight, the penalty, its settings, the memory it keeps (numbers, all 0 at
first) and room for what it solves: M and theta, as `kernels` describes them. It gives the volume. A
weight of 0 asks it to solve with nothing learnt.
"""

import math

import numpy as np

from infex.arrays import Floats
from infex.kernels.algebra import rows_dot
from infex.kernels.compiling import copy_into, inner, larger, lend, shared, within
from infex.kernels.factoring import factor, factor_finely
from infex.kernels.layout import FINE
from infex.kernels.learning import add_pulls, settle
from infex.kernels.least_squares import descend

LEAST_PIVOT = 1e-300  # rounding may not make a root of nothing
WINDOW = 3  # numbers that a window keeps beside its sums and rewards: how many, where the next goes, dropped


@inner
def fit_weighted(
    x: Floats, reward: float, weight: float, penalty: float, settings: Floats, memory: Floats, solved: Floats
) -> float:
    """Ridge regression by weights."""
    truth = memory.reshape((2, x.size + 1, x.size))
    if weight > 0.0:
        add_pulls(truth, penalty, x, weight, weight * reward)
    return settle(truth, penalty, solved)


@inner
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
        for i in range(d):
            row[i] = x[i]
        row[d], row[d + 1] = reward, weight
        memory[1] = 0.0 if memory[1] + 1.0 == settings[0] else memory[1] + 1.0
        if memory[2] == settings[0]:
            sum_anew(truth, penalty, last, int(memory[1]), int(memory[0]))
            memory[2] = 0.0
    return settle(truth, penalty, solved)


@inner
def replace(truth: Floats, penalty: float, size: float, memory: Floats, oldest: Floats) -> None:
    """One more is in the window, or the oldest leaves it."""
    d = truth.shape[2]
    if memory[0] < size:
        memory[0] += 1.0
        return
    add_pulls(truth, penalty, oldest[:d], -oldest[d + 1], -oldest[d + 1] * oldest[d])
    memory[2] += 1.0


@inner
def sum_anew(truth: Floats, penalty: float, last: Floats, first: int, held: int) -> None:
    """The sums of a full window, from its oldest reward on."""
    d = truth.shape[2]
    truth[:] = 0.0
    for back in range(held):
        row = last[(first + back) % held]
        add_pulls(truth, penalty, row[:d], row[d + 1], row[d + 1] * row[d])


@inner
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


@shared
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


@inner
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
    copy_into(solved[d], theta)
    return volume


@within
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
