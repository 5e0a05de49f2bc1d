"""Logs in parts give the same numbers as in one piece, also from two workers of a cluster."""

from __future__ import annotations

import dataclasses
import math
from functools import reduce
from operator import add
from pathlib import Path

import distributed
import numpy as np
import pytest

import infex
from infex import evaluation
from infex.errors import InvalidLog, InvalidTarget
from infex.logs import Log
from tests.evaluation.synthetic_logs import as_log, logs


def soft() -> Log:
    found = logs()
    return Log(
        arm=found["soft_action"],
        reward=found["soft_reward"],
        propensity=found["soft_pscore"],
        base_propensities=found["soft_behaviour"],
        context=found["soft_context"],
    )


def by_context(offers: object, context: np.ndarray) -> np.ndarray:
    """A policy of a module, which workers can load."""
    found: np.ndarray = (context[:, 0] > 0).astype(np.int64)
    return found


TARGETS = {"flat": [1 / 6] * 6, "third": 3, "mine": by_context, "uniform": infex.policies.Uniform()}


def parts(log: Log, size: int = 400) -> list[Log]:
    return [log.take(slice(first, first + size)) for first in range(0, len(log), size)]


@pytest.mark.parametrize("name", TARGETS)
def test_parts_add_up_to_the_whole(name: str) -> None:
    whole = {
        estimator: evaluation.evaluate(soft(), TARGETS, estimator=estimator, noise=0.5, bound=1.0)
        for estimator in ("dm", "ips")
    }
    found = evaluation.evaluate_parts(parts(soft()), TARGETS, noise=0.5, bound=1.0)[name]
    model, weighted = whole["dm"][name], whole["ips"][name]
    assert found.dm == pytest.approx(model.value, abs=1e-12)
    assert found.dm_bounds[:2] == pytest.approx((model.low, model.high), abs=1e-12)
    assert found.ips == pytest.approx(weighted.value, abs=1e-12)
    assert found.ips_bounds is not None
    assert found.ips_bounds[:2] == pytest.approx((weighted.low, weighted.high), abs=1e-10)
    assert found.effective == pytest.approx(weighted.effective, abs=1e-8)
    assert found.support == pytest.approx(1.0)


def test_explorations_of_a_schedule_add_up_too() -> None:
    found = evaluation.evaluate_parts(parts(as_log("jit")), {"first": 0})["first"]
    whole = evaluation.evaluate(as_log("jit"), {"first": 0}, estimator="ips")["first"]
    assert found.draws == 60
    assert found.ips == pytest.approx(whole.value, abs=1e-12)
    model = evaluation.evaluate(as_log("jit"), {"first": 0}, estimator="dm")["first"]
    assert found.dm_bounds[:2] == pytest.approx((model.low, model.high), abs=1e-12)


def test_without_support_there_is_no_weighted_value() -> None:
    found = evaluation.evaluate_parts(parts(as_log("det")), {"first": 0})["first"]
    assert found.ips is None
    assert found.support is not None
    assert found.support < 0.9


def test_an_interval_of_nothing_is_none() -> None:
    log = Log(arm=[0, 1] * 5, reward=[0.0] * 10, propensity=[0.5] * 10)
    found = evaluation.evaluate_parts([log], {"x": 0})["x"]
    assert found.ips == 0.0
    assert found.ips_bounds is not None
    assert math.isnan(found.ips_bounds.low)


def test_what_needs_the_whole_log_is_refused() -> None:
    with pytest.raises(InvalidTarget, match="needs the whole log"):
        evaluation.evaluate_parts(parts(soft()), {"x": infex.Greedy()})
    with pytest.raises(InvalidLog, match="no part"):
        evaluation.evaluate_parts([], TARGETS)


def test_a_file_is_read_in_parts(tmp_path: Path) -> None:
    evaluation.write(soft(), tmp_path / "log.parquet")
    targets = {name: TARGETS[name] for name in ("flat", "third")}
    found = evaluation.evaluate_parts(evaluation.read_parts(tmp_path / "log.parquet", rows=300), targets)
    whole = evaluation.evaluate_parts([soft()], targets)
    for name in targets:
        assert found[name].ips == pytest.approx(whole[name].ips, abs=1e-12)
        assert found[name].dm == pytest.approx(whole[name].dm, abs=1e-12)


def test_two_workers_add_up_to_the_same() -> None:
    targets = {"flat": [1 / 6] * 6, "third": 3}
    bare = dataclasses.replace(soft(), context=None)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        workers = list(client.scheduler_info()["workers"])
        futures = [
            client.submit(evaluation.part_sums, part, targets, workers=[workers[place % 2]], pure=False)
            for place, part in enumerate(parts(bare, 800))
        ]
        total = reduce(add, client.gather(futures))
    found, whole = evaluation.evaluate_sums(total), evaluation.evaluate_parts([bare], targets)
    for name in targets:
        assert found[name].ips == pytest.approx(whole[name].ips, abs=1e-12)
        assert found[name].dm_bounds[:2] == pytest.approx(whole[name].dm_bounds[:2], abs=1e-12)
