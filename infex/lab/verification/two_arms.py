"""Statements about the two arms of the lower bound: C10, C11, C12 and C21."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from infex.arrays import Floats
from infex.errors import SparseExploration
from infex.lab import environments
from infex.lab.simulation import Run, play_many
from infex.lab.text import text_table
from infex.lab.theory.necessity import divergence, lower_bound
from infex.lab.verification.statements import Effort, states
from infex.policies import Greedy, Infex, LinUCB, Policy
from infex.schedules import Schedule, every, logarithmic, never, power

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAP = math.sqrt(1.0 / 8.0)  # the paper's sqrt(eps/(4 C)) for eps = 1/2, C = 1
LONG_HORIZON, SHORT_HORIZON = 100_000, 2000
HORIZONS_SHOWN, SLOPES_FROM = (100, 1000, 10_000, 100_000), (100, 10_000)
SCHEDULES: dict[str, Schedule] = {
    "log t": logarithmic(1),
    "(log t)^2": logarithmic(2),
    "sqrt t": power(0.5),
    "t/20": every(20),
    "greedy": never(),
}


def policy(schedule: Schedule) -> Policy:
    """INFEX that learns from all data, with LinUCB in the rounds of the schedule."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SparseExploration)  # rare exploration is what is on trial here
        return Greedy() if schedule == never() else Infex(LinUCB(delta=0.01), schedule)


def runs(
    schedule: Schedule, which: Literal[1, 2], horizon: int, seeds: list[int], record: bool = False
) -> list[Run]:
    """Runs on one of the two instances."""
    return play_many(environments.lower_bound(GAP, which), policy(schedule), horizon, seeds, record=record)


class Curves(NamedTuple):
    """Mean regret of so many `runs` on the two arms, up to each of `rounds`, by how often one explores."""

    runs: int
    rounds: Floats
    regret: dict[str, Floats]

    def slope(self, name: str, start: float) -> float:
        """The slope of log regret against log rounds, from a round on."""
        late = self.rounds >= start
        return float(np.polyfit(np.log(self.rounds[late]), np.log(self.regret[name][late]), 1)[0])

    def __str__(self) -> str:
        head = ["explorations", *(f"T = {t:,}" for t in HORIZONS_SHOWN), "slope", "late"]
        rows = [
            [
                name,
                *(f"{value:,.1f}" for value in np.interp(HORIZONS_SHOWN, self.rounds, regret)),
                *(f"{round(self.slope(name, start), 2) + 0.0:.2f}" for start in SLOPES_FROM),
            ]
            for name, regret in self.regret.items()
        ]
        return (
            f"mean regret of {self.runs:,} runs on the arms 1 and 0, theta = {GAP:.3f}\n"
            f"{text_table(head, rows)}\n"
            "slope: of log regret against log T, from 100 on; late: from 10,000 on"
        )

    def as_data(self) -> list[dict[str, Any]]:
        """A row for each schedule as plain data."""
        return [
            {
                "schedule": name,
                "slope": self.slope(name, SLOPES_FROM[0]),
                "late_slope": self.slope(name, SLOPES_FROM[1]),
                "rounds": self.rounds.tolist(),
                "regret": regret.tolist(),
            }
            for name, regret in self.regret.items()
        ]

    def figure(self) -> Figure:
        """Regret against rounds, with what always playing the worse arm costs."""
        from infex.lab.reports.figures import Line, curves

        return curves(
            [Line(name, self.rounds, regret) for name, regret in self.regret.items()],
            title=f"Two arms, theta = {GAP:.3f}: regret by how often one explores up to t",
            ylabel="expected regret",
            limit=Line("the worse arm always", self.rounds, GAP * self.rounds),
        )


