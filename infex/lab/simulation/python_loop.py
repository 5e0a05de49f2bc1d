"""Runs in Python, one round after the other: the reference for the compiled loops."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from infex.arrays import Floats, Integers
from infex.bandit.agent import Agent
from infex.lab.environments import ContextualInstance, Instance
from infex.lab.environments.base import NEVER, gaps_below
from infex.models.base import Estimator
from infex.models.layout import ContextOffer, DesignRow, PerArm
from infex.models.ridge import RidgeModel
from infex.models.ridge_bank import RidgeBankModel
from infex.models.state import ModelState
from infex.policies.base import Policy, policy_info
from infex.streams import stream


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


@lru_cache(maxsize=64)
def log_spaced(horizon: int, points: int = 100) -> Integers:
    """Up to about `points` rounds from 1 to the horizon, dense at first."""
    rounds = np.unique(np.geomspace(1, horizon, points).round().astype(np.int64))
    rounds.flags.writeable = False
    return rounds


class Tally:
    """Regret, explorations and counts of a run, added up as `infex.core.runs.Outcome` does."""

    def __init__(self, arms: int, horizon: int, record: bool, steady: bool) -> None:
        rounds = horizon if record else 0
        self.checkpoints, self._next_checkpoint = log_spaced(horizon), 0
        self.curve: Floats = np.zeros(self.checkpoints.size)
        self.counts: Integers = np.zeros(arms, dtype=np.int64)
        self.arms: Integers = np.zeros(rounds, dtype=np.int64)
        self.rewards: Floats = np.zeros(rounds)
        self.losses: Floats = np.zeros(rounds)
        self.regret_exploring = self.regret_greedy = 0.0
        self.explored = self.different = self.optimal = 0
        self.log_det_ratio = 0.0
        self._steady, self._record = steady, record
        self._arm, self._explores, self._gap, self._rounds = -1, False, 0.0, 0  # equal rounds in a row

    def count(self, t: int, arm: int, explores: bool, gap: float, reward: float) -> None:
        """One round."""
        if self._record:
            self.arms[t - 1], self.rewards[t - 1], self.losses[t - 1] = arm, reward, gap
        if arm != self._arm or explores != self._explores or not self._steady:
            self.flush()
        self._arm, self._explores, self._gap = arm, explores, gap
        self._rounds += 1
        if t == self.checkpoints[self._next_checkpoint]:
            self.flush()
            self.curve[self._next_checkpoint] = self.regret_greedy + self.regret_exploring
            self._next_checkpoint += 1

    def flush(self) -> None:
        """Adds the equal rounds under way."""
        rounds, self._rounds = self._rounds, 0
        if not rounds:
            return
        self.counts[self._arm] += rounds
        if self._explores:
            self.regret_exploring += rounds * self._gap
            self.explored += rounds
        else:
            self.regret_greedy += rounds * self._gap
        if self._gap == 0.0:
            self.optimal += rounds


class Played(NamedTuple):
    """A round whose reward is on its way: its arm, what the reward is learnt on, and the arm's estimate."""

    t: int
    arm: int
    on: DesignRow
    reward: float
    explored: bool
    estimate: float


def play_in_python(instance: Instance, seed: int, settings: RunSettings) -> Tally:
    """What one run gave; a base that keeps own data begins without what was learnt before."""
    policy, label, horizon, penalty, record, estimator, narrows, learnt = settings
    delays = instance.delays(seed, horizon)
    apart = policy_info(policy).uses_explored
    if isinstance(instance, ContextualInstance):
        model = ModelState.empty(PerArm(instance.count, instance.context_dim), penalty, apart, estimator)
    else:
        arms = np.zeros((0, instance.dim)) if instance.fixed_arms is None else instance.fixed_arms
        model = ModelState.empty(np.ascontiguousarray(arms.T), penalty, apart, estimator)
    if learnt is not None:
        model.all.add_statistics(learnt.sufficient_statistics())
    if narrows and delays is not None:
        model.track_pending()
    agent, pending = Agent(policy, model), model.pending_design
    law, draws, rng = instance.law, instance.draws(seed), stream(seed, "policy", label, instance.key)
    tally = Tally(instance.count, horizon, record, steady=instance.is_plain)
    due: defaultdict[int, list[Played]] = defaultdict(list)

    for stretch in instance.stretches(seed, horizon):
        table, row = law.table(stretch, seed, instance.key), -1
        means = gaps = [0.0]
        for t in range(stretch.first, stretch.last + 1):
            place = t - stretch.first
            if row < 0 or t > stretch.ends[row]:
                row += 1
                means, gaps = stretch.means[row].tolist(), gaps_below(stretch.means[row]).tolist()
            offer = None if stretch.columns is None else stretch.columns[place]
            posterior = agent.posterior(
                ContextOffer(offer) if offer is not None and offer.ndim == 1 else offer
            )
            step = agent.decide(t, posterior, rng)
            arm, explored = step.choice.arm, step.choice.explored
            estimate = 0.0 if pending is None else posterior.estimate(arm)
            agent.apply(*step.effects)
            reward = float(table[place, arm]) if table is not None else law.draw(arm, means[arm], draws)
            tally.count(t, arm, explored, gaps[arm], reward)
            if delays is None:
                agent.learn(arm, step.on, reward, explored)
                continue
            played = Played(t, arm, step.on, reward, explored, estimate)
            if pending is not None:
                pending.add(played, played.on)
            if delays[t - 1] != NEVER:
                due[t + int(delays[t - 1])].append(played)
            for past in due.pop(t, ()):
                agent.learn(past.arm, past.on, past.reward, past.explored)
                if pending is not None:
                    pending.remove(past, past.on)
    tally.flush()
    tally.different = agent.account.different
    tally.log_det_ratio = float(model.all.posterior().log_det_ratio)
    return tally
