"""What runs leave behind, as arrays with one row for each run."""

from typing import final

import numpy as np

from infex.environments import Instance, LinearInstance
from infex.kernels import regret
from infex.kernels.run_arrays import Outcome
from infex.policies import Policy
from infex.simulation.run import Run, log_spaced


@final
class Ledger:
    """Room for the figures of so many runs of one policy and horizon."""

    def __init__(self, runs: int, arms: int, horizon: int, record: bool) -> None:
        self.horizon = horizon
        self.record = record
        self.checkpoints = log_spaced(horizon)
        self.curves = np.zeros((runs, self.checkpoints.size))
        self.tallies = np.zeros((runs, regret.TALLY))
        self.counts = np.zeros((runs, arms), dtype=np.int64)
        self.arms = np.zeros((runs, horizon if record else 0), dtype=np.int64)
        self.rewards = np.zeros((runs, horizon if record else 0))
        self.losses = np.zeros((runs, horizon if record else 0))
        self.volumes = np.zeros(runs)

    def outcome(self, row: int) -> Outcome:
        """The room for one run, as compiled loops take it."""
        return Outcome(
            self.checkpoints,
            self.curves[row],
            self.tallies[row],
            self.counts[row],
            self.arms[row],
            self.rewards[row],
            self.losses[row],
        )

    def run(self, row: int, instance: Instance, policy: Policy, seed: int, seconds: float) -> Run:
        """One run, all of it."""
        totals = self.tallies[row].tolist()
        if self.record and isinstance(instance, LinearInstance) and instance.is_plain:
            self.losses[row] = instance.gaps[self.arms[row]]
        return Run(
            instance=instance,
            policy=policy,
            horizon=self.horizon,
            seed=seed,
            regret_exploring=totals[regret.EXPLORING_REGRET],
            regret_greedy=totals[regret.GREEDY_REGRET],
            explored=int(totals[regret.EXPLORED]),
            optimal=int(totals[regret.OPTIMAL]),
            seconds=seconds,
            volume=self.volumes.item(row),
            counts=self.counts[row],
            points=(self.checkpoints, self.curves[row]),
            arms=self.arms[row] if self.record else None,
            rewards=self.rewards[row] if self.record else None,
            losses=self.losses[row] if self.record else None,
        )
