"""Logs in parts give the same numbers as in one piece, also from two workers of a cluster."""

from __future__ import annotations

import dataclasses
import itertools
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
from infex.logs import Log, LogFacts
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


# Blocks


def blocks_log(lengths: list[int], seed: int) -> Log:
    """A log of blocks of these lengths, one drawn round of each explores one of three arms."""
    rng = np.random.default_rng(seed)
    lots = [int(rng.integers(size)) for size in lengths]
    chance = [
        1.0 / (size - place) if place <= lot else 0.0
        for size, lot in zip(lengths, lots, strict=True)
        for place in range(size)
    ]
    explored = [place == lot for size, lot in zip(lengths, lots, strict=True) for place in range(size)]
    n = len(chance)
    law = rng.dirichlet([2.0, 2.0, 2.0], size=n)
    arm = np.where(explored, [rng.choice(3, p=row) for row in law], 0)
    good = np.repeat(np.array(lengths) > 2, lengths)  # rewards differ by the length of the block
    reward = np.where(good, 0.9, 0.2) - 0.1 * arm
    return Log(
        arm=arm, reward=reward, explored=explored, explore_probability=chance, greedy=np.zeros(n, dtype=int),
        base_propensities=law, base_propensity=law[np.arange(n), arm],
        facts=LogFacts(bound=3.0),
    )  # fmt: skip


LENGTHS = [2, 5] * 20


def test_explorations_of_long_blocks_count_more_as_in_the_whole() -> None:
    log = blocks_log(LENGTHS, 1)
    targets = {"second": 1, "mixed": [0.2, 0.3, 0.5]}
    found = evaluation.evaluate_parts(parts(log, 28), targets)
    whole = evaluation.evaluate(log, targets, estimator="ips")
    rows = np.flatnonzero(log.explored)
    assert log.base_propensity is not None
    for name, probability in (
        ("second", (log.arm == 1) * 1.0),
        ("mixed", np.array([0.2, 0.3, 0.5])[log.arm]),
    ):
        by_hand = (probability / log.base_propensity * log.reward)[rows] @ np.array(LENGTHS) / sum(LENGTHS)
        assert found[name].ips == pytest.approx(by_hand, abs=1e-12)
        assert whole[name].value == pytest.approx(by_hand, abs=1e-12)
        bounds = found[name].ips_bounds
        assert bounds is not None
        assert bounds[:2] == pytest.approx((whole[name].low, whole[name].high), abs=1e-10)
        assert found[name].effective == pytest.approx(whole[name].effective, abs=1e-9)
        assert found[name].draws == whole[name].explorations == 40


def test_blocks_of_any_length_are_judged_without_bias() -> None:
    """By all rounds and arms that two blocks, of 2 and 3 rounds, could have explored."""
    rewards = np.random.default_rng(9).normal(size=(5, 2))
    law = np.random.default_rng(10).dirichlet([1.0, 1.0], size=5)
    average = 0.0
    for first, second, *arms in itertools.product(range(2), range(3), range(2), range(2)):
        rows = np.array([first, 2 + second])
        arm = np.zeros(5, dtype=int)
        arm[rows] = arms
        explored = np.isin(np.arange(5), rows)
        chance = [1 / (2 - t) if t <= first else 0.0 for t in range(2)]
        chance += [1 / (3 - t) if t <= second else 0.0 for t in range(3)]
        log = Log(
            arm=arm, reward=rewards[np.arange(5), arm], explored=explored, explore_probability=chance,
            base_propensity=law[np.arange(5), arm], base_propensities=law, facts=LogFacts(bound=100.0),
        )  # fmt: skip
        found = evaluation.evaluate_parts([log.take(slice(0, 2)), log.take(slice(2, 5))], {"second": 1})
        assert found["second"].ips is not None
        average += float(law[rows, arms].prod()) / 6 * found["second"].ips
    assert average == pytest.approx(float(rewards[:, 1].mean()), abs=1e-12)


