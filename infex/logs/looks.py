"""What the arms of a log looked like, in whichever form the log keeps it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

import numpy as np

from infex.arrays import Floats, Integers
from infex.core.evaluation import mean_features
from infex.features import Disjoint, Encoded, FeatureMap, Interactions
from infex.features.vectors import vectors_of
from infex.logs.log import Log

Span = slice


class Looks(ABC):
    """Features of all arms in a span of rounds; `dim` of them each."""

    dim: int
    fixed: Floats | None = None
    """The features of all arms, (K, d), where these are the same in every round."""

    @abstractmethod
    def every(self, span: Span) -> Floats:
        """Those of all arms, (rounds, K, d)."""

    @abstractmethod
    def played(self, span: Span, arms: Integers) -> Floats:
        """Those of one arm in each round, (rounds, d)."""

    @abstractmethod
    def mixed(self, span: Span, probabilities: Floats) -> Floats:
        """Their mean under the probabilities of arms, (rounds, d)."""

    @property
    def width(self) -> int:
        """How many numbers `parts` has for each round."""
        return self.dim

    def parts(self, span: Span, probabilities: Floats) -> Floats:
        """What `mixed` is made of, (rounds, width), where sums of it say as much and take less time."""
        return self.mixed(span, probabilities)

    def whole(self, parts: Floats) -> Floats:
        """The features that sums of parts come to, (n, d)."""
        return parts

    def across(self, thetas: Floats) -> Floats:
        """Parameters for parts, (n, width): parts @ across(theta) is mixed @ theta."""
        return thetas

    def scores(self, span: Span, theta: Floats) -> Floats:
        """The estimates x'theta of all arms, (rounds, K)."""
        found: Floats = self.every(span) @ theta
        return found

    def scores_by(self, span: Span, thetas: Floats, which: Integers) -> Floats:
        """The same with a parameter for each round, thetas[which], (rounds, K)."""
        found: Floats = np.einsum("nkd,nd->nk", self.every(span), thetas[which])
        return found


@final
class InEveryRound(Looks):
    """A log with features of every arm in every round."""

    def __init__(self, offers: Floats) -> None:
        self.offers, self.dim = offers, int(offers.shape[2])

    def every(self, span: Span) -> Floats:
        return self.offers[span]

    def played(self, span: Span, arms: Integers) -> Floats:
        rows = self.offers[span]
        found: Floats = rows[np.arange(len(rows)), arms]
        return found

    def mixed(self, span: Span, probabilities: Floats) -> Floats:
        return mean_features(self.offers[span], probabilities)


@final
class AlwaysTheSame(Looks):
    """A log whose arms look the same in every round."""

    def __init__(self, arms: Floats, rounds: int) -> None:
        self.arms, self.dim, self.rounds = arms, int(arms.shape[1]), rounds
        self.fixed = arms

    def every(self, span: Span) -> Floats:
        size = len(range(*span.indices(self.rounds)))
        return np.broadcast_to(self.arms, (size, *self.arms.shape))

    def played(self, span: Span, arms: Integers) -> Floats:
        found: Floats = self.arms[arms]
        return found

    def mixed(self, span: Span, probabilities: Floats) -> Floats:
        found: Floats = probabilities @ self.arms
        return found

    @property
    def width(self) -> int:
        return len(self.arms)

    def parts(self, span: Span, probabilities: Floats) -> Floats:
        return probabilities

    def whole(self, parts: Floats) -> Floats:
        found: Floats = parts @ self.arms
        return found

    def across(self, thetas: Floats) -> Floats:
        found: Floats = thetas @ self.arms.T
        return found

    def scores(self, span: Span, theta: Floats) -> Floats:
        size = len(range(*span.indices(self.rounds)))
        return np.broadcast_to(self.arms @ theta, (size, len(self.arms)))

    def scores_by(self, span: Span, thetas: Floats, which: Integers) -> Floats:
        found: Floats = self.across(thetas)[which]
        return found


@final
class JoinedWithContexts(Looks):
    """A log of contexts that a map joins with arms, as outer products of an arm's row and the context."""

    def __init__(self, arms: Floats, contexts: Floats) -> None:
        self.arms, self.contexts, self.dim = arms, contexts, int(arms.shape[1] * contexts.shape[1])

    def every(self, span: Span) -> Floats:
        inside = self.contexts[span]
        found: Floats = self.arms[None, :, :, None] * inside[:, None, None, :]
        return found.reshape(len(inside), len(self.arms), self.dim)

    def played(self, span: Span, arms: Integers) -> Floats:
        return self._joined(self.arms[arms], self.contexts[span])

    def mixed(self, span: Span, probabilities: Floats) -> Floats:
        return self._joined(probabilities @ self.arms, self.contexts[span])

    def scores(self, span: Span, theta: Floats) -> Floats:
        found: Floats = (self.contexts[span] @ theta.reshape(self.arms.shape[1], -1).T) @ self.arms.T
        return found

    def scores_by(self, span: Span, thetas: Floats, which: Integers) -> Floats:
        blocks = thetas[which].reshape(len(which), self.arms.shape[1], -1)
        found: Floats = np.einsum("npc,nc->np", blocks, self.contexts[span]) @ self.arms.T
        return found

    def _joined(self, rows: Floats, inside: Floats) -> Floats:
        found: Floats = rows[:, :, None] * inside[:, None, :]
        return found.reshape(len(inside), self.dim)


@final
class ByMap(Looks):
    """A log of contexts with a map of the user's own, which is asked for every context."""

    def __init__(self, features: FeatureMap, contexts: Floats, *, encoded: bool = False) -> None:
        self.features, self.contexts, self.dim, self.encoded = features, contexts, features.dim, encoded

    def every(self, span: Span) -> Floats:
        given = [Encoded(np.array(row)) if self.encoded else row for row in self.contexts[span]]
        rows = [self.features(context) for context in given]
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.features.count, self.dim)

    def played(self, span: Span, arms: Integers) -> Floats:
        found: Floats = self.every(span)[np.arange(len(arms)), arms]
        return found

    def mixed(self, span: Span, probabilities: Floats) -> Floats:
        found: Floats = np.einsum("nk,nkd->nd", probabilities, self.every(span))
        return found


def looks_of(log: Log) -> Looks:
    """Features as the log has them; where it has none, each arm is known by its place alone."""
    if log.offers is not None:
        return InEveryRound(log.offers)
    if log.arms is not None:
        return AlwaysTheSame(log.arms, len(log))
    if log.features is None or log.context is None:
        return AlwaysTheSame(np.eye(log.count), len(log))
    rule = log.features
    if isinstance(rule, Disjoint | Interactions) and (log.facts.encoded or rule.context is None):
        arms = np.eye(rule.count) if isinstance(rule, Disjoint) else rule.arms
        if log.facts.encoded:
            return JoinedWithContexts(arms, log.context)
        return JoinedWithContexts(arms, vectors_of(log.context, rule.context_dim, rule.longest).rows)
    return ByMap(rule, log.context, encoded=log.facts.encoded)
