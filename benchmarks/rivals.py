"""What a round of each algorithm costs, beside one solve of a d x d system for every arm."""

import time
from typing import NamedTuple

import numpy as np

from infex import registry
from infex.lab import play
from infex.lab.environments import gaussian

POLICIES = (
    "OLSBandit",
    "ExploreThenCommit",
    "FixedBonusUCB",
    "HybridTS",
    "UCB1",
    "GaussianTS",
    "HybridTS(form=plain)",
    "RarelySwitchingUCB",
    "GreedyFirst",
    "LassoBandit",
    "AgnosticLassoBandit",
    "ContextReduction",
)
SHAPES = ((10, 100), (20, 1000))
HORIZON = 2000


class Row(NamedTuple):
    """Microseconds a round of one policy, and those of K solves."""

    dim: int
    arms: int
    policy: str
    infex: float
    solves: float

    @property
    def ratio(self) -> float:
        """How many times K solves would take."""
        return self.solves / self.infex


def table(repeats: int = 3) -> list[Row]:
    """One row for each shape and policy."""
    found = []
    for dim, arms in SHAPES:
        instance = gaussian(dim, arms, seed=1)
        solves = _solves(dim, arms)
        for name in POLICIES:
            policy = registry.parse(name)
            play(instance, policy, 50)
            best = min(play(instance, policy, HORIZON).seconds for _ in range(repeats))
            found.append(Row(dim, arms, name, 1e6 * best / HORIZON, solves))
    return found


def _solves(dim: int, arms: int) -> float:
    """Microseconds of one solve for each arm, in one call of LAPACK."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(arms, dim))
    gram = np.eye(dim) + rows.T @ rows
    stacked = np.broadcast_to(gram, (arms, dim, dim))
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        np.linalg.solve(stacked, rows[:, :, None])
        times.append(time.perf_counter() - begun)
    return 1e6 * min(times)
