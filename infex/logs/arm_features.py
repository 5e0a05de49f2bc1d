"""Features of the arms of a log, in whichever form the log has them, and sums over the arms played."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from infex.arrays import Bools, Floats, Integers
from infex.core.evaluation import mean_features
from infex.features import Disjoint, Encoded, FeatureMap, Interactions
from infex.features.base import unit_of
from infex.features.vectors import vectors_of
from infex.logs.log import Log

ROUNDS_AT_ONCE = 1 << 16
FEWEST_FREE = 2.0  # degrees of freedom from which noise can be estimated
RESIDUAL_ROUNDING = 1e-12


def spans(rounds: int, size: int = ROUNDS_AT_ONCE) -> Iterator[slice]:
    """All rounds, some at a time."""
    return (slice(first, min(first + size, rounds)) for first in range(0, rounds, size))


# Features of all arms


class ArmFeatures(ABC):
    """Features of all arms in a span of rounds; `dim` of them each."""

    dim: int
    fixed: Floats | None = None
    """The features of all arms, (K, d), if they are the same in every round."""

    @abstractmethod
    def every(self, span: slice) -> Floats:
        """Those of all arms, (rounds, K, d)."""

    @abstractmethod
    def played(self, span: slice, arms: Integers) -> Floats:
        """Those of one arm in each round, (rounds, d)."""

    @abstractmethod
    def mixed(self, span: slice, probabilities: Floats) -> Floats:
        """Their mean under probabilities of arms, (rounds, d)."""

    @property
    def width(self) -> int:
        """The number of columns of `parts`."""
        return self.dim

    def parts(self, span: slice, probabilities: Floats) -> Floats:
        """What `mixed` is a linear function of, (rounds, width), where sums of it are cheaper."""
        return self.mixed(span, probabilities)

    def whole(self, parts: Floats) -> Floats:
        """The features that sums of `parts` come to, (n, d)."""
        return parts

    def across(self, thetas: Floats) -> Floats:
        """Parameters for parts, (n, width): parts @ across(theta) is mixed @ theta."""
        return thetas

    def scores(self, span: slice, theta: Floats) -> Floats:
        """The estimates x'theta of all arms, (rounds, K)."""
        found: Floats = self.every(span) @ theta
        return found

    def scores_by(self, span: slice, thetas: Floats, which: Integers) -> Floats:
        """The same with a parameter for each round, thetas[which], (rounds, K)."""
        found: Floats = np.einsum("nkd,nd->nk", self.every(span), thetas[which])
        return found


@final
class OfferFeatures(ArmFeatures):
    """Features of every arm in every round."""

    def __init__(self, offers: Floats) -> None:
        self.offers, self.dim = offers, int(offers.shape[2])

    def every(self, span: slice) -> Floats:
        return self.offers[span]

    def played(self, span: slice, arms: Integers) -> Floats:
        rows = self.offers[span]
        found: Floats = rows[np.arange(len(rows)), arms]
        return found

    def mixed(self, span: slice, probabilities: Floats) -> Floats:
        return mean_features(self.offers[span], probabilities)


@final
class FixedFeatures(ArmFeatures):
    """Features that are the same in every round."""

    def __init__(self, arms: Floats, rounds: int) -> None:
        self.arms, self.dim, self.rounds = arms, int(arms.shape[1]), rounds
        self.fixed = arms

    def every(self, span: slice) -> Floats:
        size = len(range(*span.indices(self.rounds)))
        return np.broadcast_to(self.arms, (size, *self.arms.shape))

    def played(self, span: slice, arms: Integers) -> Floats:
        found: Floats = self.arms[arms]
        return found

    def mixed(self, span: slice, probabilities: Floats) -> Floats:
        found: Floats = probabilities @ self.arms
        return found

    @property
    def width(self) -> int:
        return len(self.arms)

    def parts(self, span: slice, probabilities: Floats) -> Floats:
        return probabilities

    def whole(self, parts: Floats) -> Floats:
        found: Floats = parts @ self.arms
        return found

    def across(self, thetas: Floats) -> Floats:
        found: Floats = thetas @ self.arms.T
        return found

    def scores(self, span: slice, theta: Floats) -> Floats:
        size = len(range(*span.indices(self.rounds)))
        return np.broadcast_to(self.arms @ theta, (size, len(self.arms)))

    def scores_by(self, span: slice, thetas: Floats, which: Integers) -> Floats:
        found: Floats = self.across(thetas)[which]
        return found


