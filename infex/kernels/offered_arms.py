"""Decisions among the arms that a request offers, by the figures that are kept of all; see `kernels`."""

import math

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.kernels.compiling import compiled, larger, woven
from infex.kernels.layout import PHI, PSI
from infex.kernels.reading import best, choosing_radius, interval_radius, tie_bar, volume, width


@compiled
def glance_among(
    board: Floats, run: Floats, numbers: Floats, places: Integers, optimistic: bool
) -> tuple[int, int, float, float, float]:
    """One decision among the arms at `places`, optimistic or greedy, as `kernels.glance` gives it."""
    means = np.empty(places.size)
    for i in range(places.size):
        means[i] = board[0, places[i]] + run[PHI] * board[2, places[i]]
    arm = greedy = best(means)
    if greedy < 0:
        return -1, -1, 0.0, 0.0, 0.0
    if optimistic:
        beta, bounds = choosing_radius(volume(run), numbers), np.empty(places.size)
        for i in range(places.size):
            bounds[i] = means[i] + beta * width(board[1, places[i]], board[2, places[i]], run[PSI])
        arm = best(bounds)
        if arm < 0:
            return -1, -1, 0.0, 0.0, 0.0
    across = width(board[1, places[arm]], board[2, places[arm]], run[PSI])
    margin = interval_radius(volume(run), numbers) * across
    return int(places[arm]), int(places[greedy]), means[arm], means[greedy], margin


@woven
def best_offered(scores: Floats, offered: Bools, n: int) -> int:
    """The arm that `best` finds among those on offer in row n; -1 if none of their scores is a number."""
    top = -math.inf
    for k in range(scores.size):
        if offered[n, k]:
            top = larger(top, scores[k])
    limit = tie_bar(top)
    for k in range(scores.size):
        if offered[n, k] and scores[k] >= limit:
            return k
    return -1


@compiled
def best_of_offers(scores: Floats, offered: Bools, arms: Integers) -> bool:
    """The best arm of the same scores in each row of what is offered, (n, K); False if there is none."""
    fine = True
    for n in range(arms.size):
        arms[n] = best_offered(scores, offered, n)
        fine = fine and arms[n] >= 0
    return fine
