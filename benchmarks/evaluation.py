"""Estimates with their intervals from a log of a million rounds and ten arms."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infex.evaluation import estimators, evaluate, intervals
from infex.evaluation.estimators import WeightedEstimator, WeightedRounds
from infex.logs import Log, write

ROUNDS, ARMS, DIM, TRIES = 1_000_000, 10, 10, 5


class Timed(NamedTuple):
    """Seconds of processor time, the least over repeats, and what was asked for."""

    what: str
    seconds: float
    wanted: float


def least_seconds(call: Callable[[], Any]) -> float:
    """Seconds of processor time, the least of several calls after a first one."""
    call()
    times = []
    for _ in range(TRIES):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def table() -> list[Timed]:
    """All point estimates with closed-form intervals, Cressie-Read, and the model with its ellipsoid."""
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(ARMS), size=ROUNDS) * 0.9 + 0.01
    arm = (law.cumsum(axis=1) > rng.random(ROUNDS)[:, None]).argmax(axis=1)
    propensity = law[np.arange(ROUNDS), arm]
    target, fitted = rng.dirichlet(np.ones(ARMS), size=ROUNDS), rng.random((ROUNDS, ARMS))
    reward = (rng.random(ROUNDS) < 0.3).astype(float)
    weight = target[np.arange(ROUNDS), arm] / propensity

    def likelihood() -> Any:
        sums = intervals.power_sums(weight, reward, 100.0)
        return intervals.cressie_read(sums, 0.95)

    return [
        Timed(
            "nine estimates with closed-form intervals",
            least_seconds(lambda: all_estimates(arm, reward, propensity, target, fitted)),
            0.05,
        ),
        Timed("Cressie-Read's interval", least_seconds(likelihood), 0.05),
        Timed("the model with its ellipsoid, d = 10, evaluate", modelled(rng, arm), 0.3),
        *commands(arm, reward, law),
    ]


def commands(arm: Any, reward: Any, law: Any) -> list[Timed]:
    """`infex evaluate` of Parquet with four targets and a page, from start to end, on one core."""
    law = law / law.sum(axis=1, keepdims=True)
    parts: dict[str, Any] = {"arm": arm, "reward": reward, "propensity": law[np.arange(ROUNDS), arm]}
    logs = {
        "probabilities alone": Log(**parts),
        "laws and features of all arms": Log(**parts, base_propensities=law, arms=np.eye(ARMS, DIM)),
    }
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for words, log in logs.items():
            path = Path(folder) / "log.parquet"
            write(log, path)
            found.append(Timed(f"infex evaluate, {words}", command_seconds(path), 3.0))
    return found


def command_seconds(path: Path) -> float:
    """Seconds of processor time, user and system, the least of several; the first call is left out."""
    targets = [word for name in ("now", "Greedy", "Uniform", "third=2") for word in ("--policy", name)]
    words = [*targets, "--rewards", "0", "1", "--against", "now", "--page", str(path.with_suffix(".html"))]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(TRIES + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "infex", "evaluate", str(path), *words],
            env=kept | {"OPENBLAS_NUM_THREADS": "1"},
            check=True,
            capture_output=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times[1:])


def all_estimates(arm: Any, reward: Any, propensity: Any, target: Any, fitted: Any) -> list[Any]:
    """Weights, clipped, ratio; the model, robust, its ratio, switched, shrunk, bent: with intervals."""
    each, zero = np.arange(arm.size), np.zeros(arm.size)
    weight, direct = target[each, arm] / propensity, np.einsum("nk,nk->n", target, fitted)
    rounds = WeightedRounds(weight, reward, direct, fitted[each, arm])
    plain = WeightedRounds(weight, reward, zero, zero)
    by_weights: list[WeightedEstimator] = [estimators.IPS, estimators.clipped(5.0), estimators.SNIPS]
    by_both = [
        estimators.shrinkage(0.0),
        estimators.IPS,
        estimators.SNIPS,
        estimators.switch(5.0),
        estimators.shrinkage(10.0),
        estimators.subgaussian(0.1),
    ]
    found = [estimator.estimate(plain) for estimator in by_weights] + [
        estimator.estimate(rounds) for estimator in by_both
    ]
    return [intervals.student(*one, arm.size, 0.95) for one in found]


def modelled(rng: np.random.Generator, arm: Any) -> float:
    """Ten features of every arm in every round."""
    offers = rng.random((ROUNDS, ARMS, DIM)) / 4
    reward = offers[np.arange(ROUNDS), arm] @ rng.normal(size=DIM) + 0.1 * rng.normal(size=ROUNDS)
    log = Log(arm=arm, reward=reward, offers=offers)
    target = rng.integers(ARMS, size=ROUNDS)
    return least_seconds(lambda: evaluate(log, {"other": target}, estimator="dm", noise=0.1, bound=5.0))
