"""All that infex compiles, ahead of its first use; it is then read from the disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from infex import estimators
from infex.bandit import Bandit
from infex.environments import gaussian
from infex.environments.named import Nature
from infex.linear.estimating import Estimator
from infex.policies import UCB1, Infex, LinTS, LinUCB, Policy, guarded
from infex.schedules import every
from infex.simulation.batch import compile_loop
from infex.simulation.contextual_plays import compile_contexts
from infex.simulation.lasso_plays import compile_sparse
from infex.simulation.ols_runs import compile_forced
from infex.simulation.opened import compile_open
from infex.simulation.playing import play

Step = Callable[[], object]


class CompiledStep(NamedTuple):
    """What was compiled, or read from the disk, and the seconds of processor time it took."""

    name: str
    seconds: float


def compile_all() -> Iterator[CompiledStep]:
    """Compiles one thing after the other, as it is asked for the next."""
    for name, step in COMPILED_AHEAD.items():
        begun = time.process_time()
        step()
        yield CompiledStep(name, time.process_time() - begun)


def _bandit() -> None:
    """Asks and tells, with fixed arms and with arms that change, greedy and exploring."""
    rows = np.eye(2)
    for base in (LinUCB(), LinTS()):
        fixed = Bandit(rows, Infex(base, every(2)))
        changing = Bandit(dim=2, policy=Infex(base, every(2)))
        for _ in range(4):
            fixed.tell(fixed.ask(), 0.5)
            fixed.tell(fixed.ask(offered=[1]), 0.5)
            changing.tell(changing.ask(rows), 0.5)
        fixed.estimates()


def _stateful() -> None:
    for policy in (UCB1(), Infex(LinUCB(), guarded(every(2), 1.0))):
        _briefly(policy)


def _briefly(policy: Policy, estimator: Estimator | None = None) -> None:
    chances: Nature = {"rewards": "bernoulli", "link": "logistic"}
    play(gaussian(dim=2, arms=3, seed=1, **chances), policy, 8, estimator=estimator)


def _estimators() -> None:
    for estimator in (
        estimators.Discounted(),
        estimators.Windowed(size=5),
        estimators.Lasso(),
        estimators.Logistic(),
    ):
        _briefly(LinUCB(), estimator)


COMPILED_AHEAD: dict[str, Step] = {
    "runs over fixed arms": compile_loop,
    "Bandit": _bandit,
    "problems of every kind": compile_open,
    "contexts, with a regression for each arm": compile_contexts,
    "plain arms, notes and controls": _stateful,
    "estimators": _estimators,
    "OLSBandit": compile_forced,
    "the LASSO bandits": compile_sparse,
}
