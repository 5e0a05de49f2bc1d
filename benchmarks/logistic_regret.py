"""Does `Logistic`, kept up between fits, lose more than an exact fit with every reward?

`python -m benchmarks.logistic_regret [SEEDS]` prints a table: both meet the same problems, noise and draws;
the difference is a mean over seeds, with an interval of 95 % by resampling.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from infex import Greedy, Infex, LinTS, LinUCB, every
from infex._stats import paired
from infex.arrays import Floats
from infex.core import estimators as core
from infex.lab import play_many
from infex.lab.environments import LinearInstance, gaussian, sphere
from infex.models import Logistic
from infex.models.base import FitSpec
from infex.models.logistic import LogisticFit

HORIZON, SEEDS = 4000, 400
CLICKS: Any = {"link": "logistic", "rewards": "bernoulli"}


def exact_fit(dim: int, penalty: float, rows: int, horizon: int) -> core.Fit:
    """Logistic regression that is fitted anew with every reward."""
    places: dict[bytes, int] = {}
    features, plays = np.zeros((rows, dim)), np.zeros((2, rows))  # of each row, how often 0 and 1 came

    def fit(x: Floats, reward: float, weight: float, penalty: float, memory: Floats, solved: Floats) -> float:
        if weight > 0.0:
            place = places.setdefault(x.tobytes(), len(places))
            features[place] = x
            plays[int(reward), place] += weight
        known = len(places)
        start = solved[-1].copy()
        return core.solve_logistic(
            features[:known], plays[0, :known], plays[1, :known], penalty, start, solved
        )

    return core.PythonFit(dim, penalty, fit, 0)


@dataclass(frozen=True)
class ExactLogistic:
    """`Logistic`, by a fit over all rewards with each of them."""

    def compiled(self) -> FitSpec:
        """The same in compiled loops."""
        return FitSpec(exact_fit, linked=True)

    def start(self, columns: Floats, penalty: float) -> LogisticFit:
        """Statistics that are not used: runs are compiled."""
        return Logistic().new_model(columns, penalty)


def steep(seed: int) -> LinearInstance:
    """Chances near 0 and 1: theta is 6 long."""
    drawn = sphere(dim=5, arms=20, seed=seed, gap=0.05)
    return LinearInstance(drawn.arms, 6.0 * drawn.theta, **CLICKS)


PROBLEMS: dict[str, Callable[[int], LinearInstance]] = {
    "gaussian(5, 20)": lambda seed: gaussian(dim=5, arms=20, seed=seed, **CLICKS),
    "gaussian(10, 50)": lambda seed: gaussian(dim=10, arms=50, seed=seed, **CLICKS),
    "sphere(5, 20), theta 6 long": steep,
}
POLICIES: dict[str, Any] = {
    "Greedy": Greedy(),
    "Infex(LinUCB, every(20))": Infex(LinUCB(noise=0.5), every(20)),
    "LinTS(scale=0.2)": LinTS(scale=0.2),
}


def main(seeds: int) -> None:
    """Prints the table."""
    print("| problem | policy | exact | kept up | kept up - exact |\n|---|---|---|---|---|")
    for problem, make in PROBLEMS.items():
        instances = [make(seed) for seed in range(seeds)]
        for name, policy in POLICIES.items():
            exact, kept_up = (
                np.array([run.regret for run in _runs(instances, policy, way)])
                for way in (ExactLogistic(), Logistic())
            )
            found = paired(kept_up, exact)
            ends = f"{found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"
            print(f"| {problem} | {name} | {exact.mean():.1f} | {kept_up.mean():.1f} | {ends} |", flush=True)


def _runs(instances: list[LinearInstance], policy: Any, way: Any) -> Any:
    seeds = range(len(instances))
    return play_many(instances, policy, HORIZON, seeds, paired=True, estimator=way, workers=1)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS)
