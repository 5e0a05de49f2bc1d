"""Weighted rewards of a log: what each round adds to an estimate of another policy's value."""

import math

import numpy as np

from infex.arrays import Floats, Integers
from infex.kernels.compiling import compiled, woven

AS_IT_IS, CLIPPED, CUT_OFF, SHRUNK, BENT = range(5)
SHIFTED_BY = 64  # rounds whose mean terms are measured from, so that squares lose no digits


@woven
def bend(kind: int, weight: float, setting: float) -> float:
    """A weight w made smaller: min(w, s), w where w <= s, s w/(w^2 + s), or w/(1 - s + s w)."""
    if kind == CLIPPED:
        return min(weight, setting)
    if kind == CUT_OFF:
        return weight if weight <= setting else 0.0
    if kind == SHRUNK:
        if setting == 0.0 or math.isinf(setting):
            return 0.0 if setting == 0.0 else weight
        return setting * weight / (weight * weight + setting)
    if kind == BENT:
        return weight / (1.0 - setting + setting * weight) if weight > 0.0 else 0.0
    return weight


@compiled
def weigh_rounds(
    arm: Integers,
    probability: Floats,
    chances: Floats,
    fitted: Floats,
    weight: Floats,
    direct: Floats,
    at: Floats,
) -> None:
    """For each round: the weight of its arm, the model's value of the target, and the model's of the arm."""
    arms = chances.shape[1]
    for t in range(arm.size):
        value = other = 0.0  # two strands: one addition need not wait for the last
        for k in range(0, arms - 1, 2):
            value += chances[t, k] * fitted[t, k]
            other += chances[t, k + 1] * fitted[t, k + 1]
        if arms % 2:
            value += chances[t, arms - 1] * fitted[t, arms - 1]
        value += other
        weight[t] = chances[t, arm[t]] / probability[t]
        direct[t] = value
        at[t] = fitted[t, arm[t]]


@compiled
def fill_terms(
    kind: int,
    setting: float,
    scale: float,
    weight: Floats,
    reward: Floats,
    direct: Floats,
    at: Floats,
    out: Floats,
) -> None:
    """direct + bent weight (reward - at)/scale, for each round."""
    for t in range(weight.size):
        out[t] = direct[t] + bend(kind, weight[t], setting) * (reward[t] - at[t]) / scale


@compiled
def spread_of_terms(
    kind: int, setting: float, weight: Floats, reward: Floats, direct: Floats, at: Floats
) -> tuple[float, float]:
    """Mean and sum of squared deviations of these terms, in one pass."""
    n = weight.size
    first = min(n, SHIFTED_BY)
    shift = 0.0
    for t in range(first):
        shift += direct[t] + bend(kind, weight[t], setting) * (reward[t] - at[t])
    shift /= first
    total = square = 0.0
    for t in range(n):
        term = direct[t] + bend(kind, weight[t], setting) * (reward[t] - at[t]) - shift
        total += term
        square += term * term
    return shift + total / n, max(square - total * total / n, 0.0)


@compiled
def deviations(values: Floats, middle: float) -> tuple[float, float, float]:
    """The sum of squared deviations from the middle, the greatest deviation, and the largest value."""
    square = most = largest = 0.0
    for t in range(values.size):
        apart = values[t] - middle
        square += apart * apart
        most, largest = max(most, abs(apart)), max(largest, abs(values[t]))
    return square, most, largest


@compiled
def spread_of_ratio(
    weight: Floats, reward: Floats, direct: Floats, at: Floats
) -> tuple[float, float, float, float]:
    """mean direct + sum w e/sum w with e = reward - at; the sum of its squared linear terms; sum w, sum w^2.

    By the delta method the ratio moves by (direct - its mean) + w (e - ratio)/mean w.
    """
    n = weight.size
    total = squares = product = straight = 0.0
    for t in range(n):
        total += weight[t]
        squares += weight[t] * weight[t]
        product += weight[t] * (reward[t] - at[t])
        straight += direct[t]
    ratio, mean = product / total, straight / n
    spread = 0.0
    for t in range(n):
        term = direct[t] - mean + weight[t] * (reward[t] - at[t] - ratio) * (n / total)
        spread += term * term
    return mean + ratio, spread, total, squares


@compiled
def power_sums(weight: Floats, reward: Floats, least: float, span: float) -> tuple[float, ...]:
    """Sums of w, w^2, w r, w^2 r, w^2 r^2 with r = (reward - least)/span; least and greatest w."""
    one = two = one_r = two_r = two_rr = 0.0
    low, high = np.inf, -np.inf
    for t in range(weight.size):
        w, r = weight[t], (reward[t] - least) / span
        ww = w * w
        one += w
        two += ww
        one_r += w * r
        two_r += ww * r
        two_rr += ww * r * r
        low, high = min(low, w), max(high, w)
    return one, two, one_r, two_r, two_rr, low, high
