"""Whole `play` calls against a textbook NumPy loop and a plain compiled loop, on one core."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import infex
from benchmarks.references import dense_run, numpy_run
from infex.environments import LinearInstance, gaussian

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


def least(call: Callable[[], Any], repeats: int) -> float:
    """Microseconds a round, the least over repeats."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) / HORIZON * 1e6


def policies() -> dict[str, tuple[infex.Policy, str, tuple[float, float, float]]]:
    """Each policy, what it is measured against, and the ratios wanted in the three cells."""
    optimist, sampler = infex.LinUCB(delta=DELTA), infex.LinTS(delta=DELTA)
    rare = infex.every(100)
    return {
        "Greedy": (infex.Greedy(), "dense", (10, 40, 40)),
        "Infex(LinUCB, every(100))": (infex.Infex(optimist, rare), "dense", (5, 12, 12)),
        "Infex(LinTS, every(100))": (infex.Infex(sampler, rare), "dense", (4, 10, 10)),
        "LinUCB": (optimist, "NumPy", (60, 45, 30)),
        "LinTS": (sampler, "NumPy", (30, 10, 5)),
    }


def reference(instance: LinearInstance, against: str, policy: infex.Policy) -> float:
    """The yardstick's time on the same instance."""
    uniforms = np.random.default_rng(0).random(HORIZON)
    arms, means = np.array(instance.arms), np.array(instance.means)
    if against == "dense":
        columns = np.ascontiguousarray(arms.T)
        dense_run(columns, means, uniforms[:2])
        return least(lambda: dense_run(columns, means, uniforms), 3)
    sampling = isinstance(policy, infex.LinTS)
    return least(lambda: numpy_run(arms, means, uniforms, DELTA, sampling), 1)


def table() -> list[Row]:
    """All rows."""
    rows = []
    for cell, (dim, arms) in enumerate(CELLS):
        instance = gaussian(dim=dim, arms=arms, seed=3)
        for name, (policy, against, wanted) in policies().items():
            infex.play(instance, policy, 10)
            yardstick = reference(instance, against, policy)
            ours = least(lambda: infex.play(instance, policy, HORIZON), 5)  # noqa: B023 - called at once
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
        infex.play(instance, policy, horizon)
        found.append((name, (time.perf_counter() - start) / horizon * 1e6))
    return found