def measure(effort: Effort, count: int = 400, listener: Callable[[str], None] = lambda name: None) -> Curves:
    """Expected regret in instance 2, by schedule; the listener hears each name before its runs."""
    rounds, by_name = np.zeros(0), {}
    for name, schedule in SCHEDULES.items():
        listener(name)
        some = runs(schedule, 2, LONG_HORIZON, effort.seeds("two arms", count))
        rounds = some[0].points[0].astype(float)
        by_name[name] = np.mean([run.points[1] for run in some], axis=0)
    return Curves(count * effort.scale, rounds, by_name)


@states(
    "C10",
    "on the two arms log-log slopes of regret are near 1 for log t and greedy, 0 for more: farthest off",
    0.25,
)
def check_slopes(effort: Effort) -> float:
    """How far slopes are off: from 1 where exploration is too rare, else from 0 over the last decade."""
    found = measure(effort)
    steep = [abs(1.0 - found.slope(name, 100)) for name in ("log t", "greedy")]
    flat = [abs(found.slope(name, LONG_HORIZON / 10)) for name in ("(log t)^2", "sqrt t", "t/20")]
    return float(np.max([*steep, *flat]))


@states(
    "C11", "E_1[R] + E_2[R] is at least (Delta/4) T exp(-KL): the greatest share of the sum that this takes"
)
def check_sum(effort: Effort) -> float:
    """The greatest share, with the pulls that were measured, so that only the inequality is on trial."""
    shares = []
    for schedule in SCHEDULES.values():
        seeds = effort.seeds("sum", 500)
        one, other = runs(schedule, 1, SHORT_HORIZON, seeds), runs(schedule, 2, SHORT_HORIZON, seeds)
        pulls = float(np.mean([run.counts[0] for run in one]))
        regret = float(np.mean([run.regret for run in one]) + np.mean([run.regret for run in other]))
        shares.append(GAP * SHORT_HORIZON / 4.0 * math.exp(-divergence(GAP, pulls)) / regret)
    return float(np.max(shares))


def greedy_pulls(schedule: Schedule, seeds: list[int]) -> float:
    """E_1[N_1] - f(T), less three standard errors, where every exploration pulls e_1.

    So its mean is learnt again and again, and greedy rounds pull it as often as they ever may.
    """
    instance = environments.lower_bound(GAP, which=1)
    eager = Infex(LinUCB(scale=1e6), schedule)  # exploring always pulls e_1: the arm 0 has no width
    counts = np.array([run.counts[0] for run in play_many(instance, eager, SHORT_HORIZON, seeds)], float)
    error = counts.std(ddof=1) / math.sqrt(counts.size)
    return float(counts.mean() - schedule.count(SHORT_HORIZON) - 3.0 * error)


@states(
    "C12",
    "E_1[N_1] is at most 1 + 1/(2 Delta^2) + f(T): N_1 - f(T), less three standard errors",
    lower_bound(GAP, 1, 0).pulls,
)
def check_pulls(effort: Effort) -> float:
    """The most pulls beyond the explorations, for several schedules."""
    seeds = effort.seeds("pulls", 2000)
    return max(greedy_pulls(each, seeds) for each in (logarithmic(2), power(0.5), every(20), every(50)))


@states("C21", "KL is 2 Delta^2 E_1[N_1]: the difference, in standard errors", 4.0)
def log_ratio(effort: Effort, rate: float = 2.0) -> float:
    """The mean of log dP_1/dP_2 less rate Delta^2 N_1, in standard errors; with rate 2 its mean is 0.

    A reward y of e_1 adds ((y - Delta)^2 - (y + Delta)^2)/2 = -2 Delta y to the logarithm.
    """
    apart = []
    for schedule in (every(20), logarithmic(2)):
        for seeds in effort.seed_parts("divergence", 300):
            for run in runs(schedule, 1, SHORT_HORIZON, seeds, record=True):
                assert run.rewards is not None
                played = run.rewards[run.arms == 0]
                apart.append(-2.0 * GAP * played.sum() - rate * GAP**2 * played.size)
    return abs(float(np.mean(apart))) / float(np.std(apart, ddof=1) / math.sqrt(len(apart)))
