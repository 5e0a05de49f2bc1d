"""How many events a study brings to the disk, how long one takes, and how quickly a long one is opened."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

import numpy as np

import infex
from infex.study.snapshot import replay_journal
from infex.study.stores.base import reading
from infex.study.study import Study

THREADS = 64
EVENTS = 32_000  # of all threads together
LONG = 1_000_000  # decisions of a long study
CONTEXTS = (np.random.default_rng(0).normal(size=(5000, 12)) * 0.1).tolist()


class Load(NamedTuple):
    """Durable asks and tells from many threads: events a second, and how long one takes, in milliseconds."""

    per_second: float
    median: float
    p99: float


class LongStudy(NamedTuple):
    """A study of so many decisions, each with its reward: seconds, decisions a second, bytes a decision."""

    decisions: int
    opened: float
    replayed_per_second: float
    bytes_each: float


def begun(url: str, name: str = "shop") -> Study:
    """A shop of ten products and contexts of twelve features."""
    shop = infex.features.disjoint([f"p{n}" for n in range(10)], context_dim=12)
    policy = infex.Infex(infex.LinUCB(), infex.every(20))
    return Study.open(url, name, features=shop, policy=policy, seed=7)


def durable(url: str | None = None, threads: int = THREADS, events: int = EVENTS, worker: str = "w") -> Load:
    """Every answer waits for the disk."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        study = begun(url or f"sqlite:///{folder}/shop.db")
        warm(study, worker)
        times: list[float] = []

        def work(thread: int) -> None:
            for n in range(events // threads // 2):
                key = f"{worker}{thread}-{n}x"
                before = time.perf_counter()
                study.ask(key, context=CONTEXTS[n % 5000])
                between = time.perf_counter()
                study.tell(key, 0.5)
                times.extend((between - before, time.perf_counter() - between))

        running = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        start = time.perf_counter()
        for each in running:
            each.start()
        for each in running:
            each.join()
        seconds = time.perf_counter() - start
        study.close()
    median, p99 = (1000 * float(np.quantile(times, share)) for share in (0.5, 0.99))
    return Load(len(times) / seconds, median, p99)


def warm(study: Study, worker: str) -> None:
    """What is compiled at its first use is compiled."""
    for n in range(50):
        study.ask(f"{worker} warm {n}", context=CONTEXTS[n])
        study.tell(f"{worker} warm {n}", 0.5)


def not_waiting(count: int = 5000) -> float:
    """Microseconds of an ask and a tell that wait for no disk, both together: the median."""
    times = []
    with tempfile.TemporaryDirectory(dir=".") as folder, begun(f"sqlite:///{folder}/shop.db") as study:
        warm(study, "w")
        for n in range(count):
            start = time.perf_counter()
            study.ask(f"k{n}x", context=CONTEXTS[n % 5000], durable=False)
            times.append(time.perf_counter() - start)
            study.tell(f"k{n}x", 0.5, durable=False)
    return 1e6 * float(np.median(times))


def long_study(decisions: int = LONG) -> LongStudy:
    """A long study, opened from its snapshot, and replayed whole."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        url = f"sqlite:///{folder}/shop.db"
        with begun(url) as study:
            warm(study, "w")
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for first in range(0, decisions, 1000):
                keys = [f"k{n}x" for n in range(first, min(first + 1000, decisions))]
                study.ask_many(keys, contexts=[CONTEXTS[n % 5000] for n in range(len(keys))])
                study.tell_many(keys, [0.5] * len(keys))
            grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        start = time.perf_counter()
        study = begun(url)
        opened = time.perf_counter() - start
        start = time.perf_counter()
        with reading(url) as store:
            state, _ = replay_journal(store, "shop", {})
        seconds = time.perf_counter() - start
        study.close()
    return LongStudy(decisions, opened, state.bandit.t / seconds, grown / decisions)


def postgres() -> float:
    """Durable decisions a second of two processes with 32 threads each, on one server of PostgreSQL."""
    from tests.study.server import running

    with running() as server:
        begun(server.url).close()
        words = "import sys, benchmarks.study as s; print(s.durable(sys.argv[1], 32, 8000, sys.argv[2]))"
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", words, server.url, each], stdout=subprocess.PIPE, text=True
            )
            for each in ("one", "two")
        ]
        found = [worker.communicate()[0] for worker in workers]
    rates = [float(line.split("per_second=")[1].split(",")[0]) for line in found]
    return sum(rates) / 2  # a decision is an ask and a tell


if __name__ == "__main__":
    print(durable(), not_waiting(), long_study(int(float(sys.argv[1]) if len(sys.argv) > 1 else LONG)))
