"""All that infex compiles, ahead of its first use; it is then read from the disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from infex import estimators
from infex.bandit.rehearsing import REHEARSALS
from infex.environments import gaussian
from infex.environments.named import Nature
from infex.linear.estimating import Estimator
from infex.policies import UCB1, Infex, LinUCB, Policy, guarded
from infex.schedules import every
from infex.simulation.opened import compile_open
from infex.simulation.playing import play

Step = Callable[[], object]


class CompiledStep(NamedTuple):
    """What was compiled, or read from the disk, what for, and the seconds of processor time it took."""

    kind: str
    name: str
    seconds: float


def compiled_ahead(what: Iterable[str]) -> Iterator[CompiledStep]:
    """Compiles one thing after the other, as it is asked for the next."""
    for kind in what:
        for name, step in COMPILED_AHEAD[kind].items():
            begun = time.process_time()
            step()
            yield CompiledStep(kind, name, time.process_time() - begun)


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


SIMULATIONS: dict[str, Step] = {
    "problems of every kind": compile_open,
    "plain arms, notes and controls": _stateful,
    "estimators": _estimators,
}
COMPILED_AHEAD: dict[str, Mapping[str, Step]] = {"simulations": SIMULATIONS, "decisions": REHEARSALS}
"""What is compiled for each use, by name."""
