"""Policies that learn, simulated on problems like that of a log: this is how to compare schedules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from infex.arrays import Floats
from infex.checks import safe_repr, whole
from infex.errors import InvalidSetting, InvalidTarget
from infex.evaluation.compare import Comparison, verdict_of
from infex.evaluation.intervals import Bounds, standard_error, student
from infex.evaluation.model import LogAnalysis, analyse
from infex.lab.environments.instances import OfferSets
from infex.lab.planner.beliefs import Belief, PlannedProblem
from infex.lab.simulation import Run, play_many
from infex.logs import Log
from infex.policies.base import Policy
from infex.registry import parse
from infex.streams import stream

MOST_SETS = 4096  # rounds whose offers are drawn from, where offers change
FEWEST_WORLDS = 2


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Simulation:
    """Rewards of learning policies on problems drawn from the posterior of a log, the same ones for all.

    `rewards[name]` has the mean reward a round in each problem. They rest on rewards that are linear, which
    the correction of `evaluate(..., estimator="dr")` tests.

    `explored` is the mean number of exploring rounds by name, `deviations` that of those among them in which
    the arm was not the greedy one (None without a schedule), `best` the reward of the best arm in each
    problem; `horizon`, `confidence` and `noise` are those of `simulate`.
    """

    rewards: Mapping[str, Floats]
    explored: Mapping[str, float]
    deviations: Mapping[str, float | None]
    horizon: int
    confidence: float
    noise: float
    best: Floats = field(repr=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rewards)

    def mean(self, name: str) -> Bounds:
        """The mean reward a round with its interval over problems."""
        values = self._of(name)
        error, count = standard_error(values)
        return student(float(values.mean()), error, count, self.confidence, "assumed")

    def compare(self, first: str, second: str) -> Comparison:
        """The paired difference of two policies over the same problems, and the verdict."""
        apart = self._of(first) - self._of(second)
        difference = float(apart.mean())
        error, count = standard_error(apart)
        low = high = math.nan
        if error > 0.0:
            low, high, *_ = student(difference, error, count, self.confidence)
        verdict = verdict_of(low, high)
        return Comparison(first, second, difference, low, high, verdict, "simulated", "assumed", count)

    def wins(self, name: str) -> float:
        """The share of problems in which a policy earned most."""
        top = np.max(np.array(list(self.rewards.values())), axis=0)
        return float(np.mean(self._of(name) >= top - 1e-12 * (1.0 + np.abs(top))))

    def _of(self, name: str) -> Floats:
        if name not in self.rewards:
            raise InvalidTarget(f"no policy is called {name!r}; there are {list(self.rewards)}")
        return self.rewards[name]

    def as_record(self) -> dict[str, object]:
        """All of it as plain data."""
        rows = [
            {
                "policy": name,
                "reward": float(values.mean()),
                "low": self.mean(name).low,
                "high": self.mean(name).high,
                "wins": self.wins(name),
                "explored": self.explored[name],
                "deviations": self.deviations[name],
            }
            for name, values in self.rewards.items()
        ]
        return {"horizon": self.horizon, "worlds": self.best.size, "policies": rows}

    def __str__(self) -> str:
        size = max(len(name) for name in self.rewards)
        lines = [
            f"{self.best.size} problems like the log's, {self.horizon:,} rounds each, if rewards are linear"
        ]
        for name, values in self.rewards.items():
            found = self.mean(name)
            deviations = self.deviations[name]
            of_them = "" if deviations is None else f", {deviations:,.0f} of them not the greedy arm"
            lines.append(
                f"{name.ljust(size)}  {values.mean():.4g} [{found.low:.4g}, {found.high:.4g}] a round, best "
                f"in {self.wins(name):.0%} of problems, {self.explored[name]:,.0f} explorations{of_them}"
            )
        return "\n".join(lines)


def simulate(
    log: Log,
    policies: object,
    horizon: int,
    *,
    worlds: int = 100,
    seed: int = 0,
    confidence: float = 0.95,
    rewards: tuple[float, float] | None = None,
    noise: float | None = None,
    bound: float | None = None,
    workers: int | None = None,
) -> Simulation:
    """What learning policies would earn in `horizon` rounds, each from scratch, under the log's linear model.

    `policies` maps names to policies, or their expressions. Each of the `worlds` has a parameter from
    the posterior of the log, N(theta, noise^2 V^-1), and arms as in the log: the same ones, or
    offers of rounds of the log, drawn anew. All policies meet the same problems and noise, so that
    differences are paired. `noise`, `bound`, `rewards` and `confidence` are those of `evaluate`.

    `seed` is that of all draws; `workers` are threads.

    >>> import infex
    >>> from infex.logs import Log
    >>> log = Log(arm=[0, 1] * 200, reward=[1.0, 0.0] * 200, arms=[[1.0, 0.0], [0.0, 1.0]])
    >>> found = simulate(log, {"all": "LinUCB", "rare": "Infex(LinUCB, every(20))"}, 200, worlds=4, noise=0.5)
    >>> sorted(found)
    ['all', 'rare']
    """
    analysis = analyse(log, rewards=rewards, confidence=confidence, noise=noise, bound=bound)
    if not isinstance(policies, Mapping) or not policies:
        raise InvalidTarget(f"policies must be a dict of names and policies, got {safe_repr(policies)}")
    named: dict[str, Policy] = {
        str(name): parse(policy) if isinstance(policy, str) else policy for name, policy in policies.items()
    }
    numbers = range(whole("worlds", worlds, least=FEWEST_WORLDS))
    problems, best = _problems(analysis, numbers, whole("seed", seed))
    rounds = whole("horizon", horizon, least=1)
    played = {
        name: play_many(problems, policy, rounds, numbers, paired=True, workers=workers)
        for name, policy in named.items()
    }
    return Simulation(
        rewards={
            name: best - np.array([run.regret for run in runs]) / rounds for name, runs in played.items()
        },
        explored={name: float(np.mean([run.explored for run in runs])) for name, runs in played.items()},
        deviations={name: _deviations(runs) for name, runs in played.items()},
        horizon=rounds,
        confidence=analysis.confidence,
        noise=analysis.model.noise,
        best=best,
    )


def _deviations(runs: list[Run]) -> float | None:
    """The mean number of exploring rounds that did not play the greedy arm; None without a schedule."""
    counts = [run.different for run in runs if run.different is not None]
    return float(np.mean(counts)) if counts else None


def _problems(analysis: LogAnalysis, numbers: range, seed: int) -> tuple[list[PlannedProblem], Floats]:
    """Problems from the posterior, and the best mean reward a round in each."""
    offers, longest = _offers(analysis)
    root = np.linalg.cholesky(np.linalg.inv(analysis.model.ellipsoid.gram))
    belief = Belief(
        offers.shape[2],
        offers.shape[1],
        analysis.model.noise,
        analysis.model.bound * longest,
        arms=offers[0],
        longest=longest,
        mean=analysis.model.theta * longest,
        root=analysis.model.noise * longest * root,
        offers=None if len(offers) == 1 else OfferSets(offers),
    )
    problems = [belief.instance(number, seed) for number in numbers]
    best = np.array([float((offers @ problem.theta).max(axis=1).mean()) for problem in problems])
    return problems, best


def _offers(analysis: LogAnalysis) -> tuple[Floats, float]:
    """Offers of some rounds, (sets, K, d), divided so that no arm is longer than 1; and by what."""
    log = analysis.log
    if log.offered is not None and not log.offered.all():
        raise InvalidSetting("rounds with different numbers of arms cannot be simulated; replay can")
    if log.arms is not None or log.dim is None:
        rows = np.array(analysis.features.every(slice(0, 1)))
    else:
        some = np.arange(len(log))
        if analysis.shares is not None:  # rows as often as rounds that they stand for
            likely = analysis.shares / analysis.shares.sum()
            some = np.sort(stream(0, "simulated offers").choice(some, MOST_SETS, p=likely))
        elif some.size > MOST_SETS:
            some = np.sort(stream(0, "simulated offers").choice(some, MOST_SETS, replace=False))
        rows = np.concatenate([analysis.features.every(slice(int(row), int(row) + 1)) for row in some])
    longest = max(float(np.linalg.norm(rows, axis=2).max()) * (1.0 + 1e-12), 1.0)
    return rows / longest, longest
