"""A regression for each arm: choose and update of a `Bandit`, against a NumPy loop with each inverse."""

import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import infex

Floats = NDArray[np.float64]

SIZES = ((5, 10), (20, 10), (20, 50), (20, 200), (50, 100))
WANTED = (1.0, 1.0, 1.0, 1.0, 1.2)
ROUNDS = 1000
REPEATS = 7
GREEDY_PERIOD = 20
SHOP = """
import numpy as np
import infex
def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20
small = infex.Bandit(features=infex.features.disjoint(2, 2), policy=infex.policies.FixedBonusUCB())
small.tell(small.ask(context=[0.5, 0.5]), 1.0)  # which loads compiled code
before = megabytes()
bandit = infex.Bandit(features=infex.features.disjoint(200, 20), policy=infex.policies.FixedBonusUCB())
for context in np.random.default_rng(1).random((200, 20)) / 5:
    bandit.tell(bandit.ask(context=context), 1.0)
print(megabytes() - before)
"""


class SmallRow(NamedTuple):
    """Microseconds of processor time for one choice and one update, the least over repeats."""

    context: int
    arms: int
    policy: str
    infex: float
    numpy: float
    wanted: float

    @property
    def ratio(self) -> float:
        """How many times as long as the NumPy loop."""
        return self.infex / self.numpy


class Inverses:
    """LinUCB with a constant bonus as a careful NumPy loop: one (K, c, c) array of inverses."""

    def __init__(self, arms: int, dim: int, greedy: bool = False) -> None:
        self.inverses = np.array([np.eye(dim)] * arms)
        self.moments, self.thetas = np.zeros((arms, dim)), np.zeros((arms, dim))
        self.greedy = greedy

    def choose(self, z: Floats) -> int:
        """The arm of the largest upper bound."""
        scores = self.thetas @ z
        if not self.greedy:
            scores = scores + np.sqrt((self.inverses @ z) @ z)
        return int(np.argmax(scores))

    def update(self, arm: int, z: Floats, reward: float) -> None:
        """Sherman and Morrison's formula."""
        inverse = self.inverses[arm]
        u = inverse @ z
        inverse -= np.outer(u, u / (1.0 + z @ u))
        self.moments[arm] += reward * z
        self.thetas[arm] = inverse @ self.moments[arm]


def problem_of(dim: int, arms: int) -> tuple[Floats, Floats]:
    """Contexts of length 1, and the means of all arms in each."""
    rng = np.random.default_rng(dim * 1000 + arms)
    contexts, thetas = rng.standard_normal((ROUNDS, dim)), rng.standard_normal((arms, dim))
    contexts /= np.linalg.norm(contexts, axis=1, keepdims=True)
    thetas /= np.linalg.norm(thetas, axis=1, keepdims=True)
    return contexts, contexts @ thetas.T


def ours(policy: infex.Policy, arms: int, contexts: Floats, means: Floats) -> float:
    """Microseconds a round of a bandit."""
    bandit = infex.Bandit(features=infex.features.disjoint(arms, contexts.shape[1]), policy=policy)
    begun = time.process_time()
    for context, mean in zip(contexts, means, strict=True):
        decision = bandit.ask(context=context)
        bandit.tell(decision, mean.item(decision.arm))
    return (time.process_time() - begun) / ROUNDS * 1e6


def theirs(greedy: bool, arms: int, contexts: Floats, means: Floats) -> float:
    """Microseconds a round of the loop."""
    loop = Inverses(arms, contexts.shape[1], greedy)
    begun = time.process_time()
    for context, mean in zip(contexts, means, strict=True):
        arm = loop.choose(context)
        loop.update(arm, context, mean.item(arm))
    return (time.process_time() - begun) / ROUNDS * 1e6


def policies() -> dict[str, tuple[infex.Policy, bool]]:
    """Each policy; is the loop beside it greedy?"""
    ucb = infex.policies.FixedBonusUCB()
    return {
        "FixedBonusUCB": (ucb, False),
        "LinUCB": (infex.LinUCB(), False),
        f"Infex(FixedBonusUCB, every({GREEDY_PERIOD}))": (
            infex.Infex(ucb, infex.every(GREEDY_PERIOD)),
            False,
        ),
        "Greedy": (infex.Greedy(), True),
    }


def measure(dim: int, arms: int, wanted: float, repeats: int = REPEATS) -> list[SmallRow]:
    """Infex and the loop in turn, so that a slow minute of the machine meets both."""
    contexts, means = problem_of(dim, arms)
    rows = []
    for name, (policy, greedy) in policies().items():
        pairs = [
            (ours(policy, arms, contexts, means), theirs(greedy, arms, contexts, means))
            for _ in range(repeats)
        ]
        mine, others = (min(each) for each in zip(*pairs, strict=True))
        rows.append(SmallRow(dim, arms, name, mine, others, wanted))
    return rows


def memory() -> float:
    """Megabytes of a shop of 200 arms and 20 features, above a tiny one, in a process of its own; Linux."""
    out = subprocess.run([sys.executable, "-c", SHOP], capture_output=True, text=True, check=True).stdout
    return float(out)


def table() -> list[SmallRow]:
    """All rows."""
    pairs = zip(SIZES, WANTED, strict=True)
    return [row for (dim, arms), wanted in pairs for row in measure(dim, arms, wanted)]


if __name__ == "__main__":
    for row in table():
        print(*row, round(row.ratio, 2))
    print(f"{memory():.1f} MB above the import")
