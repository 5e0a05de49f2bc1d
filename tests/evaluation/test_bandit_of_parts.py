"""A log learnt part by part, here or by workers of a cluster, is the log learnt whole."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from dask.distributed import Client

from infex import Bandit, Greedy, Infex, LinUCB, evaluation, every, features, jittered
from infex.errors import CannotMerge, InvalidLog, NotKept
from infex.logs import Log
from infex.logs.parquet import ROWS_PER_GROUP
from infex.models import Discounted
from infex.policies import Uniform
from tests.waiting import PATIENCE, started, until

ROOT = Path(__file__).parents[2]
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def long_log(seed: int, n: int) -> Log:
    rng = np.random.default_rng(seed)
    offers = rng.normal(size=(n, 3, 4)) / 5
    arm, explored = rng.integers(3, size=n), rng.random(n) < 0.1
    reward = np.where(rng.random(n) < 0.1, np.nan, offers[np.arange(n), arm, 0] + rng.normal(size=n))
    chance = np.where(explored, 0.5, 0.0)
    return Log(
        arm=arm, reward=reward, offers=offers, explored=explored, explore_probability=chance,
        greedy=rng.integers(3, size=n), others={"loss": np.where(explored, rng.random(n), 0.0)},
    )  # fmt: skip


def same(one: Bandit, other: Bandit) -> None:
    assert np.allclose(one.theta, other.theta, rtol=1e-12, atol=1e-13)
    assert one.exploration()[:-1] == other.exploration()[:-1]
    assert one.exploration().cost == pytest.approx(other.exploration().cost, rel=1e-12)
    rows = np.eye(4)
    for _ in range(30):
        mine, theirs = one.ask(rows), other.ask(rows)
        assert (mine.t, mine.arm, mine.explored) == (theirs.t, theirs.arm, theirs.explored)
        assert mine.estimate == pytest.approx(theirs.estimate, abs=1e-12)
        one.tell(mine, 0.5)
        other.tell(theirs, 0.5)


POLICIES = [Infex(LinUCB(), every(7)), Infex(Uniform(), jittered(5), data="own")]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_parts_add_up_to_the_whole(policy: Any, tmp_path: Path) -> None:
    log = long_log(1, 1000)
    evaluation.write(log, tmp_path / "log.parquet")
    parts = evaluation.read_parts(tmp_path / "log.parquet", rows=150)
    found = evaluation.bandit_of_parts(parts, policy, seed=4, penalty=0.5)
    same(found, evaluation.bandit(log, policy, seed=4, penalty=0.5))
    assert evaluation.bandit_of_parts([log], policy, fresh=True).t == 0


def test_blocks_add_up_too() -> None:
    rng = np.random.default_rng(3)
    log = Log(arm=rng.integers(3, size=90), reward=rng.normal(size=90), context=rng.random((90, 2)) / 2,
              features=features.disjoint(["x", "y", "z"], 2))  # fmt: skip
    parts = [log.take(slice(0, 40)), log.take(slice(40, 90))]
    found, whole = evaluation.bandit_of_parts(parts, Greedy()), evaluation.bandit(log, Greedy())
    assert np.allclose(found.theta, whole.theta, rtol=1e-12)
    assert found.t == whole.t == 90


def test_what_does_not_add_up_is_refused() -> None:
    log = long_log(1, 20)
    halves = [log.take(slice(0, 9)), log.take(slice(9, 20))]
    with pytest.raises((CannotMerge, NotKept)):
        evaluation.bandit_of_parts(halves, LinUCB(), estimator=Discounted())
    with pytest.raises(InvalidLog, match="at least one row"):
        evaluation.bandit_of_parts([], LinUCB())
    with pytest.raises(InvalidLog):
        evaluation.log_parts("nowhere.parquet")


@contextlib.contextmanager
def cluster(folder: Path) -> Any:
    """A scheduler and two workers, each a process of its own."""
    file, patience = folder / "scheduler.json", f"{PATIENCE:g}s"
    timeouts = ("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP")
    given = QUIET | {"env": os.environ | {"PYTHONPATH": str(ROOT)} | dict.fromkeys(timeouts, patience)}
    local = ["--no-dashboard", "--host", "127.0.0.1"]
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler", *local, "--port", "0"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", *local, "--nthreads", "1"]
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(started([*scheduler, "--scheduler-file", str(file)], **given))
        address = until(lambda: _address(file), "the scheduler is there", first)
        for _ in range(2):
            stack.enter_context(started([*worker, address], **given))
        stack.enter_context(dask.config.set({"distributed.comm.timeouts.connect": patience}))
        client = stack.enter_context(Client(address))
        client.wait_for_workers(2, timeout=PATIENCE)
        yield client


def _address(file: Path) -> str | None:
    try:
        address: str = json.loads(file.read_text())["address"]
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return address


@pytest.mark.slow
def test_two_workers_give_the_same(tmp_path: Path) -> None:
    log, policy = long_log(2, 3000), Infex(LinUCB(), every(7))
    for first in range(0, 3000, 1000):
        evaluation.write(log.take(slice(first, first + 1000)), tmp_path / f"{first:04}.parquet")
    parts = [part for path in sorted(tmp_path.glob("*.parquet")) for part in evaluation.log_parts(path)]
    assert len(parts) == 3
    with cluster(tmp_path) as client:
        found = evaluation.bandit_of_parts(parts, policy, client=client)
        who = set(client.run(os.getpid).values())
    assert len(who - {os.getpid()}) == 2
    here = evaluation.bandit_of_parts(parts, policy)
    mine, theirs = found._agent.model.arrays(), here._agent.model.arrays()
    assert all(np.array_equal(mine[name], array) for name, array in theirs.items())
    same(found, evaluation.bandit(log, policy))


def test_a_long_file_has_several_row_groups(tmp_path: Path) -> None:
    n = ROWS_PER_GROUP + 5
    log = Log(arm=np.zeros(n, dtype=int), reward=np.ones(n), arms=np.eye(2))
    evaluation.write(log, tmp_path / "log.parquet")
    parts = evaluation.log_parts(tmp_path / "log.parquet")
    assert [len(part.read()) for part in parts] == [ROWS_PER_GROUP, 5]
