"""What one decision costs, beside what it was meant to cost: `python -m benchmarks.aims`.

Aims are of a machine on which the NumPy loop of `benchmarks.ask_tell` takes 18 microseconds for a decision
and its reward (d = 10, K = 100); on another machine compare the ratios.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import infex

REPEATS = 7
ARMS = np.random.default_rng(0).normal(size=(100, 10)) / 10.0
CONTEXT = {f"x{place}": 0.5 for place in range(19)}


class Row(NamedTuple):
    """One figure, in its unit, and what was aimed at."""

    what: str
    figure: float
    aim: float
    unit: str


def fixed(m: int = 20) -> infex.Bandit:
    """A bandit over 100 fixed arms of 10 features."""
    return infex.Bandit(ARMS, infex.Infex(infex.LinUCB(), infex.every(m)))


def mapped() -> infex.Bandit:
    """A bandit over 50 arms with a regression each, and contexts of a table of 19 numbers and 1."""
    visitor = infex.features.table(numbers=dict.fromkeys(CONTEXT, (0, 1)))
    arms = infex.features.disjoint([f"arm {place}" for place in range(50)], context=visitor)
    return infex.Bandit(features=arms, policy=infex.Infex(infex.LinUCB(), infex.every(20)))


def microseconds(step: Callable[[], object], count: int) -> float:
    """The least processor time of a step, in microseconds."""
    least = np.inf
    for _ in range(REPEATS):
        begun = time.process_time()
        for _ in range(count):
            step()
        least = min(least, time.process_time() - begun)
    return float(least / count * 1e6)


def ask_and_tell(bandit: infex.Bandit, **request: Any) -> float:
    """One decision and its reward, in microseconds."""

    def step() -> None:
        decision = bandit.ask(**request)
        bandit.tell(decision.id, 0.5)

    return microseconds(step, 2000)


def python_calls(bandit: infex.Bandit) -> int:
    """How many Python functions one greedy `ask` calls."""
    for _ in range(22):
        bandit.tell(bandit.ask(), 0.5)
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    bandit.ask()
    sys.setprofile(None)
    return calls


def batched(m: int, size: int = 10_000) -> float:
    """One decision of a batch, in microseconds."""
    bandit, least = fixed(m), np.inf
    for _ in range(REPEATS):
        begun = time.process_time()
        decisions = bandit.ask_many(size)
        least = min(least, time.process_time() - begun)
        bandit.tell_many(decisions, np.zeros(size))
    return float(least / size * 1e6)


def in_a_new_process(program: str) -> float:
    """The least processor time, in seconds, that a program prints in a process of its own."""
    command = [sys.executable, "-c", program]
    runs = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(REPEATS))
    return min(float(run.stdout) for run in runs)


IMPORTED = "import time; begun = time.process_time(); import infex; print(time.process_time() - begun)"
FIRST_ASK = (
    "import time, infex; begun = time.process_time(); "
    "infex.Bandit([[1.0, 0.0], [0.0, 1.0]], infex.LinUCB()).ask(); print(time.process_time() - begun)"
)


def table() -> list[Row]:
    """All figures."""
    return [
        Row("import infex, NumPy included", in_a_new_process(IMPORTED), 0.25, "s"),
        Row("making a bandit and its first ask, after the import", in_a_new_process(FIRST_ASK), 0.05, "s"),
        Row("ask + tell, 100 fixed arms of 10 features", ask_and_tell(fixed()), 6.0, "us"),
        Row(
            "ask + tell, table of features, 50 arms of 20",
            ask_and_tell(mapped(), context=CONTEXT),
            12.0,
            "us",
        ),
        Row("Python calls of a greedy ask", python_calls(fixed()), 45, ""),
        Row("ask_many, 100 fixed arms, exploring every 20th", batched(20), 1.0, "us"),
        Row("ask_many, 100 fixed arms, exploring every 1,000th", batched(1000), 1.0, "us"),
    ]


if __name__ == "__main__":
    for row in table():
        print(f"{row.what:54}{row.figure:9.3f} {row.unit:3} aim {row.aim:g}")