@final
class OuterFeatures(ArmFeatures):
    """Outer products of an arm's row and the context: what `disjoint` and `interactions` make."""

    def __init__(self, arms: Floats, contexts: Floats) -> None:
        self.arms, self.contexts, self.dim = arms, contexts, int(arms.shape[1] * contexts.shape[1])

    def every(self, span: slice) -> Floats:
        inside = self.contexts[span]
        found: Floats = self.arms[None, :, :, None] * inside[:, None, None, :]
        return found.reshape(len(inside), len(self.arms), self.dim)

    def played(self, span: slice, arms: Integers) -> Floats:
        return self._outer(self.arms[arms], self.contexts[span])

    def mixed(self, span: slice, probabilities: Floats) -> Floats:
        return self._outer(probabilities @ self.arms, self.contexts[span])

    def scores(self, span: slice, theta: Floats) -> Floats:
        found: Floats = (self.contexts[span] @ theta.reshape(self.arms.shape[1], -1).T) @ self.arms.T
        return found

    def scores_by(self, span: slice, thetas: Floats, which: Integers) -> Floats:
        blocks = thetas[which].reshape(len(which), self.arms.shape[1], -1)
        found: Floats = np.einsum("npc,nc->np", blocks, self.contexts[span]) @ self.arms.T
        return found

    def _outer(self, rows: Floats, contexts: Floats) -> Floats:
        found: Floats = rows[:, :, None] * contexts[:, None, :]
        return found.reshape(len(contexts), self.dim)


@final
class MappedFeatures(ArmFeatures):
    """Features by any other map, which is called for every context."""

    def __init__(self, features: FeatureMap, contexts: Floats, *, encoded: bool = False) -> None:
        self.features, self.contexts, self.dim, self.encoded = features, contexts, features.dim, encoded

    def every(self, span: slice) -> Floats:
        contexts = [Encoded(np.array(row)) if self.encoded else row for row in self.contexts[span]]
        rows = [self.features(context) for context in contexts]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.features.count, self.dim)

    def played(self, span: slice, arms: Integers) -> Floats:
        found: Floats = self.every(span)[np.arange(len(arms)), arms]
        return found

    def mixed(self, span: slice, probabilities: Floats) -> Floats:
        found: Floats = np.einsum("nk,nkd->nd", probabilities, self.every(span))
        return found


def arm_features(log: Log) -> ArmFeatures:
    """The features of the arms of a log; without any, each arm has an indicator of its own."""
    if log.offers is not None:
        return OfferFeatures(log.offers)
    if log.arms is not None:
        return FixedFeatures(log.arms, len(log))
    if log.features is None or log.context is None:
        return FixedFeatures(np.eye(log.count), len(log))
    rule = log.features
    if isinstance(rule, Disjoint | Interactions) and (log.facts.encoded or rule.context is None):
        arms = np.eye(rule.count) if isinstance(rule, Disjoint) else rule.arms
        contexts = log.context
        if not log.facts.encoded:
            contexts = vectors_of(contexts, rule.context_dim, rule.longest).rows
        return OuterFeatures(arms, contexts)
    return MappedFeatures(rule, log.context, encoded=log.facts.encoded)


# Arms that were played


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
        """The largest length of a row that was played."""
        squares = np.einsum("ij,ij->i", self.table, self.table)
        return math.sqrt(float(squares[self.which].max()))


def played_rows(log: Log, features: ArmFeatures) -> PlayedRows:
    """Features of the arms that were played; those that are the same in every round are kept once."""
    if features.fixed is not None:
        return PlayedRows(np.ascontiguousarray(features.fixed), log.arm)
    found = np.empty((len(log), features.dim))
    for span in spans(len(log)):
        found[span] = features.played(span, log.arm[span])
    return PlayedRows(found, np.arange(len(log)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LogSums:
    """Sums over rewarded rounds: of x x', reward x, and squared rewards, and their count; parts add up.

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


def sums_over(rows: Floats, reward: Floats, rewarded: Bools) -> LogSums:
    """The sums of some rounds; `rows` (n, d) are those of the arms played."""
    if not rewarded.all():
        rows, reward = rows[rewarded], reward[rewarded]
    return LogSums(rows.T @ rows, rows.T @ reward, float(reward @ reward), len(reward))


@final
class Residuals(NamedTuple):
    """The residual sum of squares of a model, and its degrees of freedom; several add up.

    >>> Residuals(8.0, 2.0).noise()
    2.0
    """

    square: float
    freedom: float

    def noise(self) -> float | None:
        """The estimated standard deviation of rewards; None with too few degrees of freedom."""
        if self.freedom < FEWEST_FREE or not self.square > 0.0:
            return None
        return math.sqrt(self.square / self.freedom)


def residuals_of(sums: LogSums, penalty: float) -> Residuals:
    """The residuals of ridge regression: |y - H y|^2 with n - tr(2 H - H^2) degrees of freedom.

    A sum of squares that is nothing but rounding is 0.
    """
    dim = len(sums.gram)
    shrunk = np.linalg.solve(penalty * np.eye(dim) + sums.gram, np.c_[sums.gram, sums.moment])
    hat, theta = shrunk[:, :dim], shrunk[:, dim]
    left = sums.square - 2.0 * float(theta @ sums.moment) + float(theta @ sums.gram @ theta)
    freedom = sums.count - float(2.0 * np.trace(hat) - np.trace(hat @ hat))
    return Residuals(left if left > RESIDUAL_ROUNDING * sums.square else 0.0, freedom)


def penalty_of(log: Log) -> float:
    """The penalty of a log, 1 by default, for features divided as its map divides them."""
    return (1.0 if log.facts.penalty is None else log.facts.penalty) / unit_of(log.features) ** 2
