"""Sums over the rounds of a log, found some rounds at a time: what a linear model is made of."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.features.base import unit_of
from infex.logs.log import Log
from infex.logs.looks import Looks

SPAN_ROWS = 1 << 16
FEWEST_FREE = 2.0  # degrees of freedom by which noise can be told
RESIDUAL_ROUNDING = 1e-12


def spans(rounds: int, size: int = SPAN_ROWS) -> Iterator[slice]:
    """All rounds, some at a time."""
    return (slice(first, min(first + size, rounds)) for first in range(0, rounds, size))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LogSums:
    """Sums over rewarded rounds: of x x', of reward x, of squared rewards, and how many; parts add up.

    >>> one = LogSums(np.eye(1), np.ones(1), 1.0, 1)
    >>> (one + one).count
    2
    """

    gram: Floats
    moment: Floats
    square: float
    count: int

    def __add__(self, other: LogSums) -> LogSums:
        return LogSums(
            self.gram + other.gram,
            self.moment + other.moment,
            self.square + other.square,
            self.count + other.count,
        )


@final
class Residuals(NamedTuple):
    """What a model leaves: the sum of squares, and of how many degrees of freedom; several add up.

    >>> Residuals(8.0, 2.0).noise()
    2.0
    """

    square: float
    freedom: float

    def noise(self) -> float | None:
        """The noise of rewards by what is left of them; None where too little is."""
        if self.freedom < FEWEST_FREE or not self.square > 0.0:
            return None
        return math.sqrt(self.square / self.freedom)


def residuals_of(sums: LogSums, penalty: float) -> Residuals:
    """The residuals of ridge regression: |y - H y|^2, of n - tr(2 H - H^2) degrees of freedom.

    Sums of squares that are rounding alone are 0.
    """
    dim = len(sums.gram)
    shrunk = np.linalg.solve(penalty * np.eye(dim) + sums.gram, np.c_[sums.gram, sums.moment])
    hat, theta = shrunk[:, :dim], shrunk[:, dim]
    left = sums.square - 2.0 * float(theta @ sums.moment) + float(theta @ sums.gram @ theta)
    freedom = sums.count - float(2.0 * np.trace(hat) - np.trace(hat @ hat))
    return Residuals(left if left > RESIDUAL_ROUNDING * sums.square else 0.0, freedom)


def sums_over(rows: Floats, reward: Floats, rewarded: Bools) -> LogSums:
    """The sums of some rounds; (n, d) rows of the arms that were played."""
    if not rewarded.all():
        rows, reward = rows[rewarded], reward[rewarded]
    return LogSums(rows.T @ rows, rows.T @ reward, float(reward @ reward), len(reward))


def played_sums(rows: PlayedRows, reward: Floats, rewarded: Bools) -> LogSums:
    """The sums of all rounds."""
    parts = (sums_over(rows.inside(span), reward[span], rewarded[span]) for span in spans(reward.size))
    return functools.reduce(operator.add, parts)


@final
class PlayedRows(NamedTuple):
    """Features of the arms that were played: row `which[t]` of the `table` in round t.

    >>> PlayedRows(np.eye(2), np.array([1, 1, 0])).times(np.array([3.0, 5.0])).tolist()
    [5.0, 5.0, 3.0]
    """

    table: Floats
    which: Integers

    def inside(self, span: slice) -> Floats:
        """Those of some rounds, (rounds, d)."""
        found: Floats = self.table[self.which[span]]
        return found

    def times(self, theta: Floats) -> Floats:
        """The estimates x'theta, (n,)."""
        found: Floats = (self.table @ theta)[self.which]
        return found

    def longest(self) -> float:
        """The greatest length of a row that was played."""
        squares = np.einsum("ij,ij->i", self.table, self.table)
        return math.sqrt(float(squares[self.which].max()))


def played_rows(log: Log, looks: Looks) -> PlayedRows:
    """Features of the arms that were played; where arms always look the same, they are kept once."""
    if looks.fixed is not None:
        return PlayedRows(np.ascontiguousarray(looks.fixed), log.arm)
    found = np.empty((len(log), looks.dim))
    for span in spans(len(log)):
        found[span] = looks.played(span, log.arm[span])
    return PlayedRows(found, np.arange(len(log)))


def penalty_of(log: Log) -> float:
    """The log's penalty, 1 if it does not say, for features as a map divides them."""
    return (1.0 if log.facts.penalty is None else log.facts.penalty) / unit_of(log.features) ** 2
