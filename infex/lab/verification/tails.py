"""Statements about sums and chances alone: C8, C9 and C13."""

from __future__ import annotations

import math

import numpy as np

from infex.arrays import Floats
from infex.lab.verification.statement import Effort, Measured, Statement

TAIL_DELTA = 0.1


def crossings(level: float) -> float:
    """The sum over n of P(S_n/n >= c) for a walk of N(0, 1) steps: sum of erfc(c sqrt(n/2))/2."""
    last = math.ceil((40.0 / level) ** 2)
    return sum(0.5 * math.erfc(level * math.sqrt(n / 2.0)) for n in range(last, 0, -1))


def check_crossings(effort: Effort) -> Measured:
    """The greatest share, computed exactly: these sums converge fast."""
    return Measured(max(crossings(level) * 2.0 * level**2 for level in (0.1, 0.2, 0.5, 1.0)))


def excess(rng: np.random.Generator, chances: Floats, runs: int, factor: float = 2.0) -> float:
    """The share of runs in which the chances sum up to more than factor (sum of X + log(1/delta)) at some n.

    X_t is 1 with a chance that depends on the past: the next of `chances` after every success.
    """
    step, owed = np.zeros(runs, int), np.zeros(runs)
    broken = np.zeros(runs, bool)
    for _ in range(400):
        chance = chances[step % chances.size]
        success = rng.random(runs) < chance
        owed += chance - factor * success
        step += success
        broken |= owed >= factor * math.log(1.0 / TAIL_DELTA)
    return float(broken.mean())


def check_excess(effort: Effort) -> Measured:
    """The greatest share of several rules that make chances of the past."""
    rng, runs = effort.rng("freedman"), 4000 * effort.scale
    rules = ([0.02], [0.2], [0.9, 0.1], [0.01, 0.3, 1.0])
    return Measured(max(excess(rng, np.array(rule), runs) for rule in rules), TAIL_DELTA)


def reciprocals(period: int, last: int) -> Floats:
    """The sum over t <= T of 1/max(floor(t/m), 1) as a share of m (1 + log T), for T up to `last`."""
    rounds = np.arange(1, last + 1)
    sums = np.cumsum(1.0 / np.maximum(rounds // period, 1))
    return np.asarray(sums / (period * (1.0 + np.log(rounds))))


def check_reciprocals(effort: Effort) -> Measured:
    """The greatest share for all T up to 20,000 and many m.

    Example 1 of the paper comes to this by a middle step that does not hold.
    """
    periods = (*range(1, 40), 50, 100, 500, 1000)
    return Measured(max(float(reciprocals(m, 20_000 * effort.scale).max()) for m in periods), 1.0 + 1e-12)


TAIL_STATEMENTS = (
    Statement(
        "C8",
        "a normal walk's mean is above c at most 1/(2 c^2) times, in expectation: the greatest share of it",
        check_crossings,
    ),
    Statement(
        "C9",
        "expected steps exceed 2 (steps + log(1/delta)) with chance at most delta = 0.1: the share of runs",
        check_excess,
    ),
    Statement(
        "C13",
        "sum_{t <= T} 1/max(floor(t/m), 1) is at most m (1 + log T): the greatest share of it",
        check_reciprocals,
    ),
)