def test_explorations_of_incomplete_blocks_do_not_count() -> None:
    log = blocks_log([4] * 30, 2)
    last = 0 if log.explored is None else int(np.flatnonzero(log.explored)[-1])
    rows = np.setdiff1d(np.arange(120), [*range(3, 40, 4), *range(last + 1, 120)])  # ten blocks, and an end
    some = log.take(rows)
    whole = evaluation.evaluate(some, {"second": 1}, estimator="ips")["second"]
    found = evaluation.evaluate_parts([some], {"second": 1})["second"]
    assert found.draws == whole.explorations < 21
    assert found.ips == pytest.approx(whole.value, abs=1e-12)


def test_parts_that_cut_a_block_are_refused() -> None:
    jittered = as_log("jit")
    with pytest.raises(
        InvalidLog, match=r"within a block of the schedule, at round 31.*multiple of 20 rounds"
    ):
        evaluation.evaluate_parts(parts(jittered, 30), {"first": 0})
    with pytest.raises(InvalidLog, match=r"within a block.*whole blocks"):
        evaluation.evaluate_parts(parts(blocks_log(LENGTHS, 3), 31), {"second": 1})
    sums = [evaluation.part_sums(part, {"first": 0}) for part in parts(jittered, 30)]
    with pytest.raises(InvalidLog, match="at round 31"):  # in any order
        evaluation.evaluate_sums(reduce(add, sums[::-1]))


def test_a_part_that_looks_like_another_design_is_refused() -> None:
    log = blocks_log([3] * 10, 4)
    base = log.base_propensity
    log = dataclasses.replace(log, propensity=np.where(log.explored, base, 1.0), base_propensities=None)
    single = dataclasses.replace(log.take(slice(0, 1)), round=np.array([31]), count=3)
    with pytest.raises(InvalidLog, match=r"otherwise than others \(every round, jittered\)"):
        evaluation.evaluate_parts([log, single], {"second": 1})


def test_streams_of_a_part_are_told_apart() -> None:
    log = blocks_log([4] * 30, 5)
    mixed = dataclasses.replace(log, stream=np.repeat(["a", "b"], 60), round=np.tile(np.arange(1, 61), 2))
    mixed = mixed.take(np.argsort(np.tile(np.arange(60), 2), kind="stable"))
    found = evaluation.evaluate_parts([mixed], {"second": 1})["second"]
    whole = evaluation.evaluate(mixed, {"second": 1}, estimator="ips")["second"]
    assert found.draws == whole.explorations == 30
    assert found.ips == pytest.approx(whole.value, abs=1e-12)


# Columns that a whole log is judged by


def test_what_was_played_is_its_mean_reward() -> None:
    found = evaluation.evaluate_parts(parts(soft()), {"now": evaluation.logged})["now"]
    whole = evaluation.evaluate(soft(), {"now": evaluation.logged})["now"]
    assert found.ips == pytest.approx(float(soft().reward.mean()), abs=1e-12)
    assert found.ips_bounds is not None
    assert found.ips_bounds[:2] == pytest.approx((whole.low, whole.high), abs=1e-10)


def test_rows_that_were_kept_seldom_count_more() -> None:
    kept = np.random.default_rng(6).uniform(0.1, 1.0, size=len(soft()))
    log = dataclasses.replace(soft(), kept=kept)
    targets = {"flat": [1 / 6] * 6, "now": evaluation.logged}
    found = evaluation.evaluate_parts(parts(log), targets, noise=0.5, bound=1.0)
    for estimator, fields in (("ips", ("ips", "ips_bounds")), ("dm", ("dm", "dm_bounds"))):
        whole = evaluation.evaluate(log, targets, estimator=estimator, noise=0.5, bound=1.0)
        for name in targets:
            value, bounds = (getattr(found[name], field) for field in fields)
            assert value == pytest.approx(whole[name].value, abs=1e-12)
            assert bounds[:2] == pytest.approx((whole[name].low, whole[name].high), abs=1e-10)
    assert found["flat"].effective == pytest.approx(
        evaluation.evaluate(log, targets, estimator="ips")["flat"].effective, abs=1e-8
    )


