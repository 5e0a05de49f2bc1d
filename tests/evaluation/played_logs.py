"""Many logs of a bandit that learns, played side by side: what estimators are checked on.

A ridge estimate is updated after every round and the greedy arm is played, but for one round of each block in
which a randomised base decides. Offers have a season in step with the block. The target is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infex.arrays import Floats, Integers
from infex.logs import Log, LogFacts
from tests.evaluation.synthetic_logs import softmax


@dataclass(frozen=True)
class Problem:
    """Offers (n, K, d) and mean rewards (n, K) of all rounds, and the arms of a target."""

    offers: Floats
    means: Floats
    target: Integers
    period: int
    noise: float

    @property
    def truth(self) -> float:
        return float(self.means[np.arange(len(self.means)), self.target].mean())


def problem(
    seed: int, rounds: int, period: int, bend: float = 0.0, arms: int = 4, noise: float = 0.5
) -> Problem:
    """Two kinds of offers, in the first and the second half of each block."""
    rng = np.random.default_rng(seed)
    kinds = rng.normal(size=(2, arms, 3))
    kinds /= np.linalg.norm(kinds, axis=2, keepdims=True)
    means = kinds @ np.array([0.5, 0.5, -0.4]) + bend * kinds[:, :, 0] * kinds[:, :, 1]
    which = (np.arange(rounds) % period >= period // 2).astype(int)
    order = np.argsort(means, axis=1)
    target = np.array([order[0, -2], order[1, 0]])  # good in the first half of a block, bad in the second
    return Problem(kinds[which], means[which], target[which], period, noise)


@dataclass(frozen=True)
class Played:
    """Columns of many logs, (rounds, logs) each."""

    problem: Problem
    columns: dict[str, np.ndarray]
    base_propensities: Floats

    def log(self, run: int) -> Log:
        asked = self.problem
        own = {name: np.ascontiguousarray(values[:, run]) for name, values in self.columns.items()}
        facts = LogFacts(period=asked.period, penalty=1.0, noise=asked.noise, bound=1.0)
        return Log(
            **own,
            base_propensities=np.ascontiguousarray(self.base_propensities[:, run]),
            offers=asked.offers,
            facts=facts,
        )


def play(asked: Problem, runs: int, seed: int, *, jittered: bool = True, tie: float = 0.2) -> Played:
    """Logs of one drawn round in each block (or its last), by a softmax of estimates mixed with uniform."""
    rng = np.random.default_rng(seed)
    n, arms, dim = asked.offers.shape
    gram, moment = np.tile(np.eye(dim), (runs, 1, 1)), np.zeros((runs, dim))
    lots: Integers = np.full((runs, -(-n // asked.period)), asked.period - 1)
    if jittered:
        lots = rng.integers(asked.period, size=lots.shape)
    kinds = {
        "arm": int,
        "greedy": int,
        "explored": bool,
        "reward": float,
        "explore_probability": float,
        "base_propensity": float,
    }
    columns: dict[str, np.ndarray] = {name: np.zeros((n, runs), dtype=kind) for name, kind in kinds.items()}
    laws, every = np.zeros((n, runs, arms)), np.arange(runs)
    for t in range(n):
        block, place = divmod(t, asked.period)
        rows = asked.offers[t]
        scores = np.linalg.solve(gram, moment[..., None])[..., 0] @ rows.T
        laws[t] = 0.5 * softmax(scores / tie) + 0.5 / arms
        explored = lots[:, block] == place
        due = np.where(lots[:, block] >= place, 1.0 / (asked.period - place), 0.0)
        drawn = (laws[t].cumsum(axis=1) > rng.random(runs)[:, None]).argmax(axis=1)
        arm = np.where(explored, drawn, scores.argmax(axis=1))
        reward = asked.means[t, arm] + asked.noise * rng.normal(size=runs)
        x = rows[arm]
        gram += x[:, :, None] * x[:, None, :]
        moment += reward[:, None] * x
        new = {"arm": arm, "greedy": scores.argmax(axis=1), "explored": explored, "reward": reward}
        new |= {"explore_probability": due if jittered else explored, "base_propensity": laws[t][every, arm]}
        for name, values in new.items():
            columns[name][t] = values
    same = columns["arm"] == columns["greedy"]
    columns["propensity"] = (
        columns["explore_probability"] * columns["base_propensity"]
        + (1 - columns["explore_probability"]) * same
    )
    return Played(asked, columns, laws)
