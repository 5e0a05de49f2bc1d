"""Sweeps: the time of the whole paper against that of its runs alone, and the memory of 30,000 short runs."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from infex.lab import Sweep, paper
from infex.lab.reports.page import write_report
from infex.lab.simulation.simulator import cores

SHORT_RUNS = 30_000
SAMPLING_SECONDS = 0.05
MEGABYTE = 1024  # as the kernel counts, in kilobytes
PROGRAM = """
from benchmarks.sweeps import short_runs
import sys
results = short_runs(int(sys.argv[1])).run(out=sys.argv[2])
assert len(results.finals) == int(sys.argv[1]), results
"""


class WholePaper(NamedTuple):
    """The seconds of all runs of the paper, of figures and page, and of the runs alone on as many cores."""

    runs: int
    playing: float
    reporting: float
    alone: float

    @property
    def playing_ratio(self) -> float:
        """The sweep against its runs alone."""
        return self.playing / self.alone

    @property
    def whole_ratio(self) -> float:
        """The sweep with its figures and page against its runs alone."""
        return (self.playing + self.reporting) / self.alone


def whole_paper() -> WholePaper:
    """Plays the paper's experiment once all is compiled, and draws it."""
    with tempfile.TemporaryDirectory() as folder:
        paper.paper(dims=(10,), arms=(10,), instances=2, horizon=100).run()
        begun = time.perf_counter()
        results = paper.paper().run(out=folder)
        played = time.perf_counter()
        write_report(results, Path(folder))
        drawn = time.perf_counter()
    alone = sum(results.finals["seconds"].to_pylist()) / cores()
    return WholePaper(len(results.finals), played - begun, drawn - played, alone)


def short_runs(count: int) -> Sweep:
    """So many runs of 1,000 rounds, of three policies."""
    policies = ["LinUCB", "Infex(LinUCB, every(20))", "Greedy"]
    return Sweep(
        environments=["gaussian(dim=5, arms=20)"],
        policies=policies,
        seeds=count // len(policies),
        horizon=1_000,
    )


class SweepMemory(NamedTuple):
    """Megabytes that a sweep took at most, in all processes, and how many of them came of the runs.

    A page that several processes share counts once (the kernel's proportional set size).
    """

    runs: int
    most: float
    few: float
    seconds: float

    @property
    def kilobytes_a_run(self) -> float:
        """What a run adds."""
        return (self.most - self.few) * 1024 / self.runs


def memory(runs: int = SHORT_RUNS) -> SweepMemory:
    """Plays many short runs in a program of their own, and a few for comparison."""
    few, _ = _peak(30)
    most, seconds = _peak(runs)
    return SweepMemory(runs, most, few, seconds)


def _peak(runs: int) -> tuple[float, float]:
    """The most megabytes of a program and all that it starts, and its seconds."""
    begun, most = time.perf_counter(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(runs), folder])
        while process.poll() is None:
            most = max(most, sum(map(_resident, _family(process.pid))))
            time.sleep(SAMPLING_SECONDS)
    if process.returncode:
        raise RuntimeError(f"the sweep ended with code {process.returncode}")
    return most / MEGABYTE, time.perf_counter() - begun


def _family(pid: int) -> Iterator[int]:
    """A process and all that it has started, which live."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:  # it has ended meanwhile
            continue
        for child in children:
            yield from _family(child)


def _resident(pid: int) -> int:
    """The kilobytes of a process, of shared pages its part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
