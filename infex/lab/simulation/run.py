"""What one run of a policy gave."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np

from infex.arrays import Floats, Integers
from infex.errors import NotKept
from infex.lab.environments import Instance
from infex.models.base import Estimator
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.policies.base import Policy
from infex.registry import label_of


class RunSettings(NamedTuple):
    """All that a run needs beside its problem and its seed.

    `label` names the policy's draws. The estimator None is ridge regression with the `penalty`. With
    `narrows`, pending decisions narrow the widths. The run begins with what was `learnt` before by ridge.
    """

    policy: Policy
    label: str
    horizon: int
    penalty: float = 1.0
    record: bool = False
    estimator: Estimator | None = None
    narrows: bool = True
    learnt: RidgeModel | RidgeBankModel | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run: regret and where it came from, explorations, time, and pulls of every arm.

    It is that of a `policy` on an `instance` over a `horizon`, from a `seed`. `regret` is the
    pseudo-regret, with true means: `regret_exploring` came from the rounds that `explored`, and
    `regret_greedy` from the others; `points` are rounds and the regret up to them. `optimal` is how
    often a best arm was played, `counts` how often each; `seconds` is its processor time, and
    `log_det_ratio` alpha at the end. With `record=True` there are `arms`, `rewards` and `losses` (the
    gap of the arm that was played) of every round.
    """

    instance: Instance = field(repr=False)
    policy: Any
    horizon: int
    seed: int
    regret_exploring: float
    regret_greedy: float
    explored: int
    optimal: int
    seconds: float
    log_det_ratio: float
    counts: Integers = field(repr=False)
    points: tuple[Integers, Floats] = field(repr=False)
    arms: Integers | None = field(repr=False, default=None)
    rewards: Floats | None = field(repr=False, default=None)
    losses: Floats | None = field(repr=False, default=None)

    def __repr__(self) -> str:
        return (
            f"Run(regret={self.regret:.6g}, explored={self.explored}, horizon={self.horizon}, "
            f"seed={self.seed}, policy={label_of(self.policy)})"
        )

    @property
    def regret(self) -> float:
        """The regret of all rounds."""
        return self.regret_greedy + self.regret_exploring

    def curve(self, every_round: bool = False) -> tuple[Integers, Floats]:
        """Rounds and the regret up to them: log-spaced, or `every_round` if the run was recorded."""
        if not every_round:
            return self.points
        if self.losses is None:
            raise NotKept("rounds were not recorded; play with record=True")
        return np.arange(1, self.horizon + 1), np.cumsum(self.losses)


@lru_cache(maxsize=64)
def log_spaced(horizon: int, points: int = 100) -> Integers:
    """Up to about `points` rounds from 1 to the horizon, dense at first."""
    rounds = np.unique(np.geomspace(1, horizon, points).round().astype(np.int64))
    rounds.flags.writeable = False
    return rounds


def finished_run(
    counted: Any, instance: Instance, seed: int, settings: RunSettings, seconds: float, log_det_ratio: float
) -> Run:
    """The run of a loop that has `counted` its rounds, as `infex.core.runs.Outcome` or as `Tally` does."""
    return Run(
        instance=instance,
        policy=settings.policy,
        horizon=settings.horizon,
        seed=seed,
        regret_exploring=counted.regret_exploring,
        regret_greedy=counted.regret_greedy,
        explored=counted.explored,
        optimal=counted.optimal,
        seconds=seconds,
        log_det_ratio=log_det_ratio,
        counts=counted.counts,
        points=(log_spaced(settings.horizon), counted.curve),
        arms=counted.arms if settings.record else None,
        rewards=counted.rewards if settings.record else None,
        losses=counted.losses if settings.record else None,
    )
