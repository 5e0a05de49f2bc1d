"""Whole `play` calls against C written by hand (`by_hand.c`), measured by turns."""

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import infex
from infex.lab.environments import LinearInstance, gaussian

HORIZON = 10_000
DELTA = 1 / HORIZON
FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")
GREEDY, LINUCB, LINTS = range(3)  # as by_hand.c has them


class HandRow(NamedTuple):
    """Microseconds of processor time a round, the least over repeats, and how many times C's they may be."""

    policy: str
    infex: float
    by_hand: float
    wanted: float

    @property
    def ratio(self) -> float:
        """How many times the C."""
        return self.infex / self.by_hand


def compiler() -> str | None:
    """A C compiler, if one is at hand."""
    return next((found for name in ("gcc", "cc", "clang") if (found := shutil.which(name))), None)


def library(folder: str) -> Any:
    """The C, compiled."""
    target, source = Path(folder, "by_hand.so"), Path(__file__).with_name("by_hand.c")
    subprocess.run([str(compiler()), *FLAGS, str(source), "-o", str(target), "-lm"], check=True)
    loaded = ctypes.CDLL(str(target))
    floats = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    loaded.play.restype = ctypes.c_double
    numbers = ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64
    loaded.play.argtypes = [*numbers, floats, floats, ctypes.c_double, ctypes.c_uint64]
    return loaded


def regret(loaded: Any, kind: int, instance: LinearInstance, seed: int) -> float:
    """That of one run in C."""
    count, dim = instance.arms.shape
    columns = np.ascontiguousarray(instance.arms.T)
    means = np.array(instance.means)
    return float(loaded.play(kind, dim, count, HORIZON, columns, means, DELTA, seed))


def processor_time(call: Callable[[], object]) -> float:
    """Microseconds a round of one call."""
    begun = time.process_time()
    call()
    return (time.process_time() - begun) / HORIZON * 1e6


def table(repeats: int = 15) -> list[HandRow]:
    """All rows at d = 10, K = 100, by turns; none where there is no C compiler."""
    if compiler() is None:
        return []
    instance = gaussian(dim=10, arms=100, seed=3)
    optimist = infex.LinUCB(delta=DELTA)
    rows: tuple[tuple[str, infex.Policy, int, float], ...] = (
        ("Greedy", infex.Greedy(), GREEDY, 1.0),
        ("Infex(LinUCB, every(100))", infex.Infex(optimist, infex.every(100)), GREEDY, 1.0),
        ("LinUCB", optimist, LINUCB, 2.0),
        ("LinTS", infex.LinTS(delta=DELTA), LINTS, 2.0),
    )
    found = []
    with tempfile.TemporaryDirectory() as folder:
        loaded = library(folder)
        for name, policy, kind, wanted in rows:
            infex.lab.play(instance, policy, 10)
            pairs = [
                (
                    processor_time(lambda: infex.lab.play(instance, policy, HORIZON)),  # noqa: B023 - called at once
                    processor_time(lambda: regret(loaded, kind, instance, 1)),  # noqa: B023
                )
                for _ in range(repeats)
            ]
            ours, theirs = (min(times) for times in zip(*pairs, strict=True))
            found.append(HandRow(name, ours, theirs, wanted))
    return found


if __name__ == "__main__":
    for row in table():
        print(f"{row.policy:27}{row.infex:9.4f}{row.by_hand:9.4f}{row.ratio:8.2f}x, wanted {row.wanted:.0f}x")