@pytest.mark.parametrize("thinned", [False, True])
def test_units_of_several_parts_are_clusters(thinned: bool) -> None:
    rng = np.random.default_rng(7)
    log = dataclasses.replace(soft(), unit=rng.integers(200, size=len(soft())))
    if thinned:
        log = dataclasses.replace(log, kept=rng.uniform(0.1, 1.0, size=len(log)))
    found = evaluation.evaluate_parts(parts(log), {"flat": [1 / 6] * 6})["flat"]
    whole = evaluation.evaluate(log, {"flat": [1 / 6] * 6}, estimator="ips")["flat"]
    assert found.ips_bounds is not None
    assert found.ips_bounds[:2] == pytest.approx((whole.low, whole.high), abs=1e-10)


@pytest.mark.parametrize("kind", ["plain", "kept", "blocks", "lengths"])
@pytest.mark.parametrize("rows", [4, 40])
def test_few_explorations_have_the_interval_of_the_whole(kind: str, rows: int) -> None:
    if kind in ("blocks", "lengths"):
        log = blocks_log(([3, 4] if kind == "lengths" else [4, 4]) * rows, 6)
        size, targets = 7 * 2 if kind == "lengths" else 8, {"x": [0.7, 0.2, 0.1], "now": evaluation.logged}
    else:
        log, size = dataclasses.replace(soft().take(slice(0, 20 * rows)), context=None), 3 * rows
        if kind == "kept":
            log = dataclasses.replace(log, kept=np.random.default_rng(11).uniform(0.1, 1.0, size=len(log)))
        targets = {"x": 3, "now": evaluation.logged}
    found = evaluation.evaluate_parts(parts(log, size), targets, rewards=(-1, 2), bound=9.0)
    for estimator, field in (("ips", "ips_bounds"), ("dm", "dm_bounds")):
        whole = evaluation.evaluate(log, targets, rewards=(-1, 2), bound=9.0, estimator=estimator)
        for name in targets:
            if name == "now" and kind in ("blocks", "lengths") and estimator == "ips":
                continue  # of which the whole log knows the model at the start of each block
            bounds = getattr(found[name], field)
            assert bounds[:2] == pytest.approx((whole[name].low, whole[name].high), abs=1e-9)
            assert bounds[2:] == whole[name].bounds[2:]


def test_many_unknown_propensities_leave_no_weighted_value() -> None:
    log = soft()
    assert log.propensity is not None
    unknown = np.where(np.arange(len(log)) % 50 == 0, np.nan, log.propensity)
    log = dataclasses.replace(log, propensity=unknown, base_propensities=None)
    found = evaluation.evaluate_parts(parts(log), {"third": 3, "now": evaluation.logged})
    assert found["third"].ips is None
    assert found["now"].ips is not None


def test_support_of_arms_that_were_certain_is_that_of_the_whole() -> None:
    rng = np.random.default_rng(8)
    sure = rng.random(400) < 0.1
    log = Log(arm=np.where(sure, 0, rng.integers(2, size=400)), reward=rng.random(400),
              propensity=np.where(sure, 1.0, 0.5))  # fmt: skip
    found = evaluation.evaluate_parts(parts(log, 100), {"second": 1})["second"]
    whole = evaluation.evaluate(log, {"second": 1}, estimator="dm")["second"]
    assert found.support == pytest.approx(whole.support, abs=1e-12)


def test_rewards_out_of_their_range_are_refused() -> None:
    with pytest.raises(InvalidLog, match=r"from 0 to 0\.5; those of this log go from 0 to 1"):
        evaluation.evaluate_parts(parts(soft()), {"third": 3}, rewards=(0, 0.5))
    empty = dataclasses.replace(soft(), reward=np.full(len(soft()), np.nan))
    with pytest.raises(InvalidLog, match="no round of this log has a reward"):
        evaluation.evaluate_parts(parts(empty), {"third": 3})
