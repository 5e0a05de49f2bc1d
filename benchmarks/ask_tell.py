"""One ask and one tell of a `Bandit`, against textbook NumPy on the same problem."""

import statistics
import time
from collections import deque
from typing import Any, NamedTuple

import infex
from benchmarks.textbook import Textbook
from infex.testing import problem

HORIZON = 10_000
REPEATS = 7
DELTA = 1 / HORIZON


class Row(NamedTuple):
    """Microseconds a round of ask and tell, the least over repeats."""

    dim: int
    arms: int
    policy: str
    infex: float
    textbook: float

    @property
    def ratio(self) -> float:
        """How many times faster than textbook NumPy."""
        return self.textbook / self.infex


def policies() -> dict[str, tuple[infex.Policy, int]]:
    """Each policy, and the period of its textbook form."""
    base = infex.LinUCB(delta=DELTA)
    return {
        "Infex(LinUCB, every(20))": (infex.Infex(base, infex.every(20)), 20),
        "Infex(LinUCB, every(20), data=own)": (infex.Infex(base, infex.every(20), data="own"), 20),
        "LinUCB": (base, 1),
        "Greedy": (infex.Greedy(), HORIZON + 1),
    }


def microseconds(bandit: Any, bars: list[float], uniforms: list[float], decides: bool) -> float:
    """What one round costs; `decides` if `ask` gives a decision, else a bare arm."""
    start = time.perf_counter()
    for uniform in uniforms:
        asked = bandit.ask()
        arm = asked.arm if decides else asked
        bandit.tell(asked, 1.0 if uniform < bars[arm] else -1.0)
    return (time.perf_counter() - start) / HORIZON * 1e6


def measure(dim: int, arms: int) -> list[Row]:
    """Infex and textbook in turn, so that a slow minute of the machine meets both."""
    given = problem(1, arms=arms, dim=dim, horizon=HORIZON)
    bars = ((1 + given.arms @ given.theta) / 2).tolist()
    uniforms = infex.lab.stream(1, "uniforms").random(HORIZON).tolist()
    rows = []
    for name, (policy, period) in policies().items():
        ours, theirs = [], []
        for _ in range(REPEATS):
            ours.append(microseconds(infex.Bandit(given.arms, policy), bars, uniforms, decides=True))
            theirs.append(microseconds(Textbook(given.arms, period, DELTA), bars, uniforms, decides=False))
        rows.append(Row(dim, arms, name, min(ours), min(theirs)))
    return rows


class Asks(NamedTuple):
    """Microseconds of one greedy `ask` and of an exploring one, medians, where rewards come `late` rounds."""

    late: int
    greedy: float
    exploring: float

    @property
    def ratio(self) -> float:
        """How many times a greedy one an exploring one takes."""
        return self.exploring / self.greedy


def asks(late: int, period: int = 20, dim: int = 10, arms: int = 100) -> Asks:
    """Both kinds in one run; with `late` rewards so many decisions are pending all the time."""
    given = problem(1, arms=arms, dim=dim, horizon=HORIZON)
    bandit = infex.Bandit(given.arms, infex.Infex(infex.LinUCB(delta=DELTA), infex.every(period)))
    waiting: deque[infex.Decision] = deque()
    times: dict[bool, list[float]] = {False: [], True: []}
    for uniform in infex.lab.stream(1, "uniforms").random(HORIZON).tolist():
        start = time.perf_counter()
        decision = bandit.ask()
        times[decision.explored].append(time.perf_counter() - start)
        waiting.append(decision)
        if len(waiting) > late:
            bandit.tell(waiting.popleft(), 1.0 if uniform < 0.5 else -1.0)
    clock = statistics.median(-time.perf_counter() + time.perf_counter() for _ in range(1000))
    greedy, exploring = (statistics.median(times[kind]) - clock for kind in (False, True))
    return Asks(late, greedy * 1e6, exploring * 1e6)


def table() -> list[Row]:
    """All rows."""
    return [row for dim, arms in ((10, 100), (10, 1000), (40, 1000)) for row in measure(dim, arms)]
