"""Whole `play` calls against a textbook NumPy loop and a plain compiled loop, on one core."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import infex
from benchmarks.references import changing_run, numpy_run
from infex import models
from infex.lab.environments import LinearInstance, changing, gaussian

HORIZON = 10_000
DELTA = 1 / HORIZON
CELLS = ((10, 100), (10, 1000), (40, 1000))


class Row(NamedTuple):
    """Microseconds a round of whole calls, the least over repeats, and what was asked for."""

    dim: int
    arms: int
    policy: str
    infex: float
    reference: float
    against: str
    wanted: float

    @property
    def ratio(self) -> float:
        """How many times faster than the reference."""
        return self.reference / self.infex


def least(call: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Microseconds a round, the least over repeats."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times) / HORIZON * 1e6


def policies() -> dict[str, tuple[infex.Policy, str, tuple[float, float, float]]]:
    """Each policy, what it is measured against, and the ratios wanted in the three cells."""
    optimist, sampler = infex.LinUCB(delta=DELTA), infex.LinTS(delta=DELTA)
    rare = infex.every(100)
    return {
        "Greedy": (infex.Greedy(), "NumPy", (200, 200, 200)),
        "Infex(LinUCB, every(100))": (infex.Infex(optimist, rare), "NumPy", (150, 150, 150)),
        "Infex(LinTS, every(100))": (infex.Infex(sampler, rare), "NumPy", (150, 100, 100)),
        "LinUCB": (optimist, "NumPy", (60, 45, 30)),
        "LinTS": (sampler, "NumPy", (30, 10, 5)),
    }


def reference(instance: LinearInstance, against: str, policy: infex.Policy) -> float:
    """The yardstick's time on the same instance."""
    uniforms = np.random.default_rng(0).random(HORIZON)
    arms, means = np.array(instance.arms), np.array(instance.means)
    sampling = isinstance(policy, infex.LinTS)
    return least(lambda: numpy_run(arms, means, uniforms, DELTA, sampling), 1)


def table() -> list[Row]:
    """All rows."""
    rows = []
    for cell, (dim, arms) in enumerate(CELLS):
        instance = gaussian(dim=dim, arms=arms, seed=3)
        for name, (policy, against, wanted) in policies().items():
            infex.lab.play(instance, policy, 10)
            yardstick = reference(instance, against, policy)
            ours = least(lambda: infex.lab.play(instance, policy, HORIZON), 5)  # noqa: B023 - called at once
            rows.append(Row(dim, arms, name, ours, yardstick, against, wanted[cell]))
    return rows


def growth() -> list[tuple[str, float]]:
    """Microseconds a round of Infex(LinUCB, every(m)) as K, d, T and m grow."""
    found = []
    for name, dim, arms, horizon, period in (
        [(f"K = {arms}", 10, arms, HORIZON, 20) for arms in (100, 1000, 10_000)]
        + [(f"d = {dim}", dim, 100, HORIZON, 20) for dim in (5, 20, 80)]
        + [(f"T = {horizon:,}", 10, 100, horizon, 20) for horizon in (10_000, 100_000, 1_000_000)]
        + [(f"m = {period}", 10, 100, HORIZON, period) for period in (1, 5, 20, 100, 1000)]
    ):
        instance = gaussian(dim=dim, arms=arms, seed=3)
        policy = infex.Infex(infex.LinUCB(delta=DELTA), infex.every(period))
        start = time.perf_counter()
        infex.lab.play(instance, policy, horizon)
        found.append((name, (time.perf_counter() - start) / horizon * 1e6))
    return found


class Optimist:
    """LinUCB as a user would write it."""

    def choose(self, t: int, posterior: infex.models.Posterior, rng: Any) -> infex.Choice:
        """The arm of the largest upper bound."""
        return infex.Choice(infex.best(posterior.upper(posterior.radii(1.0, 1.0, DELTA))))


def in_python() -> list[tuple[str, float, float]]:
    """Microseconds a round of a user's policy, and of the built-in one that does the same."""
    instance = gaussian(dim=10, arms=100, seed=3)

    def time_of(policy: Any) -> float:
        infex.lab.play(instance, policy, 10)
        return least(lambda: infex.lab.play(instance, policy, HORIZON), 5)

    alone = Optimist(), infex.LinUCB(delta=DELTA)
    rare = [infex.Infex(base, infex.every(20)) for base in alone]
    return [
        ("LinUCB", time_of(alone[0]), time_of(alone[1])),
        ("Infex(LinUCB, every(20))", time_of(rare[0]), time_of(rare[1])),
    ]


def fitted() -> list[tuple[str, float, float]]:
    """Microseconds of processor time a round of LinUCB with each estimator, d = 10, K = 100, and wanted."""
    plain, policy = gaussian(dim=10, arms=100, seed=3), infex.LinUCB(delta=DELTA)
    clicks = gaussian(dim=10, arms=100, seed=3, rewards="bernoulli", link="logistic")
    found = []
    for estimator, instance, wanted in (
        (models.Discounted(), plain, 5.0),
        (models.Windowed(size=1000), plain, 5.0),
        (models.Weighted(weight=lambda x: 1.0), plain, 3.0),
        (models.Lasso(), plain, 3.0),
        (models.Logistic(), clicks, 3.0),
    ):
        infex.lab.play(instance, policy, 10, estimator=estimator)

        def run(instance: Any = instance, estimator: Any = estimator) -> None:
            infex.lab.play(instance, policy, HORIZON, estimator=estimator)

        found.append((type(estimator).__name__, least(run, 5, time.process_time), wanted))
    return found


def changing_arms() -> list[tuple[str, float, float, float]]:
    """Microseconds a round of LinUCB over changing arms, of textbook NumPy, and of drawing the arms alone."""
    found = []
    for dim, arms in CELLS:
        instance, rounds = changing(dim=dim, arms=arms, seed=3), HORIZON // 10
        policy = infex.LinUCB(delta=DELTA)
        infex.lab.play(instance, policy, 10)
        ours = 10 * least(lambda: infex.lab.play(instance, policy, rounds), 3)  # noqa: B023 - called at once
        book = 10 * least(lambda: changing_run(instance, rounds, DELTA), 1)  # noqa: B023
        drawing = 10 * least(lambda: list(instance.blocks(0, rounds)), 3)  # noqa: B023
        found.append((f"d = {dim}, K = {arms}", ours, book, drawing))
    return found


def two_cores() -> list[tuple[str, float, float, float]]:
    """Runs a second of `play_many` on one thread and on two, and how many times faster two are."""
    instances = [gaussian(dim=10, arms=100, seed=seed) for seed in range(20)]
    found = []
    for name, (policy, _, _) in policies().items():
        seeds = range(2 if name in ("LinUCB", "LinTS") else 40)
        runs = len(instances) * len(seeds)
        infex.lab.play_many(instances[:2], policy, 10)

        def both(workers: int, policy: Any = policy, seeds: range = seeds) -> None:
            infex.lab.play_many(instances, policy, HORIZON, seeds, workers=workers)

        one, two = rate(lambda: both(1), runs), rate(lambda: both(2), runs)
        found.append((name, one, two, two / one))
    return found


def rate(call: Callable[[], Any], runs: int) -> float:
    """Runs a second, the most over repeats."""
    return runs / (least(call, 3) * HORIZON / 1e6)
