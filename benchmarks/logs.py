"""Logs: reading them, learners on them, and what writing one costs a decision."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infex import Bandit, Infex, LinUCB, evaluation, every, jittered
from infex.logs import Log
from infex.policies import Uniform

LOG_ROUNDS, LOG_ARMS, LOG_DIM, LOG_TRIES = 1_000_000, 10, 10, 3


class Paced(NamedTuple):
    """How many a second, the best of several, and how many were asked for (0: no figure was)."""

    what: str
    rate: float
    wanted: float


def rate_of(call: Callable[[], Any], count: int) -> float:
    """How many a second of processor time, the best of several calls after a first one."""
    call()
    times = []
    for _ in range(LOG_TRIES):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return count / min(times)


def table() -> list[Paced]:
    """Rows read, events replayed, and decisions taken with a log and without."""
    return [*reading(), *replaying(), *deciding()]


def uniform_log(rounds: int, offers: bool) -> Log:
    """Arms drawn uniformly, rewards linear in their features."""
    rng = np.random.default_rng(0)
    arm = rng.integers(LOG_ARMS, size=rounds)
    looks = rng.normal(size=(rounds if offers else 1, LOG_ARMS, LOG_DIM)) / 10
    played = looks[np.arange(rounds) if offers else 0, arm]
    reward = played[:, 0] + 0.3 * rng.normal(size=rounds)
    parts: dict[str, Any] = {"offers": looks} if offers else {"arms": looks[0]}
    return Log(arm=arm, reward=reward, propensity=np.full(rounds, 1 / LOG_ARMS), **parts)


def reading() -> list[Paced]:
    """Parquet whole and by parts, with offers of all arms and without."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for words, count, offers in (("fixed arms", LOG_ROUNDS, False), ("offers of 10 x 10", 100_000, True)):
            path = Path(folder) / f"{count}.parquet"
            evaluation.write(uniform_log(count, offers), path)
            whole = rate_of(lambda path=path: evaluation.read(path), count)  # type: ignore[misc]
            parts = rate_of(lambda path=path: sum(map(len, evaluation.read_parts(path))), count)  # type: ignore[misc]
            found += [Paced(f"rows read, {words}", whole, 0.0), Paced(f"rows by parts, {words}", parts, 0.0)]
    return found


def replaying() -> list[Paced]:
    """Events that a learner goes through."""
    policies = (Infex(LinUCB(), every(20)), Infex(Uniform(), jittered(20)))
    found = []
    for words, log in (
        ("fixed arms", uniform_log(100_000, False)),
        ("offers", uniform_log(10_000, True)),
    ):
        for policy in policies:
            events = int(evaluation.replay(log, policy).rows[-1])
            rate = rate_of(lambda log=log, policy=policy: evaluation.replay(log, policy), events)  # type: ignore[misc]
            found.append(Paced(f"events replayed, {words}, {policy.schedule!r}", rate, 0.0))
    return found


def deciding() -> list[Paced]:
    """Rounds of ask and tell with a log, and without."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for words, path in (("without a log", None), ("with a log", Path(folder) / "log")):
            bandit = Bandit(np.eye(LOG_DIM), Infex(LinUCB(), every(20)), log=path)

            def rounds(bandit: Bandit = bandit) -> None:
                for _ in range(5000):
                    bandit.tell(bandit.ask(), 0.5)

            found.append(Paced(f"ask and tell {words}", rate_of(rounds, 5000), 0.0))
    return found
