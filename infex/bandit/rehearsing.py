"""Decisions taken for nothing: what they compile is there when decisions matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from infex import estimators, features
from infex.bandit.bandit import Bandit
from infex.policies import Infex, LinTS, LinUCB
from infex.schedules import every

PLAIN_ARMS = np.eye(2)
PLAIN_CONTEXTS = 0.3 * np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
ONE_BY_ONE, ALL_TOGETHER = 9, 40  # decisions, some of which explore


def rehearse() -> None:
    """Takes decisions of every kind, so that all they need is compiled, or read from the disk."""
    for rehearsal in REHEARSALS.values():
        rehearsal()


def fixed_arms() -> None:
    """Asks and tells for arms that stay."""
    for bandit in _bandits(arms=PLAIN_ARMS):
        for _ in range(ONE_BY_ONE):
            bandit.tell(bandit.enter(bandit.decide()), 0.5)
            waits = bandit.ask()
            bandit.tell(bandit.enter(bandit.decide()), 0.5)
            bandit.tell(bandit.ask(), 0.5)
            bandit.tell(bandit.ask(offered=[1]), 0.5)
            bandit.tell(waits, 0.5)
        _settle(bandit, ALL_TOGETHER)
        bandit.estimates()


def given_arms() -> None:
    """Asks and tells for arms that come with each question."""
    for bandit in _bandits(dim=2):
        for _ in range(ONE_BY_ONE):
            bandit.tell(bandit.ask(PLAIN_ARMS), 0.5)
        _settle(bandit, [PLAIN_ARMS] * ALL_TOGETHER)


def contexts() -> None:
    """Asks and tells for contexts, with one regression for all arms, for each arm, and with both."""
    shared = features.interactions(PLAIN_ARMS, context_dim=2)
    for shop in (features.disjoint(2, context_dim=2), shared, features.hybrid(shared)):
        for bandit in _bandits(features=shop):
            for context in PLAIN_CONTEXTS:
                waits = bandit.ask(context=context)
                bandit.tell(bandit.ask(context=context), 0.5)
                bandit.tell(waits, 0.5)
            _settle(bandit, np.resize(PLAIN_CONTEXTS, (ALL_TOGETHER, 2)))
            bandit.estimates(context=PLAIN_CONTEXTS[0])


def other_estimators() -> None:
    """Asks and tells by estimators other than ridge regression."""
    kinds = (estimators.Discounted(), estimators.Windowed(size=3), estimators.Lasso(), estimators.Logistic())
    for estimator in kinds:
        for bandit in _bandits(arms=PLAIN_ARMS, estimator=estimator):
            for _ in range(ONE_BY_ONE):
                bandit.tell(bandit.ask(), 1.0)


def _bandits(**settings: Any) -> list[Bandit]:
    return [Bandit(policy=Infex(base, every(3)), **settings) for base in (LinUCB(), LinTS())]


def _settle(bandit: Bandit, asked: object) -> None:
    """Many decisions at once, whose rewards come at once."""
    decisions = bandit.ask_many(asked)
    bandit.tell_many(decisions, [0.5] * len(decisions))


REHEARSALS: dict[str, Callable[[], None]] = {
    "decisions over fixed arms": fixed_arms,
    "decisions over given arms": given_arms,
    "decisions with contexts": contexts,
    "decisions by other estimators": other_estimators,
}
"""Kinds of decisions by name."""
